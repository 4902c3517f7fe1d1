//! Nodes and pods together, without an API: what would be written.

mod nodes;
mod pods;

use super::*;
use crate::kubelet::testing::START;
use crate::node::NODE;
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
