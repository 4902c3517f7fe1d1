//! Nodes and pods together, without an API: what would be written.

use super::*;
use crate::behaviour::RUN_FOR;
use crate::kubelet::testing::START;
use crate::node::{FAULT, Fault, NODE};
use crate::observe::{LogsWanted, logs, node_usage, pod_usage};
use serde_json::{Value, json};

/// An API that takes all writes, or loses them.
struct Api {
    world: World,
    store: Arc<Store<Pod>>,
    now: Time,
    version: u64,
    writes: Vec<String>,
    is_down: bool,
}

impl Api {
    fn new() -> Self {
        let store = Arc::new(Store::default());
        Self {
            world: World::new(Config::default(), store.clone()),
            store,
            now: START,
            version: 100,
            writes: Vec::new(),
            is_down: false,
        }
    }

    fn node(&mut self, name: &str, annotations: Value) {
        let mut annotations = annotations;
        annotations[NODE] = json!("simulated");
        let room = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
        let labels = json!({"topology.kubernetes.io/zone": "z"});
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let node = json!({
            "metadata": {"name": name, "uid": name, "annotations": annotations, "labels": labels},
            "spec": {"podCIDR": "10.0.7.0/24"},
            "status": {"allocatable": room, "capacity": room, "conditions": ready},
        });
        let node = Arc::new(serde_json::from_value(node).unwrap());
        self.world.node_seen(&node, self.now);
    }

    fn put(&mut self, pod: Value) {
        self.version += 1;
        let mut pod = pod;
        pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let key = Key::of(&pod);
        self.store.upsert(pod);
        let pod = self.store.get(&key.namespace, &key.name).unwrap();
        self.world.pod_seen(&pod, self.now);
    }

    fn pod(&mut self, name: &str, annotations: Value) {
        let container =
            json!({"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
        self.put(json!({
            "metadata": {"name": name, "namespace": "n", "uid": name, "generation": 1, "annotations": annotations},
            "spec": {"nodeName": "n1", "containers": [container], "restartPolicy": "Never"},
            "status": {"phase": "Pending"},
        }));
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let pod = self.store.get("n", name).unwrap();
        let mut pod = serde_json::to_value(&*pod).unwrap();
        change(&mut pod);
        self.put(pod);
    }

    /// Carries out what has to be written, as a server would, and tells of it.
    fn settle(&mut self) {
        while let Some(job) = self.world.next_job() {
            let Some(request) = self.world.prepare(&job, self.now) else {
                continue;
            };
            let is_pod = matches!(job, Job::PodStatus(_) | Job::PodDelete(_));
            if self.is_down {
                self.world
                    .done(&job, &request.subject, Outcome::Lost, self.now);
                continue;
            }
            if !is_pod {
                self.world
                    .done(&job, &request.subject, Outcome::Done(0), self.now);
                continue;
            }
            let name = request.path.split('/').nth(6).unwrap().to_owned();
            let status = &request.body["status"];
            let phase = status["phase"].as_str().unwrap_or(request.method);
            self.writes.push(format!("{name} {phase}"));
            if request.method == "DELETE" {
                let pod = self.store.get("n", &name).unwrap();
                self.store.delete(&Key::new("n", &name));
                self.world
                    .done(&job, &request.subject, Outcome::Done(0), self.now);
                self.world.pod_gone(&pod);
            } else {
                let status = status.clone();
                self.world.done(
                    &job,
                    &request.subject,
                    Outcome::Done(self.version + 1),
                    self.now,
                );
                self.change(&name, |pod| {
                    for (field, value) in status.as_object().unwrap() {
                        pod["status"][field] = value.clone();
                    }
                });
            }
        }
    }

    /// Lets seconds pass, step by step.
    fn pass(&mut self, seconds: i64) {
        self.settle();
        let end = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.world.next_due().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.world.advance(self.now);
            self.settle();
        }
        self.now = end;
        self.world.advance(end);
        self.settle();
    }

    fn take_writes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.writes)
    }

    fn delete(&mut self, name: &str) {
        self.change(name, |pod| {
            pod["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:10:00Z");
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        });
        self.settle();
    }

    fn finished_at(&self, name: &str) -> Option<String> {
        let pod = self.store.get("n", name)?;
        let pod = serde_json::to_value(&*pod).ok()?;
        let state = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        state["finishedAt"].as_str().map(str::to_owned)
    }
}

