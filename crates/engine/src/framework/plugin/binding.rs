//! Reserve, Permit, PreBind, Bind and PostBind.

use super::Plugin;
use crate::framework::{Command, Cx, Slot, Status, Step};
use crate::model::{Object, Pod};
use std::sync::Arc;
use stowplan_base::{Duration, Sym};

/// Sets things aside when a node is chosen.
pub trait Reserve: Plugin {
    /// The objects that change when the pod goes to the node, as they will be. They are assumed at
    /// once, and forgotten should the binding fail.
    fn reserve(
        &self,
        cx: Cx<'_>,
        state: Slot<&Self::FilterState>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status>;

    /// The pod will not go to the node after all: takes back what [`reserve`](Self::reserve) did to
    /// the plugin's own state. What it returned is taken back by the scheduler. Also told of pods
    /// whose Reserve did not run.
    fn unreserve(&self, _cx: Cx<'_>, _pod: &Pod, _node: Sym) {}
}

/// Holds back or refuses a binding.
pub trait Permit: 'static {
    /// May the binding go on? Pods that wait are let go through [`Underway::handle`](crate::framework::Underway::handle).
    fn permit(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> PermitResult;
}

/// What Permit says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PermitResult {
    /// Go on.
    Allow,
    /// Hold the pod until somebody allows it, at most this long.
    Wait(Duration),
    /// Give the pod back to the queue.
    Reject(Status),
}

/// Prepares a binding.
pub trait PreBind: Plugin {
    /// What must be done, and come true, before the pod is bound.
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        state: Slot<&Self::FilterState>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Step>, Status>;
}

/// Binds pods.
pub trait Bind: 'static {
    /// How the pod is bound; `None` leaves it to the next plugin.
    fn bind(&self, cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Command>;
}

/// Told of bindings.
pub trait PostBind: 'static {
    /// The pod is bound.
    fn post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<Command>;
}
