//! Which changes may let a pod in that spread constraints kept out.

use super::constraint::{Constraint, has_all_keys};
use crate::framework::{Action, ClusterEvent, Cx, EventResource, Hint, Registration};
use crate::model::{Labels, Node, Object, Pod};
use stowplan_base::Names;

pub(super) fn events() -> Vec<Registration> {
    let pod = Action::ADD
        .or(Action::UPDATE_POD_LABEL)
        .or(Action::UPDATE_POD_TOLERATION)
        .or(Action::DELETE);
    let node = Action::ADD
        .or(Action::DELETE)
        .or(Action::UPDATE_NODE_LABEL)
        .or(Action::UPDATE_NODE_TAINT);
    vec![
        Registration::hinted(EventResource::Pod, pod),
        Registration::hinted(EventResource::Node, node),
    ]
}

/// Could the change help a pod with these hard constraints?
pub(super) fn hint(
    constraints: &[Constraint],
    cx: Cx<'_>,
    event: &ClusterEvent,
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Hint {
    let helps = if event.resource == EventResource::Node {
        let old = old.and_then(Object::as_node).map(|node| &**node);
        let new = new.and_then(Object::as_node).map(|node| &**node);
        node_change_helps(constraints, old, new)
    } else {
        let old = old.and_then(Object::as_pod).map(|pod| &**pod);
        let new = new.and_then(Object::as_pod).map(|pod| &**pod);
        pod_change_helps(constraints, pod, old, new, &cx.cluster.names)
    };
    if helps { Hint::Queue } else { Hint::Skip }
}

/// Whether `other` can count for `pod`: it is the pod itself, or on (or promised) a node and in the
/// same namespace.
fn involved(other: &Pod, pod: &Pod) -> bool {
    other.uid == pod.uid
        || (other.node_name.is_some() || other.nominated_node_name.is_some())
            && other.namespace == pod.namespace
}

fn pod_change_helps(
    constraints: &[Constraint],
    pod: &Pod,
    old: Option<&Pod>,
    new: Option<&Pod>,
    names: &Names,
) -> bool {
    if [old, new].into_iter().flatten().any(|p| !involved(p, pod)) {
        return false;
    }
    let selected = |labels: &Labels| {
        constraints
            .iter()
            .any(|c| c.selector.matches(labels, names))
    };
    match (old, new) {
        (Some(old), Some(new)) => {
            let tolerates_more = pod.uid == new.uid
                && old.tolerations != new.tolerations
                && constraints.iter().any(|c| c.honor_node_taints);
            tolerates_more
                || constraints.iter().any(|c| {
                    c.selector.matches(&old.labels, names) != c.selector.matches(&new.labels, names)
                })
        }
        (None, Some(one)) | (Some(one), None) => selected(&one.labels),
        // Nothing is known of the change: try.
        (None, None) => true,
    }
}

fn node_change_helps(constraints: &[Constraint], old: Option<&Node>, new: Option<&Node>) -> bool {
    let matching = |node: &Node| has_all_keys(&node.labels, constraints);
    match (old, new) {
        (Some(old), Some(new)) => {
            let moved = || {
                constraints
                    .iter()
                    .any(|c| old.labels.get(c.topology_key) != new.labels.get(c.topology_key))
            };
            matching(old) != matching(new) || matching(new) && (moved() || old.taints != new.taints)
        }
        (None, Some(one)) | (Some(one), None) => matching(one),
        (None, None) => true,
    }
}
