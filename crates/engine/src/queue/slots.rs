//! Where waiting pods are kept.

use super::{PodId, QueuedPod};
use stowplan_base::Lookup;

/// The number of a slot; valid as long as its pod waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotId(u32);

impl SlotId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The part of the queue that a pod waits in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SubQueue {
    Active,
    Backoff,
    ErrorBackoff,
    /// The pool, in the group of this number.
    Pool(u32),
}

/// Every pod that waits, once, in whatever part of the queue.
///
/// The parts hold numbers of slots only: moving within a part moves no pod, and one look at the
/// name tells where a pod is. Slots are used again, so that a warm queue allocates nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<SlotId>,
    by_name: Lookup<PodId, SlotId>,
}

#[derive(Clone, Debug)]
struct Slot {
    /// `None` while the slot is free.
    pod: Option<QueuedPod>,
    sub_queue: SubQueue,
    /// The pod's position within its part.
    at: u32,
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// All pods that wait, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SubQueue, &QueuedPod)> {
        let slots = self.slots.iter();
        slots.filter_map(|slot| Some((slot.sub_queue, slot.pod.as_ref()?)))
    }

    pub(super) fn find(&self, id: PodId) -> Option<SlotId> {
        self.by_name.get(&id).copied()
    }

    pub(super) fn pod(&self, slot: SlotId) -> &QueuedPod {
        let pod = self.slots[slot.index()].pod.as_ref();
        pod.expect("slots of waiting pods are not free")
    }

    pub(super) fn pod_mut(&mut self, slot: SlotId) -> &mut QueuedPod {
        let pod = self.slots[slot.index()].pod.as_mut();
        pod.expect("slots of waiting pods are not free")
    }

    pub(super) fn sub_queue(&self, slot: SlotId) -> SubQueue {
        self.slots[slot.index()].sub_queue
    }

    /// The pod's position within its part.
    pub(super) fn position(&self, slot: SlotId) -> usize {
        self.slots[slot.index()].at as usize
    }

    /// The pod is at this position of its part now.
    pub(super) fn set_position(&mut self, slot: SlotId, at: usize) {
        self.slots[slot.index()].at = u32::try_from(at).expect("fewer than 2^32 pods");
    }

    /// Takes in a pod whose name does not wait yet. Its part has to give it a position.
    pub(super) fn insert(&mut self, pod: QueuedPod, sub_queue: SubQueue) -> SlotId {
        let id = pod.id();
        let new = Slot {
            pod: Some(pod),
            sub_queue,
            at: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot.index()] = new;
                slot
            }
            None => {
                self.slots.push(new);
                SlotId(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 pods"))
            }
        };
        let before = self.by_name.insert(id, slot);
        assert!(before.is_none(), "a name waits once");
        slot
    }

    /// Gives out a pod that its part has let go.
    pub(super) fn remove(&mut self, slot: SlotId) -> QueuedPod {
        let pod = self.slots[slot.index()].pod.take();
        let pod = pod.expect("slots of waiting pods are not free");
        self.by_name.remove(&pod.id());
        self.free.push(slot);
        pod
    }
}
