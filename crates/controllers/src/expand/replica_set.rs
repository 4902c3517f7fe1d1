//! ReplicaSets and ReplicationControllers.

use super::template::{as_json, copies, typed};
use super::{Owner, View};
use crate::common::{name, namespace, pod_from_template};
use crate::replicaset::Replicated;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::ReplicationController;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stowplan_apimachinery::View as _;

/// The pods that a ReplicaSet or ReplicationController lacks, named by the first numbers that are free.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    match set.text("kind") {
        "ReplicationController" => missing::<ReplicationController>(view, set),
        _ => missing::<ReplicaSet>(view, set),
    }
}

fn missing<K: Replicated + DeserializeOwned>(view: &View, given: &Value) -> Vec<Value> {
    let Some(set) = typed::<K>(given) else {
        return Vec::new();
    };
    let wanted = set.wanted();
    let Some(template) = wanted.template else {
        return Vec::new();
    };
    let owner = Owner::of(given).filter(|owner| owner.kind == "Deployment");
    let base = owner.map_or_else(|| name(&set).to_owned(), |owner| owner.name);
    let existing = view.pods_of(K::KIND, given).count();
    let replicas = usize::try_from(wanted.replicas).unwrap_or(0);
    let names = (0..).map(|number: usize| format!("{base}-{number}"));
    let names = names
        .filter(|name| !view.has_pod(namespace(&set), name))
        .take(replicas.saturating_sub(existing));
    copies(&as_json(pod_from_template(template, &set)), names)
}
