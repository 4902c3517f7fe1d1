//! What an update means to the queue. Upstream's `pkg/scheduler/framework/events.go`.

use crate::framework::{Action, ClusterEvent, EventResource};
use crate::model::{Node, Pod};

/// The events of an update of a pod: as specific as possible, or a plain update if nothing is.
pub fn pod_events(old: &Pod, new: &Pod) -> impl Iterator<Item = ClusterEvent> + Clone + use<> {
    let resource = if new.is_assigned() {
        EventResource::AssignedPod
    } else {
        EventResource::UnschedulablePod
    };
    let changes = [
        (old.labels != new.labels, Action::UPDATE_POD_LABEL),
        (is_scaled_down(old, new), Action::UPDATE_POD_SCALE_DOWN),
        (
            !old.scheduling_gates.is_empty() && new.scheduling_gates.is_empty(),
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        ),
        // The API allows tolerations to be added, nothing else.
        (
            old.tolerations.len() != new.tolerations.len(),
            Action::UPDATE_POD_TOLERATION,
        ),
        (
            old.claim_statuses != new.claim_statuses,
            Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        ),
    ];
    let is_special = changes.iter().any(|(happened, _)| *happened);
    events(resource, changes).chain(events(resource, [(!is_special, Action::UPDATE)]))
}

/// The events of an update of a node.
pub fn node_events(old: &Node, new: &Node) -> impl Iterator<Item = ClusterEvent> + Clone + use<> {
    let changes = [
        (
            old.unschedulable && !new.unschedulable,
            Action::UPDATE_NODE_TAINT,
        ),
        (
            old.allocatable_list != new.allocatable_list,
            Action::UPDATE_NODE_ALLOCATABLE,
        ),
        (old.labels != new.labels, Action::UPDATE_NODE_LABEL),
        (old.taints != new.taints, Action::UPDATE_NODE_TAINT),
        (
            old.conditions != new.conditions,
            Action::UPDATE_NODE_CONDITION,
        ),
        (
            old.annotations != new.annotations,
            Action::UPDATE_NODE_ANNOTATION,
        ),
        (
            old.declared_features != new.declared_features,
            Action::UPDATE_NODE_DECLARED_FEATURE,
        ),
    ];
    events(EventResource::Node, changes)
}

fn events<const N: usize>(
    resource: EventResource,
    changes: [(bool, Action); N],
) -> impl Iterator<Item = ClusterEvent> + Clone {
    changes
        .into_iter()
        .filter(|(happened, _)| *happened)
        .map(move |(_, action)| ClusterEvent::new(resource, action))
}

/// Whether any request went down or away.
fn is_scaled_down(old: &Pod, new: &Pod) -> bool {
    old.requests.total.iter().any(|(name, before)| {
        new.requests
            .total
            .get(name)
            .is_none_or(|after| before.milli_value() > after.milli_value())
    })
}
