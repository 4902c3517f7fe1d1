//! Deployments, ReplicaSets and the other controllers of pods, and disruption budgets.

use super::text::{containers, count, int_or_string, labels, selector};
use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::labels::Selector;
use stowplan_apimachinery::{View, meta};

pub(crate) static DEPLOYMENTS: Columns = Columns::new("deployments", |object, now_s| {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let (names, images) = containers(spec.path(&["template", "spec"]));
    let selector = match Selector::from_object(spec.at("selector")) {
        Some(selector) => selector.to_string(),
        None if spec.has("selector") => "<invalid>".to_owned(),
        None => String::new(),
    };
    vec![
        json!(meta::name(object)),
        json!(ready(object)),
        json!(count(status, "updatedReplicas")),
        json!(count(status, "availableReplicas")),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
        json!(selector),
    ]
});

pub(crate) static STATEFUL_SETS: Columns = Columns::new("statefulsets", |object, now_s| {
    let (names, images) = containers(object.path(&["spec", "template", "spec"]));
    vec![
        json!(meta::name(object)),
        json!(ready(object)),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
    ]
});

pub(crate) static REPLICA_SETS: Columns = Columns::new("replicasets", |object, now_s| {
    let selector = selector(object.path(&["spec", "selector"]));
    replicas(object, now_s, selector)
});

pub(crate) static REPLICATION_CONTROLLERS: Columns =
    Columns::new("replicationcontrollers", |object, now_s| {
        let selector = labels(object.path(&["spec", "selector"]));
        replicas(object, now_s, selector)
    });

pub(crate) static DAEMON_SETS: Columns = Columns::new("daemonsets", |object, now_s| {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let pod_spec = spec.path(&["template", "spec"]);
    let (names, images) = containers(pod_spec);
    vec![
        json!(meta::name(object)),
        json!(count(status, "desiredNumberScheduled")),
        json!(count(status, "currentNumberScheduled")),
        json!(count(status, "numberReady")),
        json!(count(status, "updatedNumberScheduled")),
        json!(count(status, "numberAvailable")),
        json!(labels(pod_spec.at("nodeSelector"))),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
        json!(selector(spec.at("selector"))),
    ]
});

pub(crate) static POD_DISRUPTION_BUDGETS: Columns =
    Columns::new("poddisruptionbudgets", |object, now_s| {
        let spec = object.at("spec");
        let limit = |key| int_or_string(spec.at(key)).unwrap_or_else(|| "N/A".to_owned());
        vec![
            json!(meta::name(object)),
            json!(limit("minAvailable")),
            json!(limit("maxUnavailable")),
            json!(count(object.at("status"), "disruptionsAllowed")),
            json!(age::of(object, now_s)),
        ]
    });

/// `1/3`
fn ready(object: &Value) -> String {
    let ready = count(object.at("status"), "readyReplicas");
    format!("{ready}/{}", count(object.at("spec"), "replicas"))
}

fn replicas(object: &Value, now_s: i64, selector: String) -> Vec<Value> {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let (names, images) = containers(spec.path(&["template", "spec"]));
    vec![
        json!(meta::name(object)),
        json!(count(spec, "replicas")),
        json!(count(status, "replicas")),
        json!(count(status, "readyReplicas")),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
        json!(selector),
    ]
}
