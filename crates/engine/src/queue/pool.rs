//! Pods that were rejected or are held back, and wait for something to happen.

use super::{PluginIds, PodId, QueuedPod};
use std::collections::{BTreeMap, BTreeSet};

/// The unschedulable and the gated pods. Upstream's `unschedulablePods`.
///
/// Indexed by rejecting plugin, so that an event looks only at pods it may concern.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    pods: BTreeMap<PodId, QueuedPod>,
    /// By the plugin's number.
    rejected_by: Vec<BTreeSet<PodId>>,
}

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn get(&self, id: PodId) -> Option<&QueuedPod> {
        self.pods.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPod> {
        self.pods.values()
    }

    /// Changes a pod in place. Its rejecting plugins must stay as they are.
    pub(super) fn get_mut(&mut self, id: PodId) -> Option<&mut QueuedPod> {
        self.pods.get_mut(&id)
    }

    /// Adds a pod, in the place of the one of its name; returns whether there was none.
    pub(super) fn insert(&mut self, pod: QueuedPod) -> bool {
        let id = pod.id();
        let is_new = self.remove(id).is_none();
        for plugin in pod.rejectors().iter() {
            if self.rejected_by.len() <= plugin.index() {
                self.rejected_by
                    .resize_with(plugin.index() + 1, BTreeSet::new);
            }
            self.rejected_by[plugin.index()].insert(id);
        }
        self.pods.insert(id, pod);
        is_new
    }

    pub(super) fn remove(&mut self, id: PodId) -> Option<QueuedPod> {
        let pod = self.pods.remove(&id)?;
        for plugin in pod.rejectors().iter() {
            self.rejected_by[plugin.index()].remove(&id);
        }
        Some(pod)
    }

    /// The pods that any of these plugins rejected, in order of symbols.
    pub(super) fn rejected_by(&self, plugins: PluginIds) -> Vec<PodId> {
        let mut ids: Vec<_> = plugins
            .iter()
            .filter_map(|plugin| self.rejected_by.get(plugin.index()))
            .flatten()
            .copied()
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// All pods, in order of symbols.
    pub(super) fn ids(&self) -> Vec<PodId> {
        self.pods.keys().copied().collect()
    }
}