#[test]
fn each_step_is_written_once() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(60);
    assert_eq!(api.take_writes(), ["p Pending", "p Running"]);
    api.delete("p");
    assert_eq!(api.take_writes(), ["p Failed", "p DELETE"]);
    api.pass(60);
    assert!(api.writes.is_empty());
    assert_eq!(api.world.pods.len(), 0);
    let node = api.world.nodes.get(0).unwrap();
    assert_eq!(
        (node.room.pods, node.room.used.cpu_m, node.pods.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_pod_may_be_bound_before_its_node_is_known() {
    let mut api = Api::new();
    api.pod("p", json!({}));
    api.pass(5);
    assert!(api.writes.is_empty());
    api.node("n1", json!({}));
    api.pass(5);
    assert_eq!(api.take_writes(), ["p Pending", "p Running"]);
    let ip = api
        .store
        .get("n", "p")
        .unwrap()
        .status
        .as_ref()
        .unwrap()
        .pod_ip
        .clone();
    assert_eq!(ip.as_deref(), Some("10.0.7.2"));
}

#[test]
fn what_does_not_fit_is_refused_and_said_so() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    for i in 0..5 {
        api.pod(&format!("p{i}"), json!({}));
    }
    api.pass(5);
    let pod = api.store.get("n", "p4").unwrap();
    let status = pod.status.as_ref().unwrap();
    assert_eq!(status.reason.as_deref(), Some("OutOfcpu"));
    assert_eq!(
        status.message.as_deref(),
        Some(
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 4000, capacity: 4000"
        )
    );
    assert!(status.container_statuses.is_none());
    // It stays until it is deleted, and takes no room.
    api.take_writes();
    api.delete("p4");
    assert_eq!(api.take_writes(), ["p4 DELETE"]);
}

#[test]
fn what_others_overwrite_is_said_again_but_not_without_end() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(60);
    api.take_writes();
    for _ in 0..3 {
        // As the node lifecycle controller does.
        api.change("p", |pod| {
            for condition in pod["status"]["conditions"].as_array_mut().unwrap() {
                condition["status"] = json!("False");
            }
        });
        api.settle();
    }
    assert_eq!(api.take_writes(), ["p Running"]);
    api.pass(10);
    assert_eq!(api.take_writes(), ["p Running"]);
    api.pass(60);
    assert!(api.writes.is_empty());
}

#[test]
fn a_write_that_is_lost_is_sent_again_with_what_holds_then() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.is_down = true;
    api.pod("p", json!({RUN_FOR: "5s"}));
    api.pass(10);
    api.is_down = false;
    api.pass(60);
    assert_eq!(api.take_writes(), ["p Succeeded"]);
}

#[test]
fn a_new_generation_is_observed_and_takes_other_room() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(5);
    api.take_writes();
    api.change("p", |pod| {
        pod["metadata"]["generation"] = json!(2);
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
    });
    api.settle();
    assert_eq!(api.take_writes(), ["p Running"]);
    let pod = api.store.get("n", "p").unwrap();
    let status = serde_json::to_value(pod.status.as_ref().unwrap()).unwrap();
    assert_eq!(status["observedGeneration"], 2);
    assert_eq!(
        status["containerStatuses"][0]["allocatedResources"]["cpu"],
        "2"
    );
    assert_eq!(api.world.nodes.get(0).unwrap().room.used.cpu_m, 2_000);
}

#[test]
fn a_failed_node_says_nothing_and_nothing_goes_on() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pass(10);
    api.take_writes();
    assert_eq!(
        api.world
            .set_faults(Which::Zone("z"), Some(Fault::Fail), api.now),
        1
    );
    api.pass(300);
    api.delete("p");
    api.pass(300);
    assert!(api.writes.is_empty());
    assert!(pod_usage(&api.world, api.now).is_empty());
    api.world.set_faults(Which::Node("n1"), None, api.now);
    api.settle();
    assert_eq!(api.take_writes(), ["p Succeeded", "p DELETE"]);
    // It ended when the node was back.
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pass(10);
    api.world
        .set_faults(Which::Node("n1"), Some(Fault::Fail), api.now);
    api.pass(290);
    api.world.set_faults(Which::Node("n1"), None, api.now);
    api.settle();
    assert_eq!(
        api.finished_at("p").as_deref(),
        Some("2027-01-15T08:05:00Z")
    );
}

