//! Deployments.
//!
//! Upstream: `pkg/controller/deployment`.

use super::template::{controlled_by, hash, label};
use super::{Owner, Pod, View};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use stowplan_apimachinery::labels::Selector;
use stowplan_apimachinery::{Edit, View as _, meta};

const HASH_LABEL: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

/// How many pods a workload wants.
pub(crate) fn replicas(workload: &Value) -> i64 {
    workload.at("spec").int("replicas").unwrap_or(1)
}

/// The ReplicaSet that a Deployment wants: its newest one, scaled up by what all its sets together lack,
/// or a new one. `sets` are those that it controls, of the whole cluster; what is newest among them
/// comes back even if it stays as it is.
pub fn reconcile(view: &View, deployment: &Value, sets: &[&Value]) -> Value {
    let own = sets.iter().filter(|set| is_own(set, deployment));
    let present: i64 = own.clone().map(|set| replicas(set)).sum();
    match own.max_by_key(|set| revision(set)) {
        Some(newest) => {
            let mut newest = Value::clone(newest);
            let more = (replicas(deployment) - present).max(0);
            let wanted = replicas(&newest) + more;
            newest.at_mut("spec").set("replicas", wanted);
            newest
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

fn new_set(view: &View, deployment: &Value) -> Value {
    let spec = deployment.at("spec");
    let namespace = meta::namespace(deployment);
    let existing = pods_of_unknown_sets(view, deployment);
    // Dumps may hold pods without their ReplicaSets: the one that most pods name is the present one.
    let known = most_common(existing.iter().map(|pod| &pod.owner));
    let of_known = |pod: &&&Pod| Some(&pod.owner) == known;
    let hash = existing
        .iter()
        .find(of_known)
        .and_then(|pod| pod.labels.get(HASH_LABEL)?.as_str().map(str::to_owned))
        .unwrap_or_else(|| hash(spec.at("template")));
    let mut template = spec.at("template").clone();
    label(&mut template, &[(HASH_LABEL, &hash)]);
    let mut selector = spec.at("selector").clone();
    selector.at_mut("matchLabels").set(HASH_LABEL, &*hash);
    let name = match known {
        Some(owner) => owner.name.clone(),
        None => format!("{}-{hash}", meta::name(deployment)),
    };
    let mut metadata = Map::new();
    metadata.set("name", name);
    metadata.set("namespace", namespace);
    metadata.set("labels", template.at("metadata").at("labels").clone());
    if let Some(owner) = known
        && !owner.uid.is_empty()
    {
        metadata.set("uid", &*owner.uid);
    }
    let owner = controlled_by("apps/v1", "Deployment", deployment);
    metadata.set("ownerReferences", vec![owner]);
    // Pods of other sets that nobody knows count, too.
    let others = existing.len() - existing.iter().filter(of_known).count();
    let wanted = replicas(deployment) - i64::try_from(others).unwrap_or(i64::MAX);
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": wanted.max(0), "selector": selector, "template": template},
    })
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
