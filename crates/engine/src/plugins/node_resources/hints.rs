//! Which events could make room for a pod that NodeResourcesFit rejected.

use super::fit::{fits, requests_of};
use crate::framework::{Action, ClusterEvent, Cx, EventResource, Hint, Registration};
use crate::model::{DeviceClass, Node, Object, Pod, ResourceId, is_scalar_name};
use crate::{NodeInfo, Snapshot};
use std::sync::Arc;
use stowplan_base::{Sym, sym};

pub(super) fn events() -> Vec<Registration> {
    let pod = Action::DELETE.or(Action::UPDATE_POD_SCALE_DOWN);
    let node = Action::ADD.or(Action::UPDATE_NODE_ALLOCATABLE);
    let class = Action::ADD.or(Action::UPDATE);
    vec![
        Registration::hinted(EventResource::Pod, pod),
        Registration::hinted(EventResource::Node, node),
        Registration::hinted(EventResource::DeviceClass, class),
    ]
}

pub(super) fn hint(
    cx: Cx<'_>,
    event: &ClusterEvent,
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Hint {
    let helps = match (old, new) {
        (Some(Object::Pod(old)), None) => after_pod_deletion(old),
        (Some(Object::Pod(old)), Some(Object::Pod(new))) => {
            after_pod_scale_down(cx.cluster, pod, old, new)
        }
        (None, Some(Object::Node(new))) => fits_empty_node(cx.cluster, pod, new),
        (Some(Object::Node(old)), Some(Object::Node(new))) => {
            fits_empty_node(cx.cluster, pod, new) && has_more(cx.cluster, pod, old, new)
        }
        (None, Some(Object::DeviceClass(new))) => after_device_class(pod, None, new),
        (Some(Object::DeviceClass(old)), Some(Object::DeviceClass(new))) => {
            after_device_class(pod, Some(old), new)
        }
        _ => return Hint::Error(format!("unexpected objects of {}", event.label())),
    };
    if helps { Hint::Queue } else { Hint::Skip }
}

/// A pod that had, or was promised, a place on a node.
fn after_pod_deletion(gone: &Pod) -> bool {
    gone.is_assigned() || gone.nominated_node_name.is_some()
}

/// The pod itself asks for less, or a pod on some node takes up less of what it asks for.
fn after_pod_scale_down(cluster: &Snapshot, pod: &Pod, old: &Pod, new: &Pod) -> bool {
    if new.uid == pod.uid {
        return true;
    }
    if !new.is_assigned() {
        return false;
    }
    let shrank = |name| {
        let Some(id) = column(cluster, name) else {
            return false;
        };
        let taken = |pod: &Pod| pod.requests.total_columns.get(id).max(0);
        taken(old) > taken(new)
    };
    pod.requests
        .total
        .iter()
        .any(|(name, amount)| !amount.is_zero() && shrank(name))
}

fn column(cluster: &Snapshot, name: Sym) -> Option<ResourceId> {
    let native = [sym::CPU, sym::MEMORY, sym::EPHEMERAL_STORAGE].contains(&name);
    (native || is_scalar_name(cluster.names.text(name)))
        .then(|| cluster.resource_names.get(name))
        .flatten()
}

/// Whether the pod would fit on the node if it were empty. Here no resource is ignored.
fn fits_empty_node(cluster: &Snapshot, pod: &Pod, node: &Arc<Node>) -> bool {
    fits(requests_of(cluster, pod), &NodeInfo::new(node.clone())).is_ok()
}

/// Whether the node grew in something that the pod asks for. Room for more pods always counts.
fn has_more(cluster: &Snapshot, pod: &Pod, old: &Node, new: &Node) -> bool {
    let grew = |id| new.allocatable.get(id) > old.allocatable.get(id);
    grew(ResourceId::PODS)
        || requests_of(cluster, pod)
            .any(|request| grew(request.id) || request.is_left_to_devices(new))
}

/// The class now stands for a resource that the pod asks for. The implicit name never changes.
fn after_device_class(pod: &Pod, old: Option<&DeviceClass>, new: &DeviceClass) -> bool {
    let asks_for = |name: Sym| pod.requests.spec.get(name).is_some();
    match old {
        Some(old) if old.extended_resource_name == new.extended_resource_name => false,
        None if asks_for(new.implicit_resource_name) => true,
        _ => new.extended_resource_name.is_some_and(asks_for),
    }
}
