//! A pod with what the queue knows of it.

use super::{PluginId, PluginIds};
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// What tells pods apart within the queue: (namespace, name).
pub type PodId = (Sym, Sym);

/// A pod with its history in the queue. Upstream's `QueuedPodInfo`.
#[derive(Clone, Debug)]
pub struct QueuedPod {
    /// The pod, in the version that is to be scheduled.
    pub pod: Arc<Pod>,
    /// When it entered the queue or failed last: the tie-breaker of the order.
    pub timestamp: Time,
    /// How often it was popped.
    pub attempts: u32,
    /// How often it was rejected.
    pub unschedulable_count: u32,
    /// How often it failed with an error since it was rejected last.
    pub consecutive_errors: u32,
    /// When it first entered the active queue.
    pub initial_attempt: Option<Time>,
    /// Whether the flush of leftovers woke it, rather than an event.
    pub flushed: bool,
    /// When the flush of leftovers last woke it.
    pub flush_timestamp: Option<Time>,
    /// The plugins that rejected it last, gating ones included.
    pub unschedulable_plugins: PluginIds,
    /// The plugins that left it waiting and will wake it themselves.
    pub pending_plugins: PluginIds,
    /// The PreEnqueue plugin that holds it back.
    pub gating_plugin: Option<PluginId>,
}

impl QueuedPod {
    /// A pod that is new to the queue.
    pub fn new(pod: Arc<Pod>, now: Time) -> Self {
        Self {
            pod,
            timestamp: now,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors: 0,
            initial_attempt: None,
            flushed: false,
            flush_timestamp: None,
            unschedulable_plugins: PluginIds::NONE,
            pending_plugins: PluginIds::NONE,
            gating_plugin: None,
        }
    }

    /// (namespace, name).
    pub fn id(&self) -> PodId {
        (self.pod.namespace, self.pod.name)
    }

    /// All plugins whose hints decide about waking it.
    pub fn rejectors(&self) -> PluginIds {
        self.unschedulable_plugins.union(self.pending_plugins)
    }

    /// Whether a PreEnqueue plugin holds it back.
    pub fn is_gated(&self) -> bool {
        self.gating_plugin.is_some()
    }

    /// Takes what an attempt came to. No plugin at all stands for an error.
    pub fn set_rejectors(&mut self, unschedulable: PluginIds, pending: PluginIds) {
        self.unschedulable_plugins = unschedulable;
        self.pending_plugins = pending;
        self.gating_plugin = None;
    }
}
