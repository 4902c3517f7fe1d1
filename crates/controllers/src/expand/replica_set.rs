//! ReplicaSets and ReplicationControllers.
//!
//! Upstream: `pkg/controller/replicaset`.

use super::deployment::replicas;
use super::template::{controlled_by, pod};
use super::{Owner, View};
use serde_json::Value;
use stowplan_apimachinery::{View as _, meta};

/// The pods that a ReplicaSet or ReplicationController lacks, named by the first numbers that are free.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    let kind = set.text("kind");
    let (namespace, template) = (meta::namespace(set), set.at("spec").at("template"));
    if template.is_null() {
        return Vec::new();
    }
    let reference = controlled_by(set.text("apiVersion"), kind, set);
    let owner = Owner::of(set).filter(|owner| owner.kind == "Deployment");
    let base = owner.map_or_else(|| meta::name(set).to_owned(), |owner| owner.name);
    let existing = view.pods_of(kind, set).count();
    let missing = usize::try_from(replicas(set)).unwrap_or(0);
    let names = (0..).map(|number: usize| format!("{base}-{number}"));
    names
        .filter(|name| !view.has_pod(namespace, name))
        .take(missing.saturating_sub(existing))
        .map(|name| pod(template, namespace, &name, reference.clone()))
        .collect()
}
