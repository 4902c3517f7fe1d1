//! Reserve, Permit, PreBind, Bind and PostBind.

use super::Plugin;
use crate::framework::{Cx, Slot, Status};
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
}

/// Holds back or refuses a binding.
pub trait Permit: 'static {
    /// May the binding go on?
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
    /// What must be done before the pod is bound.
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        state: Slot<&Self::FilterState>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Effect>, Status>;
}

/// Binds pods.
pub trait Bind: 'static {
    /// How the pod is bound; `None` leaves it to the next plugin.
    fn bind(&self, cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Effect>;
}

/// Told of bindings.
pub trait PostBind: 'static {
    /// The pod is bound.
    fn post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<Effect>;
}

/// Something that the outside is asked to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Write the object as it is here.
    Write(Object),
    /// Bind the pod to the node.
    Bind {
        /// The pod.
        pod: Arc<Pod>,
        /// The node's name.
        node: Sym,
    },
}
