//! Pods that really run: Jobs, restarts, volumes, probes, and a server that is killed.

use super::block_on;
use super::client::{Client, Connection, Folder, Server};
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use stowplan_base::Rng;

pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// A server that runs pods for real.
pub(super) fn command(folder: &Path, listen: &str, isolation: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
    command.args([
        "up",
        "--runtime",
        "process",
        "--allow-root",
        "--isolation",
        isolation,
    ]);
    command.args(["--listen", listen, "--data-dir"]).arg(folder);
    command
}

async fn ask(
    api: &mut Connection,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let (status, said) = api.ask(method, path, body).await.expect("an answer");
    (status.as_u16(), said)
}

pub(super) async fn create(api: &mut Connection, path: &str, body: Value) {
    let start = Instant::now();
    loop {
        let (status, said) = ask(api, Method::POST, path, Some(body.clone())).await;
        // The account of a namespace comes a moment after it.
        if status == 201 {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{path}: {said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until what a path shows is as it should be.
async fn until(api: &mut Connection, path: &str, is_so: impl Fn(u16, &Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let (status, said) = ask(api, Method::GET, path, None).await;
        if is_so(status, &said) {
            return said;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "{path}: {said}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) fn pod(name: &str, policy: &str, container: Value) -> Value {
    let mut one = json!({"name": "c", "image": "busybox"});
    for (key, value) in container.as_object().into_iter().flatten() {
        one[key] = value.clone();
    }
    json!({"metadata": {"name": name}, "spec": {
        "restartPolicy": policy, "terminationGracePeriodSeconds": 1, "containers": [one],
    }})
}

pub(super) fn shell(script: &str) -> Value {
    json!({"command": ["sh", "-c", script]})
}

pub(super) async fn log(api: &mut Connection, pod: &str, more: &str) -> String {
    let path = format!("{PODS}/{pod}/log?{more}");
    api.text(&path).await.expect("a log")
}

pub(super) async fn phase(api: &mut Connection, pod: &str, wanted: &str) -> Value {
    let path = format!("{PODS}/{pod}");
    until(api, &path, |_, said| said["status"]["phase"] == wanted).await
}

pub(super) fn ended(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}

#[test]
fn commands_run_with_what_pods_give_them_and_end_as_they_end() {
    for isolation in ["auto", "plain"] {
        let folder = Folder::new();
        let mut server = Server::spawn(&mut command(&folder.0, "127.0.0.1:0", isolation));
        let client = Client::read(&server.ready());
        block_on(async {
            let mut api = client.connect().await.expect("a connection");
            let api = &mut api;
            let map = json!({"metadata": {"name": "settings"}, "data": {"colour": "blue"}});
            create(api, "/api/v1/namespaces/default/configmaps", map).await;
            let mut first = shell("echo \"$COLOUR $NAME\"; echo oops >&2; exit 3");
            first["env"] = json!([
                {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ]);
            create(api, PODS, pod("first", "Never", first)).await;
            let said = phase(api, "first", "Failed").await;
            assert_eq!(ended(&said)["exitCode"], 3);
            let mut lines: Vec<String> = log(api, "first", "")
                .await
                .lines()
                .map(str::to_owned)
                .collect();
            lines.sort();
            assert_eq!(lines, ["blue first", "oops"]);
            // A program that is not there.
            create(
                api,
                PODS,
                pod("missing", "Never", json!({"command": ["no-such-program"]})),
            )
            .await;
            let said = phase(api, "missing", "Failed").await;
            assert_eq!(ended(&said)["reason"], "StartError");
            assert_eq!(ended(&said)["exitCode"], 128);
            // What an image would run nobody knows.
            create(
                api,
                PODS,
                pod("image", "Never", json!({"image": "team/thing"})),
            )
            .await;
            until(api, &format!("{PODS}/image"), |_, said| {
                said["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
                    == "ErrImagePull"
            })
            .await;
            // A signal.
            create(
                api,
                PODS,
                pod("signal", "Never", shell("sh -c 'kill -9 $$$$'; exit $?")),
            )
            .await;
            let said = phase(api, "signal", "Failed").await;
            assert_eq!(ended(&said)["exitCode"], 137);
            // A restart, and the log before it.
            let twice = shell(
                "echo x >> $STATE/count; n=$(wc -l < $STATE/count); echo run $n; [ $n -ge 2 ]",
            );
            let mut twice = pod("twice", "OnFailure", twice);
            twice["spec"]["volumes"] = json!([{"name": "state", "emptyDir": {}}]);
            twice["spec"]["containers"][0]["volumeMounts"] =
                json!([{"name": "state", "mountPath": "/state"}]);
            twice["spec"]["containers"][0]["env"] = match isolation {
                "plain" => json!([]),
                _ => json!([{"name": "STATE", "value": "/state"}]),
            };
            if isolation == "plain" {
                let script = twice["spec"]["containers"][0]["command"][2]
                    .as_str()
                    .unwrap_or_default();
                let script = script.replace("$STATE", "$STOWPLAN_MOUNT_STATE");
                twice["spec"]["containers"][0]["command"][2] = script.into();
            }
            create(api, PODS, twice).await;
            let said = phase(api, "twice", "Succeeded").await;
            assert_eq!(said["status"]["containerStatuses"][0]["restartCount"], 1);
            assert_eq!(log(api, "twice", "").await, "run 2\n");
            assert_eq!(log(api, "twice", "previous=true").await, "run 1\n");
            // A deletion ends what runs, and all that it started.
            let mark = format!("{}", 100_000 + std::process::id());
            create(
                api,
                PODS,
                pod(
                    "long",
                    "Always",
                    shell(&format!("sleep {mark} & sleep {mark}")),
                ),
            )
            .await;
            phase(api, "long", "Running").await;
            until_processes(&mark, 2).await;
            ask(api, Method::DELETE, &format!("{PODS}/long"), None).await;
            until(api, &format!("{PODS}/long"), |status, _| status == 404).await;
            until_processes(&mark, 0).await;
        });
        assert_eq!(server.stop("-TERM").code(), Some(0));
    }
}

/// How many processes have this argument, shims aside.
fn processes(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let count = lines.filter(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.next().is_some_and(|word| word.ends_with(b"sleep"))
            && words.any(|word| word == mark.as_bytes())
    });
    count.count()
}

pub(super) async fn until_processes(mark: &str, count: usize) {
    let start = Instant::now();
    while processes(mark) != count {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} of {mark}",
            processes(mark)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn probes_and_hooks_are_really_asked() {
    let folder = Folder::new();
    let mut server = Server::spawn(&mut command(&folder.0, "127.0.0.1:0", "auto"));
    let client = Client::read(&server.ready());
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        let mark = folder.0.join("mark").display().to_string();
        let mut probed = pod(
            "probed",
            "Always",
            shell("trap 'exit 0' TERM; while :; do sleep 0.05; done"),
        );
        let container = &mut probed["spec"]["containers"][0];
        container["readinessProbe"] =
            json!({"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1});
        container["lifecycle"] = json!({"postStart": {"exec": {"command": ["sh", "-c", "sleep 0.5; touch /tmp/ready"]}}});
        if !is_isolated(api).await {
            container["readinessProbe"]["exec"]["command"][2] = mark.as_str().into();
            container["lifecycle"]["postStart"]["exec"]["command"][2] =
                format!("touch {mark}").into();
        }
        create(api, PODS, probed).await;
        until(api, &format!("{PODS}/probed"), |_, said| {
            said["status"]["containerStatuses"][0]["ready"] == true
        })
        .await;
        let mut sick = pod("sick", "Always", shell("sleep 1000"));
        sick["spec"]["containers"][0]["livenessProbe"] = json!({
            "exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1,
        });
        create(api, PODS, sick).await;
        until(api, &format!("{PODS}/sick"), |_, said| {
            said["status"]["containerStatuses"][0]["restartCount"].as_i64() >= Some(1)
        })
        .await;
        for name in ["probed", "sick"] {
            ask(api, Method::DELETE, &format!("{PODS}/{name}"), None).await;
            until(api, &format!("{PODS}/{name}"), |status, _| status == 404).await;
        }
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

/// Whether the node says that containers are kept apart.
pub(super) async fn is_isolated(api: &mut Connection) -> bool {
    let node = until(api, "/api/v1/nodes/node-1", |status, said| {
        status == 200 && said["status"]["conditions"].is_array()
    })
    .await;
    let conditions = node["status"]["conditions"].as_array().expect("conditions");
    let isolated = conditions
        .iter()
        .find(|one| one["type"] == "stowplan.dev/Isolated");
    isolated.expect("it says so")["status"] == "True"
}

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// The server is killed at random moments while Jobs run: none runs twice, and nothing is left behind.
#[test]
fn a_server_that_is_killed_finds_its_containers_again() {
    let kills = setting("STOWPLAN_KILLS", 3);
    let seed = setting("STOWPLAN_SEED", 7);
    let mut rng = Rng::new(seed);
    let folder = Folder::new();
    let runs = folder.0.join("runs");
    std::fs::create_dir_all(&runs).expect("a folder");
    let mut server =
        Server::spawn(command(&folder.0, "127.0.0.1:0", "plain").arg("--allow-host-path"));
    let client = Client::read(&server.ready());
    let listen = client.address.to_string();
    let mark = format!("{}", 0.2 + f64::from(std::process::id()) / 1e9);
    for round in 0..kills {
        block_on(async {
            let mut api = client.connect().await.expect("a connection");
            for number in 0..5 {
                let name = format!("job-{round}-{number}");
                let script = format!("echo x >> {}/{name}; sleep {mark}", runs.display());
                let body = json!({"metadata": {"name": name}, "spec": {
                    "backoffLimit": 0,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [
                        {"name": "c", "image": "busybox", "command": ["sh", "-c", script]},
                    ]}},
                }});
                create(&mut api, JOBS, body).await;
            }
            tokio::time::sleep(Duration::from_millis(rng.next_u64() % 600)).await;
        });
        server.kill();
        server = Server::spawn(command(&folder.0, &listen, "plain").arg("--allow-host-path"));
        server.ready();
    }
    block_on(async {
        let mut api = client.connect().await.expect("a connection");
        let all = until(&mut api, JOBS, |_, said| {
            let jobs = said["items"].as_array().expect("items");
            jobs.iter().all(|job| {
                job["status"]["conditions"].as_array().is_some_and(|all| {
                    all.iter().any(|one| {
                        one["status"] == "True"
                            && (one["type"] == "Complete" || one["type"] == "Failed")
                    })
                })
            })
        })
        .await;
        let mut counts = BTreeMap::new();
        for job in all["items"].as_array().expect("items") {
            let name = job["metadata"]["name"].as_str().expect("a name");
            assert_eq!(job["status"]["succeeded"], 1, "{job}");
            let text = std::fs::read_to_string(runs.join(name)).unwrap_or_default();
            counts.insert(name.to_owned(), text.lines().count());
        }
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "seed {seed}: {twice:?}");
        assert_eq!(counts.len() as u64, kills * 5);
        until_processes(&mark, 0).await;
    });
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

/// How many clients make Jobs at a time.
const MAKERS: u64 = 8;

fn short_job(number: u64) -> Value {
    json!({"metadata": {"name": format!("job-{number}")}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo done"]},
        ]}},
    }})
}

/// Many short Jobs at once all complete. Says how many were started per second:
/// `STOWPLAN_JOBS=1000 cargo test --release -p stowplan-cli --test it many_short_jobs -- --nocapture`.
#[test]
fn many_short_jobs_complete() {
    let count = setting("STOWPLAN_JOBS", 20);
    let folder = Folder::new();
    let mut command = command(&folder.0, "127.0.0.1:0", "auto");
    command.args(["--nodes", "12", "--cpu", "64"]);
    let mut server = Server::spawn(&mut command);
    let client = Client::read(&server.ready());
    let taken = block_on(async {
        let start = Instant::now();
        let mut makers = tokio::task::JoinSet::new();
        for maker in 0..MAKERS {
            let client = client.clone();
            makers.spawn(async move {
                let mut api = client.connect().await.expect("a connection");
                for number in (maker..count).step_by(MAKERS as usize) {
                    create(&mut api, JOBS, short_job(number)).await;
                }
            });
        }
        makers.join_all().await;
        let mut api = client.connect().await.expect("a connection");
        let api = &mut api;
        until(api, &format!("{JOBS}?limit={count}"), |_, said| {
            let jobs = said["items"].as_array().expect("items");
            jobs.iter().all(|job| job["status"]["succeeded"] == 1)
        })
        .await;
        start.elapsed()
    });
    let rate = count as f64 / taken.as_secs_f64();
    eprintln!("{count} Jobs in {taken:.1?}: {rate:.0} starts per second");
    assert_eq!(server.stop("-TERM").code(), Some(0));
}
