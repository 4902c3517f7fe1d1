//! What simulated kubelets tell people.

use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_client::{EventType, ObjectRef, Recorder, V1Event};
use stowplan_nodes::{EventSink, NodeEvent, PodEvent};

/// Records events as kubelets do.
pub(crate) struct Events(pub(crate) Arc<Recorder>);

impl EventSink for Events {
    fn pod(&self, node: &str, pod: &Pod, event: PodEvent) {
        self.0.record(V1Event {
            about: ObjectRef::of(pod),
            event_type: match event.is_warning {
                true => EventType::Warning,
                false => EventType::Normal,
            },
            reason: event.reason,
            message: event.message,
            field_path: event
                .container
                .map(|name| format!("spec.containers{{{name}}}")),
            component: "kubelet".into(),
            host: node.into(),
        });
    }

    fn node(&self, node: &Node, event: NodeEvent) {
        let host = node.metadata.name.as_deref().unwrap_or_default();
        self.0.record(V1Event {
            about: ObjectRef::of(node),
            event_type: EventType::Normal,
            reason: event.reason.into(),
            message: event.message,
            field_path: None,
            component: "kubelet".into(),
            host: host.into(),
        });
    }
}
