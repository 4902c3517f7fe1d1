//! What kubelets tell people.

use k8s_openapi::api::core::v1::{Node, Pod};
use std::borrow::Cow;

/// Something that happened to a pod, in a kubelet's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodEvent {
    /// Whether somebody should look at it: `Warning`, or else `Normal`.
    pub is_warning: bool,
    /// One word: `Started`.
    pub reason: Cow<'static, str>,
    /// A sentence.
    pub message: String,
    /// The container that it is about, if it is about one.
    pub container: Option<String>,
}

/// Something that happened to a node, in a kubelet's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeEvent {
    /// One word: `NodeReady`.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

/// Who is told what happens; it must not wait. kubelets report as `kubelet` on the host of the node.
pub trait EventSink: Send + Sync {
    /// Something happened to a pod on this node.
    fn pod(&self, node: &str, pod: &Pod, event: PodEvent);

    /// Something happened to a node.
    fn node(&self, node: &Node, event: NodeEvent);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unheard;

impl EventSink for Unheard {
    fn pod(&self, _: &str, _: &Pod, _: PodEvent) {}

    fn node(&self, _: &Node, _: NodeEvent) {}
}
