//! Pods that are being scheduled, and what happened meanwhile.

use crate::framework::ClusterEvent;
use crate::model::{Object, Pod};
use std::collections::VecDeque;
use std::sync::Arc;
use stowplan_base::Lookup;

/// An event with the objects it is about.
#[derive(Clone, Debug)]
pub struct InFlightEvent {
    /// The event.
    pub event: ClusterEvent,
    /// The object before; `None` if it is new.
    pub old: Option<Object>,
    /// The object after; `None` if it is gone.
    pub new: Option<Object>,
}

/// An entry of the list of pods in flight and events.
#[derive(Clone, Debug)]
pub enum InFlightEntry {
    /// The pod was popped here.
    Pod(Arc<Pod>),
    /// This happened while some pod was in flight.
    Event(InFlightEvent),
}

/// One shared list: a mark for each popped pod, and the events since the oldest of them.
///
/// A pod that fails is given the events after its mark. When a pod is done its mark goes, and with
/// it the events that no other pod in flight has to see.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    /// `None` where the mark of a pod was that is done.
    entries: VecDeque<Option<InFlightEntry>>,
    /// The number of the first entry; entries are numbered from the beginning of time.
    first: u64,
    /// The number of each pod's mark, by uid.
    marks: Lookup<Arc<str>, u64>,
}

impl InFlight {
    pub(super) fn contains(&self, uid: &str) -> bool {
        self.marks.contains(uid)
    }

    /// Marks a pod; returns `false` if it is in flight already.
    pub(super) fn start(&mut self, pod: Arc<Pod>) -> bool {
        let number = self.first + self.entries.len() as u64;
        if *self.marks.or_insert_with(pod.uid.clone(), || number) != number {
            return false;
        }
        self.entries.push_back(Some(InFlightEntry::Pod(pod)));
        true
    }

    /// Remembers an event if any pod is in flight.
    pub(super) fn remember(&mut self, event_in_flight: impl FnOnce() -> InFlightEvent) {
        if !self.marks.is_empty() {
            self.entries
                .push_back(Some(InFlightEntry::Event(event_in_flight())));
        }
    }

    /// The events since the pod was popped; `None` if it is not in flight.
    pub(super) fn events_since(&self, uid: &str) -> Option<impl Iterator<Item = &InFlightEvent>> {
        let at = usize::try_from(self.marks.get(uid)? - self.first).expect("marks are in the list");
        let after = self.entries.range(at + 1..).flatten();
        Some(after.filter_map(|entry| match entry {
            InFlightEntry::Pod(_) => None,
            InFlightEntry::Event(event_in_flight) => Some(event_in_flight),
        }))
    }

    /// The pod's attempt is over.
    #[inline]
    pub(super) fn done(&mut self, uid: &str) {
        if !self.marks.is_empty() {
            self.unmark(uid);
        }
    }

    fn unmark(&mut self, uid: &str) {
        let Some(number) = self.marks.remove(uid) else {
            return;
        };
        let at = usize::try_from(number - self.first).expect("marks are in the list");
        self.entries[at] = None;
        while let Some(entry) = self.entries.front() {
            if matches!(entry, Some(InFlightEntry::Pod(_))) {
                break;
            }
            self.entries.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &InFlightEntry> {
        self.entries.iter().flatten()
    }
}
