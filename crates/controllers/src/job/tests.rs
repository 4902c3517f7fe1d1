//! Upstream's tables: `job_controller_test.go` and those beside it.

use super::*;
use crate::testing::World;
use crate::{Failure, Method};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobStatus;
use serde_json::{Value, json};

mod backoffs;
mod indexed;
mod indices;
mod made;
mod ownership;
mod policies;
mod restarts;
mod rows;
mod suspension;
mod tracking;
mod whole;

const NAME: &str = "sum";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn job(spec: Value) -> Value {
    let mut given = json!({
        "parallelism": 1,
        "backoffLimit": 6,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "job-uid"}},
        "template": {
            "metadata": {"labels": {"batch.kubernetes.io/controller-uid": "job-uid", "a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        },
    });
    for (key, value) in spec.as_object().expect("a spec") {
        given[key] = value.clone();
    }
    json!({
        "metadata": {"name": NAME, "namespace": "shop", "uid": "job-uid", "generation": 1},
        "spec": given,
    })
}

/// An indexed Job.
fn indexed(completions: i32, parallelism: i32) -> Value {
    job(json!({
        "completionMode": "Indexed", "completions": completions, "parallelism": parallelism,
    }))
}

fn pod(name: &str, phase: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-of-{name}"),
            "labels": {"batch.kubernetes.io/controller-uid": "job-uid"},
            "finalizers": [FINALIZER],
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "Job", "name": NAME, "uid": "job-uid",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
        "status": {"phase": phase},
    })
}

fn with_index(mut pod: Value, index: i64) -> Value {
    pod["metadata"]["annotations"] =
        json!({"batch.kubernetes.io/job-completion-index": index.to_string()});
    pod
}

fn without_finalizer(mut pod: Value) -> Value {
    pod["metadata"]["finalizers"] = json!([]);
    // Something else holds it, so that it stays.
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        pod["metadata"]["finalizers"] = json!(["x/y"]);
    }
    pod
}

fn deleted(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    pod
}

fn ready(mut pod: Value) -> Value {
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    pod
}

/// A pod whose container ended with this code, at this time.
fn exited(mut pod: Value, code: i32, at: &str) -> Value {
    pod["status"]["containerStatuses"] = json!([{
        "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "finishedAt": at}},
    }]);
    pod
}

fn world(job: Value, pods: impl IntoIterator<Item = Value>) -> World {
    let mut world = World::default();
    world.add_json::<Job>(job);
    for pod in pods {
        world.add_json::<Pod>(pod);
    }
    world
}

fn sync(world: &mut World) -> Option<Duration> {
    world.sync(&Jobs::default(), "shop", NAME)
}

fn status(world: &World) -> JobStatus {
    let job = world.get::<Job>("shop", NAME);
    job.status.clone().unwrap_or_default()
}

/// The types of conditions that are true.
fn conditions(world: &World) -> Vec<String> {
    let conditions = status(world).conditions.unwrap_or_default();
    let conditions = conditions.into_iter();
    let is_true = conditions.filter(|condition| condition.status == "True");
    is_true.map(|condition| condition.type_).collect()
}

/// Reason and message of the last condition.
fn last_condition(world: &World) -> (String, String) {
    let last = status(world).conditions.and_then(|mut all| all.pop());
    let last = last.expect("a condition");
    (
        last.reason.unwrap_or_default(),
        last.message.unwrap_or_default(),
    )
}

fn count(world: &World, method: Method, part: &str) -> usize {
    let writes = world.writes.iter();
    let meant = writes.filter(|(how, path, _)| *how == method && path.contains(part));
    meant.count()
}

fn pods(world: &World) -> Vec<std::sync::Arc<Pod>> {
    world.cluster.all::<Pod>()
}

fn refused(code: u16) -> Failure {
    Failure {
        code,
        reason: "InternalError".to_owned(),
        message: "no".to_owned(),
        causes: Vec::new(),
    }
}