#[test]
fn a_node_that_is_cut_off_goes_on_and_tells_later() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pod("q", json!({}));
    api.pass(10);
    api.take_writes();
    api.node("n1", json!({FAULT: "partition"}));
    api.delete("q");
    api.pod("r", json!({}));
    api.pass(290);
    assert!(api.writes.is_empty());
    // The annotation is gone.
    api.node("n1", json!({}));
    api.settle();
    let mut writes = api.take_writes();
    writes.sort();
    assert_eq!(writes, ["p Succeeded", "q DELETE", "q Failed", "r Pending"]);
    assert_eq!(
        api.finished_at("p").as_deref(),
        Some("2027-01-15T08:00:31Z")
    );
}

#[test]
fn each_lease_is_renewed_every_ten_seconds_and_each_status_every_five_minutes() {
    let mut api = Api::new();
    for i in 0..250 {
        api.node(&format!("n{i}"), json!({}));
    }
    api.settle();
    let (mut leases, mut statuses, mut most) = (0, 0, 0);
    let end = api.now + Duration::from_secs(600);
    while let Some(due) = api.world.next_due().filter(|due| *due <= end) {
        api.world.advance(due);
        let mut batch = 0;
        while let Some(job) = api.world.next_job() {
            let request = api.world.prepare(&job, due);
            api.world.done(&job, "", Outcome::Done(0), due);
            batch += usize::from(request.is_some());
            match job {
                Job::Lease(_) => leases += 1,
                Job::NodeStatus(_) => statuses += 1,
                other => panic!("{other:?}"),
            }
        }
        most = most.max(batch);
    }
    assert_eq!((leases, statuses), (250 * 60, 250 * 2));
    // They are spread: no more than three leases and three statuses at a time.
    assert!(most <= 6, "{most}");
}

#[test]
fn logs_follow_from_the_pod_and_the_time() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "100s"}));
    let read = |api: &Api, wanted: LogsWanted| {
        let lines = logs(&api.world, "n", "p", "c", &wanted, api.now)?;
        Some(lines.into_iter().map(|line| line.text).collect::<Vec<_>>())
    };
    assert_eq!(read(&api, LogsWanted::default()), None);
    api.pass(62);
    let lines = read(&api, LogsWanted::default()).unwrap();
    assert_eq!(
        lines,
        [
            "c started: image , pod p, restarts 0",
            "c is running since 30s: heartbeat 1",
            "c is running since 1m0s: heartbeat 2",
        ]
    );
    assert_eq!(read(&api, LogsWanted::default()).unwrap(), lines);
    api.pass(60);
    let wanted = LogsWanted {
        tail: Some(1),
        ..LogsWanted::default()
    };
    let last = ["c exited with code 0 at 2027-01-15T08:01:41Z"];
    assert_eq!(read(&api, wanted).unwrap(), last);
    let wanted = LogsWanted {
        since: Some(START + Duration::from_secs(90)),
        ..LogsWanted::default()
    };
    assert_eq!(read(&api, wanted).unwrap().len(), 2);
    let wanted = LogsWanted {
        previous: true,
        ..LogsWanted::default()
    };
    assert_eq!(read(&api, wanted), None);
}

#[test]
fn usage_follows_the_profile() {
    use crate::behaviour::{Rule, Rules, Usage};
    let rule = |usage| {
        Rules::new(vec![Rule {
            usage: Some(usage),
            ..Rule::default()
        }])
    };
    let sine = Usage::Sine {
        low: 0.2,
        high: 0.8,
        period: Duration::from_secs(100),
    };
    let constant = Usage::Constant {
        cpu_m: 7,
        memory: 9,
    };
    for (rules, least, most) in [
        (Rules::default(), 280, 320),
        (rule(Usage::Fraction(0.5)), 470, 530),
        (rule(sine), 180, 850),
        (rule(constant), 7, 7),
    ] {
        let mut api = Api::new();
        api.world.config.rules = rules;
        api.node("n1", json!({}));
        api.pod("p", json!({}));
        assert!(pod_usage(&api.world, api.now).is_empty());
        let mut seen = Vec::new();
        for _ in 0..20 {
            api.pass(20);
            let usage = pod_usage(&api.world, api.now);
            assert_eq!(usage, pod_usage(&api.world, api.now));
            let [one] = &usage[..] else {
                panic!("{usage:?}")
            };
            assert!((least..=most).contains(&one.cpu_m), "{one:?}");
            let nodes = node_usage(&api.world, api.now);
            assert_eq!(nodes[0].cpu_m, one.cpu_m + 100);
            seen.push(one.cpu_m);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len() > 1, least != most);
    }
}
