//! Somebody who looks at the cluster every few seconds, as with `kubectl get`.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::Requests;

const PAUSE: Duration = Duration::from_secs(10);
/// What does not change quickly is looked at more rarely.
const RARELY_S: u64 = 30;

/// What was to be seen; times are seconds since the beginning.
#[derive(Default, Debug)]
pub(crate) struct Witness {
    /// When which nodes were not ready.
    pub(crate) not_ready: BTreeMap<u64, BTreeSet<String>>,
    /// When which Deployments of the shop were as they should be, and on which image.
    pub(crate) rolled_out: BTreeMap<u64, BTreeMap<String, String>>,
    /// Since when which pods have no node, of those that have none now: by app and name.
    waiting: BTreeMap<(String, String), u64>,
    /// For how long at most pods of an app had no node.
    pub(crate) waits: BTreeMap<String, u64>,
    /// The pods that have no node at the end, by namespace and name.
    pub(crate) pending: Vec<(String, String)>,
    /// Pods that had to go for others, by app.
    pub(crate) preempted: BTreeMap<String, BTreeSet<String>>,
    /// When that was seen for the first time.
    pub(crate) first_preemption: Option<u64>,
    /// Jobs that were seen complete, by app.
    pub(crate) complete: BTreeMap<String, BTreeSet<String>>,
    /// Jobs that failed.
    pub(crate) failed: BTreeSet<String>,
    /// How many replicas of the shop's front there were.
    pub(crate) web: BTreeSet<i64>,
    /// How many claims are bound at the end.
    pub(crate) bound_claims: usize,
}

/// Looks again and again.
pub(crate) async fn watch(
    witness: &Arc<Mutex<Witness>>,
    requests: &Requests,
    env: &Arc<dyn Env>,
    begin: Time,
) {
    loop {
        env.sleep(PAUSE).await;
        let at = env.monotonic().since(begin).as_secs();
        let nodes = list(requests, "/api/v1/nodes").await;
        let pods = list(requests, "/api/v1/pods").await;
        let deployments = list(requests, "/apis/apps/v1/namespaces/shop/deployments").await;
        {
            let mut seen = witness.lock().expect("a witness");
            seen.see_nodes(at, &nodes);
            seen.see_pods(at, &pods);
            seen.see_deployments(at, &deployments);
        }
        if at % RARELY_S < PAUSE.as_secs() {
            let jobs = list(requests, "/apis/batch/v1/jobs").await;
            let claims = list(requests, "/api/v1/persistentvolumeclaims").await;
            let path = "/api/v1/events?fieldSelector=reason%3DPreempted";
            let preempted = list(requests, path).await;
            let mut seen = witness.lock().expect("a witness");
            seen.see_jobs(&jobs);
            seen.see_preemptions(at, &preempted);
            let bound = claims
                .iter()
                .filter(|claim| claim["status"]["phase"] == "Bound");
            seen.bound_claims = bound.count();
        }
    }
}

async fn list(requests: &Requests, path: &str) -> Vec<Value> {
    let list: Value = requests.get(path).await.expect("a list");
    list["items"].as_array().expect("items").clone()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned()
}

fn app(object: &Value) -> String {
    let app = &object["metadata"]["labels"]["app"];
    app.as_str().unwrap_or("none").to_owned()
}

fn condition(object: &Value, wanted: &str) -> Option<Value> {
    let all = object["status"]["conditions"].as_array()?;
    let found = all.iter().find(|one| one["type"] == wanted);
    found.cloned()
}

fn holds(object: &Value, wanted: &str) -> bool {
    condition(object, wanted).is_some_and(|condition| condition["status"] == "True")
}

impl Witness {
    fn see_nodes(&mut self, at: u64, nodes: &[Value]) {
        let silent = nodes.iter().filter(|node| !holds(node, "Ready"));
        self.not_ready.insert(at, silent.map(name).collect());
    }

    fn see_pods(&mut self, at: u64, pods: &[Value]) {
        let before = std::mem::take(&mut self.waiting);
        self.pending.clear();
        for pod in pods {
            if !pod["spec"]["nodeName"].is_null() {
                continue;
            }
            let namespace = pod["metadata"]["namespace"].as_str().expect("a namespace");
            self.pending.push((namespace.to_owned(), name(pod)));
            let key = (app(pod), name(pod));
            let since = before.get(&key).copied().unwrap_or(at);
            let longest = self.waits.entry(app(pod)).or_default();
            *longest = (*longest).max(at - since);
            self.waiting.insert(key, since);
        }
    }

    fn see_preemptions(&mut self, at: u64, events: &[Value]) {
        for event in events {
            let pod = event["involvedObject"]["name"]
                .as_str()
                .expect("a pod")
                .to_owned();
            let app = pod.split('-').next().unwrap_or_default().to_owned();
            self.preempted.entry(app).or_default().insert(pod);
            self.first_preemption.get_or_insert(at);
        }
    }

    fn see_deployments(&mut self, at: u64, deployments: &[Value]) {
        let mut done = BTreeMap::new();
        for deployment in deployments {
            let status = &deployment["status"];
            let wanted = &deployment["spec"]["replicas"];
            if name(deployment) == "web" {
                self.web.extend(wanted.as_i64());
            }
            let all = ["replicas", "updatedReplicas", "availableReplicas"];
            let seen = status["observedGeneration"] == deployment["metadata"]["generation"];
            if seen && all.iter().all(|field| &status[*field] == wanted) {
                let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
                let image = image.as_str().expect("an image").to_owned();
                done.insert(name(deployment), image);
            }
        }
        self.rolled_out.insert(at, done);
    }

    fn see_jobs(&mut self, jobs: &[Value]) {
        for job in jobs {
            if holds(job, "Complete") {
                self.complete
                    .entry(app(&job["spec"]["template"]))
                    .or_default()
                    .insert(name(job));
            }
            if holds(job, "Failed") {
                self.failed.insert(name(job));
            }
        }
    }
}
