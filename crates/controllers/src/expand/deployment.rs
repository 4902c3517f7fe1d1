//! Deployments.
//!
//! A new ReplicaSet is the controller's. The sets that are there stay JSON: of each only three fields matter,
//! and a dump may hold tens of thousands.

use super::template::typed;
use super::{Owner, Pod, View};
use crate::deployment::{HASH_LABEL, REVISION, hash, new_set as new_replica_set, wanted};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::Value;
use std::collections::BTreeMap;
use stowplan_apimachinery::labels::Selector;
use stowplan_apimachinery::{Edit, View as _, meta};

/// The revision of the first set of a Deployment.
const FIRST_REVISION: i64 = 1;

/// How many pods a Deployment or a ReplicaSet wants.
fn replicas(workload: &Value) -> i64 {
    workload.at("spec").int("replicas").unwrap_or(1)
}

/// The ReplicaSet that a Deployment wants: its newest one, scaled up by what all its sets together lack,
/// or a new one. `sets` are those that it controls, of the whole cluster; what is newest among them
/// comes back even if it stays as it is.
pub fn reconcile(view: &View, deployment: &Value, sets: &[&Value]) -> Option<Value> {
    let own = sets.iter().filter(|set| is_own(set, deployment));
    let present: i64 = own.clone().map(|set| replicas(set)).sum();
    match own.max_by_key(|set| revision(set)) {
        Some(newest) => {
            let mut newest = Value::clone(newest);
            let more = (replicas(deployment) - present).max(0);
            let wanted = replicas(&newest) + more;
            newest.at_mut("spec").set("replicas", wanted);
            Some(newest)
        }
        None => new_set(view, deployment),
    }
}

/// Whether a ReplicaSet is one of the Deployment's.
pub fn is_own(set: &Value, deployment: &Value) -> bool {
    meta::namespace(set) == meta::namespace(deployment)
        && Owner::of(set).is_some_and(|owner| owner.is("Deployment", deployment))
}

/// What tells which ReplicaSet of a Deployment is the newest.
fn revision(set: &Value) -> (u64, String) {
    let metadata = set.at("metadata");
    let revision = metadata.at("annotations").text(REVISION);
    let created = metadata.text("creationTimestamp").to_owned();
    (revision.parse().unwrap_or(0), created)
}

fn new_set(view: &View, given: &Value) -> Option<Value> {
    let deployment: Deployment = typed(given)?;
    let spec = deployment.spec.as_ref()?;
    let existing = pods_of_unknown_sets(view, given);
    // Dumps may hold pods without their ReplicaSets: the one that most pods name is the present one.
    let known = most_common(existing.iter().map(|pod| &pod.owner));
    let of_known = |pod: &&&Pod| Some(&pod.owner) == known;
    let hash_of_known = existing
        .iter()
        .find(of_known)
        .and_then(|pod| pod.labels.get(HASH_LABEL)?.as_str().map(str::to_owned));
    let hash = hash_of_known.unwrap_or_else(|| hash(&deployment, spec));
    // Pods of other sets that nobody knows count, too.
    let others = existing.len() - existing.iter().filter(of_known).count();
    let others = i32::try_from(others).unwrap_or(i32::MAX);
    let replicas = wanted(&deployment).saturating_sub(others).max(0);
    let mut set = new_replica_set(&deployment, spec, &hash, FIRST_REVISION, replicas);
    if let Some(owner) = known {
        set.metadata.name = Some(owner.name.clone());
        set.metadata.uid = Some(owner.uid.clone()).filter(|uid| !uid.is_empty());
    }
    serde_json::to_value(set).ok()
}

/// The pods of ReplicaSets that are not there, where the Deployment selects them.
fn pods_of_unknown_sets<'a>(view: &'a View, deployment: &'a Value) -> Vec<&'a Pod> {
    let Some(selector) = Selector::from_object(deployment.at("spec").at("selector")) else {
        return Vec::new();
    };
    let pods = view.pods_of_kind(meta::namespace(deployment), "ReplicaSet");
    pods.filter(|pod| selector.matches(&pod.labels)).collect()
}

fn most_common<'a>(owners: impl Iterator<Item = &'a Owner>) -> Option<&'a Owner> {
    let mut counts: BTreeMap<&str, (usize, &Owner)> = BTreeMap::new();
    for owner in owners {
        counts.entry(&owner.name).or_insert((0, owner)).0 += 1;
    }
    let most = counts.into_values().max_by_key(|(count, _)| *count);
    most.map(|(_, owner)| owner)
}
