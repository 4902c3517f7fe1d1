//! Pods that were rejected or are held back, and wait for something to happen.

use super::PluginIds;
use super::QueuedPod;
use super::slots::{SlotId, Slots, SubQueue};
use stowplan_base::Lookup;

/// The unschedulable and the gated pods. Upstream's `unschedulablePods`.
///
/// Pods that the same plugins rejected are one group, so that an event passes over all pods that
/// it cannot concern at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    groups: Vec<Group>,
    by_rejectors: Lookup<PluginIds, u32>,
}

#[derive(Clone, Debug)]
struct Group {
    rejectors: PluginIds,
    pods: Vec<SlotId>,
}

impl Pool {
    /// Takes in a pod whose name does not wait yet.
    pub(super) fn insert(&mut self, slots: &mut Slots, pod: QueuedPod) {
        let group = self.group_of(pod.rejectors());
        let slot = slots.insert(pod, SubQueue::Pool(group));
        let pods = &mut self.groups[group as usize].pods;
        slots.set_position(slot, pods.len());
        pods.push(slot);
    }

    fn group_of(&mut self, rejectors: PluginIds) -> u32 {
        let groups = &mut self.groups;
        *self.by_rejectors.or_insert_with(rejectors, || {
            groups.push(Group {
                rejectors,
                pods: Vec::new(),
            });
            u32::try_from(groups.len() - 1).expect("fewer than 2^32 groups")
        })
    }

    /// Lets a pod of this group go.
    pub(super) fn remove(&mut self, slots: &mut Slots, slot: SlotId, group: u32) {
        let pods = &mut self.groups[group as usize].pods;
        let at = slots.position(slot);
        pods.swap_remove(at);
        if let Some(moved) = pods.get(at) {
            slots.set_position(*moved, at);
        }
    }

    /// All pods. Their order follows from what happened before, and means nothing.
    pub(super) fn iter(&self) -> impl Iterator<Item = SlotId> {
        self.groups.iter().flat_map(|group| &group.pods).copied()
    }

    /// The pods that any of these plugins rejected.
    pub(super) fn rejected_by(&self, plugins: PluginIds) -> impl Iterator<Item = SlotId> {
        self.groups
            .iter()
            .filter(move |group| group.rejectors.intersects(plugins))
            .flat_map(|group| &group.pods)
            .copied()
    }
}
