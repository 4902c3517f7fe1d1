//! CronJobs while the leader of several controller managers is killed again and again: each time is launched
//! once, none twice, and none is lost.

use crate::network;
use crate::setting;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::election::{Candidate, Leadership, LeaseName, Timings};
use stowplan_client::{Requests, Unguarded, in_process};
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::Options;
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_server::{Api, Config, User};
use stowplan_store::Store;
use tokio::task::JoinHandle;

/// How many controller managers want to lead.
const REPLICAS: usize = 3;
/// A leader lives for so long at least, and less than twice that. With the 20 seconds that it takes until
/// another one leads, no minute passes without a leader: what is due is launched late, and not left out.
const LIFE_S: u64 = 25;
/// CronJobs that are due every minute.
const MINUTELY: usize = 4;
/// Nothing is asked about what was due this long before the end.
const LAST_S: i64 = 120;

/// When which Job was made, in seconds: twice if it was made twice.
type Launches = Arc<Mutex<BTreeMap<String, Vec<i64>>>>;

/// Clocks in Berlin are put forward at 01:00 UTC on 2026-03-29, and back at 01:00 UTC on 2026-10-25.
#[test]
fn nothing_is_launched_twice_or_lost_when_clocks_are_put_forward() {
    check(
        "2026-03-29T00:40:00Z",
        40,
        &[
            // 02:30 does not come.
            ("30 2 * * *", "twice", &[]),
            ("30 2 * * *", "once", &["2026-03-29T01:00:00Z"]),
            ("30 2 * * *", "skip", &[]),
            ("5 3 * * *", "twice", &["2026-03-29T01:05:00Z"]),
        ],
    );
}

#[test]
fn nothing_is_launched_twice_or_lost_when_clocks_are_put_back() {
    check(
        "2026-10-25T00:20:00Z",
        80,
        &[
            // 02:30 comes twice.
            (
                "30 2 * * *",
                "twice",
                &["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"],
            ),
            ("30 2 * * *", "once", &["2026-10-25T00:30:00Z"]),
            ("30 2 * * *", "skip", &[]),
            ("5 3 * * *", "twice", &["2026-10-25T02:05:00Z"]),
        ],
    );
}

/// Kills leaders, for this many minutes at least, and compares what was launched with what was due: each
/// minute, and at these times by Berlin's clocks under a policy for their changes.
fn check(start: &str, minutes: u64, by_zone: &[(&str, &str, &[&str])]) {
    let start: Timestamp = start.parse().unwrap();
    let kills = setting("STOWPLAN_LEADER_KILLS", 60) / 2;
    let env = Virtual::new(
        Time::from_secs(start.as_second()),
        setting("STOWPLAN_SEED", 1),
    );
    let runtime = virtual_runtime(&env).unwrap();
    let env: Arc<dyn Env> = Arc::new(env);
    let launches = Launches::default();
    let ran = run(env.clone(), launches.clone(), by_zone, kills, minutes);
    let killed = runtime.block_on(ran);
    let end_s = env.now().as_millis().div_euclid(1_000);
    let launches = launches.lock().unwrap();
    let mut wanted = BTreeMap::new();
    let mut want = |name: &str, at_s: i64| {
        if at_s + LAST_S < end_s {
            wanted.insert(format!("{name}-{}", at_s / 60), at_s);
        }
    };
    for number in 0..MINUTELY {
        // They are made within the first minute.
        for at_s in (start.as_second() + 60..end_s).step_by(60) {
            want(&format!("minutely-{number}"), at_s);
        }
    }
    for (number, (_, _, times)) in by_zone.iter().enumerate() {
        for time in *times {
            let at: Timestamp = time.parse().unwrap();
            want(&format!("by-zone-{number}"), at.as_second());
        }
    }
    for (name, made) in launches.iter() {
        assert_eq!(made.len(), 1, "{name} was launched at {made:?}");
        let minute: i64 = name.rsplit('-').next().unwrap().parse().unwrap();
        let due_s = wanted.remove(name);
        let is_late = minute * 60 + LAST_S >= end_s;
        assert!(due_s.is_some() || is_late, "{name} was not due");
        if let Some(due_s) = due_s {
            let late_s = made[0] - due_s;
            assert!((0..60).contains(&late_s), "{name} came {late_s} s late");
        }
    }
    assert!(wanted.is_empty(), "lost: {wanted:?}");
    println!("{} launches, {killed} leaders killed", launches.len());
    assert!(killed >= kills);
}

