//! Pods that wait at Permit, and how plugins let them go. Upstream's `framework.Handle`
//! (`IterateOverWaitingPods`, `GetWaitingPod`) and `runtime/waiting_pods_map.go`.

use super::CycleState;
use crate::model::Pod;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Duration, Sym, Time};

/// What plugins can do besides answering: let pods go that wait at Permit, at any extension point.
///
/// What they say is collected here, and the scheduler acts on it after the point.
#[derive(Default)]
pub struct Handle {
    waiting: BTreeMap<Arc<str>, WaitingPod>,
    decisions: RefCell<Vec<PermitDecision>>,
}

/// A pod that waits at Permit.
pub struct WaitingPod {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its node.
    pub node: Sym,
    pub(crate) cycle: CycleState,
    /// Until when it may wait, and how long that was, by the plugin that holds it.
    pub(crate) holders: BTreeMap<&'static str, (Time, Duration)>,
}

impl WaitingPod {
    /// The plugins that hold it. Upstream's `GetPendingPlugins`.
    pub fn pending_plugins(&self) -> impl Iterator<Item = &'static str> {
        self.holders.keys().copied()
    }
}

/// What a plugin decides about a pod that waits at Permit.
pub(crate) enum PermitDecision {
    Allow {
        uid: Arc<str>,
        plugin: &'static str,
    },
    Reject {
        uid: Arc<str>,
        plugin: &'static str,
        message: String,
    },
}

impl Handle {
    /// All pods that wait at Permit, by uid. Upstream's `IterateOverWaitingPods`.
    pub fn waiting_pods(&self) -> impl Iterator<Item = &WaitingPod> {
        self.waiting.values()
    }

    /// The waiting pod of this uid. Upstream's `GetWaitingPod`.
    pub fn waiting_pod(&self, uid: &str) -> Option<&WaitingPod> {
        self.waiting.get(uid)
    }

    /// The plugin lets a pod go on that it held.
    pub fn allow(&self, uid: &Arc<str>, plugin: &'static str) {
        let uid = uid.clone();
        self.decisions
            .borrow_mut()
            .push(PermitDecision::Allow { uid, plugin });
    }

    /// The plugin gives a waiting pod back to the queue.
    pub fn reject(&self, uid: &Arc<str>, plugin: &'static str, message: impl Into<String>) {
        self.decisions.borrow_mut().push(PermitDecision::Reject {
            uid: uid.clone(),
            plugin,
            message: message.into(),
        });
    }

    /// The decisions since this was last asked.
    pub(crate) fn take_decisions(&self) -> Vec<PermitDecision> {
        self.decisions.take()
    }

    pub(crate) fn has_decisions(&self) -> bool {
        !self.decisions.borrow().is_empty()
    }

    pub(crate) fn insert(&mut self, pod: WaitingPod) {
        self.waiting.insert(pod.pod.uid.clone(), pod);
    }

    pub(crate) fn remove(&mut self, uid: &str) -> Option<WaitingPod> {
        self.waiting.remove(uid)
    }

    pub(crate) fn get_mut(&mut self, uid: &str) -> Option<&mut WaitingPod> {
        self.waiting.get_mut(uid)
    }
}
