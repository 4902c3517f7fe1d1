//! A binary heap of pods that can also be found by name.

use super::{PodId, QueuedPod};
use stowplan_base::Lookup;

/// Pods in heap order. The order is an argument, for it belongs to the profile; one heap must
/// always be given the same.
///
/// Sifts as Go's `container/heap` does, so that pods which compare equal come out in upstream's
/// order.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    pods: Vec<QueuedPod>,
    positions: Lookup<PodId, usize>,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    pub(super) fn contains(&self, id: PodId) -> bool {
        self.positions.contains(&id)
    }

    pub(super) fn peek(&self) -> Option<&QueuedPod> {
        self.pods.first()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPod> {
        self.pods.iter()
    }

    pub(super) fn get(&self, id: PodId) -> Option<&QueuedPod> {
        self.positions.get(&id).map(|at| &self.pods[*at])
    }

    /// Adds a pod, in the place of the one of its name if there is one.
    pub(super) fn insert(&mut self, pod: QueuedPod, less: impl Fn(&QueuedPod, &QueuedPod) -> bool) {
        let id = pod.id();
        let at = match self.positions.get(&id) {
            Some(at) => {
                self.pods[*at] = pod;
                *at
            }
            None => {
                self.pods.push(pod);
                self.positions.insert(id, self.pods.len() - 1);
                self.pods.len() - 1
            }
        };
        self.fix(at, &less);
    }

    /// Changes a pod in place; returns whether it was there.
    pub(super) fn update(
        &mut self,
        id: PodId,
        change: impl FnOnce(&mut QueuedPod),
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) -> bool {
        let Some(at) = self.positions.get(&id).copied() else {
            return false;
        };
        change(&mut self.pods[at]);
        self.fix(at, &less);
        true
    }

    pub(super) fn pop(
        &mut self,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) -> Option<QueuedPod> {
        let first = self.pods.first()?.id();
        self.remove(first, less)
    }

    pub(super) fn remove(
        &mut self,
        id: PodId,
        less: impl Fn(&QueuedPod, &QueuedPod) -> bool,
    ) -> Option<QueuedPod> {
        let at = self.positions.get(&id).copied()?;
        let last = self.pods.len() - 1;
        self.swap(at, last);
        let pod = self.pods.pop();
        self.positions.remove(&id);
        if at < last {
            self.fix(at, &less);
        }
        pod
    }

    fn swap(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        self.pods.swap(a, b);
        for at in [a, b] {
            self.positions.insert(self.pods[at].id(), at);
        }
    }

    fn fix(&mut self, at: usize, less: &impl Fn(&QueuedPod, &QueuedPod) -> bool) {
        if !self.sift_down(at, less) {
            self.sift_up(at, less);
        }
    }

    fn sift_up(&mut self, mut at: usize, less: &impl Fn(&QueuedPod, &QueuedPod) -> bool) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !less(&self.pods[at], &self.pods[parent]) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sift_down(&mut self, start: usize, less: &impl Fn(&QueuedPod, &QueuedPod) -> bool) -> bool {
        let mut at = start;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.pods.len() {
                break;
            }
            let right_is_less =
                right < self.pods.len() && less(&self.pods[right], &self.pods[left]);
            let child = if right_is_less { right } else { left };
            if !less(&self.pods[child], &self.pods[at]) {
                break;
            }
            self.swap(at, child);
            at = child;
        }
        at > start
    }
}
