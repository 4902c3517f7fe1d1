//! A binary heap of waiting pods.

use super::QueuedPod;
use super::slots::{SlotId, Slots};

/// Slots of pods in heap order. The order is an argument, for it belongs to the profile; when it
/// changes, the heap has to be rebuilt.
///
/// Sifts as Go's `container/heap` does, so that pods which compare equal come out in upstream's
/// order.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap(Vec<SlotId>);

impl Heap {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first pod.
    pub(super) fn peek(&self) -> Option<SlotId> {
        self.0.first().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = SlotId> {
        self.0.iter().copied()
    }

    /// Adds a pod.
    pub(super) fn push(
        &mut self,
        slots: &mut Slots,
        slot: SlotId,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        self.0.push(slot);
        self.sift_up(slots, self.0.len() - 1, &less);
    }

    /// Takes a pod out.
    pub(super) fn remove(
        &mut self,
        slots: &mut Slots,
        slot: SlotId,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        let at = slots.position(slot);
        self.0.swap_remove(at);
        if at < self.0.len() {
            self.restore(slots, at, &less);
        }
    }

    /// A pod has changed.
    pub(super) fn fix(
        &mut self,
        slots: &mut Slots,
        slot: SlotId,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        self.restore(slots, slots.position(slot), &less);
    }

    /// The order itself has changed.
    pub(super) fn rebuild(
        &mut self,
        slots: &mut Slots,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        for at in (0..self.0.len() / 2).rev() {
            self.sift_down(slots, at, &less);
        }
    }

    fn restore(
        &mut self,
        slots: &mut Slots,
        at: usize,
        less: &impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        if !self.sift_down(slots, at, less) {
            self.sift_up(slots, at, less);
        }
    }

    /// Lets the pod at a position rise, and notes where it ends up.
    fn sift_up(
        &mut self,
        slots: &mut Slots,
        mut at: usize,
        less: &impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) {
        let slot = self.0[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !less(slots.pod(slot), slots.pod(self.0[parent])) {
                break;
            }
            self.set(slots, at, self.0[parent]);
            at = parent;
        }
        self.set(slots, at, slot);
    }

    /// Lets the pod at a position sink; returns whether it did.
    fn sift_down(
        &mut self,
        slots: &mut Slots,
        start: usize,
        less: &impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) -> bool {
        let slot = self.0[start];
        let mut at = start;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.0.len() {
                break;
            }
            let right_is_less =
                right < self.0.len() && less(slots.pod(self.0[right]), slots.pod(self.0[left]));
            let child = if right_is_less { right } else { left };
            if !less(slots.pod(self.0[child]), slots.pod(slot)) {
                break;
            }
            self.set(slots, at, self.0[child]);
            at = child;
        }
        self.set(slots, at, slot);
        at > start
    }

    fn set(&mut self, slots: &mut Slots, at: usize, slot: SlotId) {
        self.0[at] = slot;
        slots.set_position(slot, at);
    }
}
