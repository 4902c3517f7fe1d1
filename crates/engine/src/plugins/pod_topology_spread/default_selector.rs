//! The selector of default constraints: which pods are "the same" as this one.
//!
//! Upstream: `pkg/scheduler/framework/plugins/helper/spread.go`.

use crate::Snapshot;
use crate::model::{Pod, Requirement, Selector};
use std::collections::BTreeMap;
use stowplan_base::Sym;

/// What the Services that select the pod and its controller select by, all together; `{}` if
/// nobody selects it.
pub(super) fn default_selector(cluster: &Snapshot, pod: &Pod) -> Selector {
    let mut labels = BTreeMap::new();
    for service in cluster.services.selecting(pod.namespace, &pod.labels) {
        if service.selector.matches(&pod.labels, &cluster.names) {
            merge(&mut labels, &service.selector);
        }
    }
    let mut more: &[Requirement] = &[];
    if let Some(owner) = &pod.controller {
        let names = &cluster.names;
        match (names.text(owner.api_version), names.text(owner.kind)) {
            ("v1", "ReplicationController") => {
                let found = cluster
                    .replication_controllers
                    .get(pod.namespace, owner.name);
                if let Some(controller) = found {
                    merge(&mut labels, &controller.selector);
                }
            }
            ("apps/v1", "ReplicaSet") => {
                let found = cluster.replica_sets.get(pod.namespace, owner.name);
                more = found.map_or(&[], |set| set.selector.requirements());
            }
            ("apps/v1", "StatefulSet") => {
                let found = cluster.stateful_sets.get(pod.namespace, owner.name);
                more = found.map_or(&[], |set| set.selector.requirements());
            }
            _ => {}
        }
    }
    let equal = |(key, value)| Requirement::equals(key, value);
    Selector::All(
        labels
            .into_iter()
            .map(equal)
            .chain(more.iter().cloned())
            .collect(),
    )
}

/// Takes over the labels of a plain map selector. A key that is there already gets the new value: a
/// ReplicationController need not select the pod that names it.
fn merge(labels: &mut BTreeMap<Sym, Sym>, selector: &Selector) {
    for requirement in selector.requirements() {
        if let [value] = requirement.values[..] {
            labels.insert(requirement.key, value);
        }
    }
}
