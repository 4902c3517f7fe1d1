//! Forgetting names: pods and what belongs to them come and go for as long as the scheduler runs.

use super::binding_cycle::mark_names;
use super::{Binding, Scheduler};
use crate::framework::Preemption;
use crate::queue::InFlightEntry;
use std::hash::Hash;
use stowplan_base::{Marks, Sym};

/// Fewer names than this are not worth the trouble.
const FEW: usize = 1 << 18;

/// How many names there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweeps {
    /// So many symbols are for good: those of the profiles.
    permanent: usize,
    /// How many names there may be before the next sweep.
    most: usize,
}

impl Sweeps {
    pub(super) fn new(permanent: usize) -> Self {
        Self {
            permanent,
            most: FEW,
        }
    }
}

impl Scheduler {
    /// Whether there are so many names that most of them may be of things long gone.
    pub fn has_many_names(&self) -> bool {
        self.cluster.names.len() > self.sweeps.most
    }

    /// Forgets the names of things that are gone. `others` marks those that somebody else holds, by
    /// hashing their symbols.
    ///
    /// What is kept about pods that are alike goes, too, and no past can be told any more: this is for
    /// [now and then](Self::has_many_names). Nothing is forgotten while a plugin holds a pod at Permit,
    /// or effects are yet to be taken.
    pub fn sweep_names(&mut self, others: impl FnOnce(&mut Marks)) {
        if self.underway.handle.waiting_pods().next().is_some() || !self.effects.is_empty() {
            return;
        }
        let mut marks = self.cluster.names.marks(self.sweeps.permanent);
        self.cluster.mark_names(&mut marks);
        self.mark_own_names(&mut marks);
        others(&mut marks);
        self.cluster.sweep_names(&marks);
        for classes in self.classes.iter_mut().flatten() {
            classes.forget_all();
        }
        self.top_nodes.iter_mut().for_each(|last| last.clear(0));
        self.sweeps.most = FEW.max(self.cluster.names.len() * 2);
    }

    fn mark_own_names(&self, marks: &mut Marks) {
        for (_, queued) in self.queue.waiting() {
            queued.pod.hash(marks);
        }
        for entry in self.queue.in_flight() {
            match entry {
                InFlightEntry::Pod(pod) => pod.hash(marks),
                InFlightEntry::Event(event_in_flight) => {
                    (&event_in_flight.old, &event_in_flight.new).hash(marks)
                }
            }
        }
        for (node, pods) in self.underway.nominator.iter() {
            (node, pods).hash(marks);
        }
        self.underway
            .preempting
            .last_victims()
            .for_each(|victim: (Sym, Sym)| victim.hash(marks));
        for (_, queued) in self.attempts.iter() {
            queued.pod.hash(marks);
        }
        for (_, binding) in self.bindings.iter() {
            let Binding { queued, node } = binding;
            (&queued.pod, node).hash(marks);
        }
        for (_, reserved) in self.reserved.iter() {
            reserved.hash(marks);
        }
        for (_, steps) in self.steps.iter() {
            mark_names(steps, marks);
        }
        self.waits.mark_names(marks);
        for (_, evictions) in self.evictions.iter() {
            let Preemption {
                node,
                evict,
                denominate,
                ..
            } = &evictions.preemption;
            (&evictions.pod, node, evict, denominate).hash(marks);
        }
    }
}