async fn run(
    env: Arc<dyn Env>,
    launches: Launches,
    by_zone: &[(&str, &str, &[&str])],
    kills: u64,
    minutes: u64,
) -> u64 {
    let store = Store::in_memory(stowplan_store::Options::default());
    let config = Config {
        env: env.clone(),
        store: store.clone(),
        tokens: BTreeMap::new(),
        token_key: None,
    };
    let api = Api::new(config).await.unwrap();
    let _notes = Aborted(tokio::spawn(note(store, env.clone(), launches)));
    let admin = in_process(api.service(User::new("admin", &["system:masters"])));
    let admin = Requests::new(admin, env.clone(), Arc::new(Unguarded));
    for number in 0..MINUTELY {
        let name = format!("minutely-{number}");
        create(&admin, &cron_job(&name, "* * * * *", "twice")).await;
    }
    for (number, (schedule, dst, _)) in by_zone.iter().enumerate() {
        create(
            &admin,
            &cron_job(&format!("by-zone-{number}"), schedule, dst),
        )
        .await;
    }
    let mut replicas: Vec<Replica> = (0..REPLICAS).map(|_| Replica::start(&api, &env)).collect();
    let end = env.now() + Duration::from_secs(minutes * 60);
    let mut killed = 0;
    while killed < kills || env.now() < end {
        let life_ms = LIFE_S * 1_000 + env.random() % (LIFE_S * 1_000);
        let leader = leader(&mut replicas, &env).await;
        env.sleep(Duration::from_millis(life_ms)).await;
        // It dies as it is; another one is started in its place.
        replicas.remove(leader);
        replicas.push(Replica::start(&api, &env));
        killed += 1;
    }
    // Whoever leads last has time for what is left.
    env.sleep(Duration::from_secs(LAST_S.unsigned_abs())).await;
    killed
}

/// Waits until one leads, and says which.
async fn leader(replicas: &mut [Replica], env: &Arc<dyn Env>) -> usize {
    loop {
        if let Some(leader) = replicas.iter().position(|one| one.leadership.may_act()) {
            return leader;
        }
        env.sleep(Duration::from_millis(100)).await;
    }
}

/// Ends a task when it is dropped.
struct Aborted<T>(JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A controller manager that wants to lead. It is killed when it is dropped, without giving its lease back.
struct Replica {
    leadership: Arc<Leadership>,
    _manager: ControllerManager,
    _holding: Aborted<()>,
}

impl Replica {
    fn start(api: &Arc<Api>, env: &Arc<dyn Env>) -> Self {
        let client = network::client(api, env);
        let candidate = Candidate {
            lease: LeaseName {
                namespace: "kube-system".to_owned(),
                name: "kube-controller-manager".to_owned(),
            },
            election: "kube-controller-manager",
            host: "host".to_owned(),
            component: "kube-controller-manager".to_owned(),
            timings: Timings::default(),
            address: None,
        };
        let leadership = Arc::new(Leadership::new(candidate, env.clone()));
        let settings = Settings {
            controllers: ["cronjob-controller", "job-controller"]
                .map(str::to_owned)
                .to_vec(),
            options: Options::default(),
            guard: leadership.clone(),
            env: env.clone(),
            limit: (0.0, 0),
            host: "host".to_owned(),
            informers: None,
        };
        let manager = ControllerManager::start(client.clone(), settings).unwrap();
        let holding = leadership.clone();
        let holding = tokio::spawn(async move {
            holding.hold(client, std::future::pending(), |_| {}).await;
        });
        Self {
            leadership,
            _manager: manager,
            _holding: Aborted(holding),
        }
    }
}

/// Jobs that want no pods are complete at once.
fn cron_job(name: &str, schedule: &str, dst: &str) -> Value {
    let container = json!({"name": "c", "image": "i"});
    let pod = json!({"spec": {"containers": [container], "restartPolicy": "Never"}});
    json!({
        "metadata": {"name": name, "annotations": {"stowplan.dev/dst": dst}},
        "spec": {
            "schedule": schedule,
            "timeZone": "Europe/Berlin",
            "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"completions": 0, "parallelism": 1, "template": pod}},
        },
    })
}

async fn create(requests: &Requests, object: &Value) {
    let path = "/apis/batch/v1/namespaces/default/cronjobs";
    let made: Result<Value, _> = requests
        .change("POST", path, "application/json", object)
        .await;
    made.unwrap();
}

/// Writes down when which Job is made.
async fn note(store: Store, env: Arc<dyn Env>, launches: Launches) {
    let prefix = "/registry/jobs/default/";
    let mut watch = store.watch(prefix, store.revision()).unwrap();
    while let Ok(seen) = watch.next().await {
        let now_s = env.now().as_millis().div_euclid(1_000);
        let made = seen.events.iter().filter(|event| event.is_create());
        for event in made {
            let key = String::from_utf8_lossy(event.key());
            let name = key.trim_start_matches(prefix).to_owned();
            launches
                .lock()
                .unwrap()
                .entry(name)
                .or_default()
                .push(now_s);
        }
    }
}
