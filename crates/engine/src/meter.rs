//! How long things take, by a clock that somebody else lends. No decision depends on it.

use crate::framework::{ClusterEvent, Hint};
use std::cell::{Cell, RefCell};
use stowplan_base::Sym;

/// One queueing hint in so many is timed: most take less than reading a clock.
const HINTS_PER_LAP: u32 = 16;

/// With so many laps to be told no further hint is timed: an event may concern every pod that waits.
const LAPS_MAX: usize = 1 << 14;

/// What took how long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lap {
    /// What.
    pub what: Timed,
    /// How long, in nanoseconds.
    pub nanos: u64,
}

/// Something that takes time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Timed {
    /// All plugins of an extension point, for one pod.
    Point {
        /// The extension point, as metrics name it.
        point: &'static str,
        /// What they came to, as upstream prints it.
        status: &'static str,
        /// `spec.schedulerName` of the pod.
        profile: Sym,
    },
    /// A change of an object, as the queue was told of it.
    Event(ClusterEvent),
    /// A plugin was asked whether a change helps a pod.
    Hint {
        /// The plugin.
        plugin: &'static str,
        /// What happened.
        event: ClusterEvent,
        /// What it answered, as metrics name it.
        hint: &'static str,
    },
}

/// Takes the time, if somebody lent it a clock.
#[derive(Default)]
pub(crate) struct Meter {
    /// Tells nanoseconds since some moment.
    clock: Option<fn() -> u64>,
    laps: RefCell<Vec<Lap>>,
    /// Since when the present change of an object is being taken in.
    change: Cell<Option<u64>>,
    hints: Cell<u32>,
}

/// When something began; 0 if there is no clock.
pub(crate) type Start = u64;

impl Meter {
    pub(crate) fn lend(&mut self, clock: fn() -> u64) {
        self.clock = Some(clock);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.clock.is_some()
    }

    pub(crate) fn start(&self) -> Start {
        self.clock.map_or(0, |clock| clock())
    }

    /// All plugins of this extension point were run since then; returns when that was over.
    pub(crate) fn point(
        &self,
        start: Start,
        point: &'static str,
        status: &'static str,
        profile: Sym,
    ) -> Start {
        self.points(start, &[(point, status)], profile)
    }

    /// These extension points were passed since then in one step: each is told an equal part of its
    /// time.
    pub(crate) fn points(
        &self,
        start: Start,
        points: &[(&'static str, &'static str)],
        profile: Sym,
    ) -> Start {
        let now = self.start();
        self.points_until(start, now, points, profile);
        now
    }

    /// As [`points`](Self::points), where that was over at `end`.
    pub(crate) fn points_until(
        &self,
        start: Start,
        end: Start,
        points: &[(&'static str, &'static str)],
        profile: Sym,
    ) {
        if self.clock.is_none() {
            return;
        }
        let nanos = end.saturating_sub(start) / points.len().max(1) as u64;
        let laps = points.iter().map(|&(point, status)| Lap {
            what: Timed::Point {
                point,
                status,
                profile,
            },
            nanos,
        });
        self.laps.borrow_mut().extend(laps);
    }

    /// A change of an object is about to be taken in.
    pub(crate) fn change_begins(&self) {
        self.change.set(self.clock.map(|clock| clock()));
    }

    pub(crate) fn change_ends(&self) {
        self.change.set(None);
    }

    /// The queue was told of an event, if it comes from a change of an object: the first of several
    /// is told what the change itself took.
    pub(crate) fn event(&self, event: ClusterEvent) {
        if let (Some(clock), Some(start)) = (self.clock, self.change.get()) {
            let now = clock();
            self.laps.borrow_mut().push(Lap {
                what: Timed::Event(event),
                nanos: now.saturating_sub(start),
            });
            self.change.set(Some(now));
        }
    }

    /// A plugin is about to be asked for a hint, which may be timed.
    pub(crate) fn hint_begins(&self) -> Option<Start> {
        let clock = self.clock?;
        let asked = self.hints.get();
        self.hints.set(asked.wrapping_add(1));
        asked.is_multiple_of(HINTS_PER_LAP).then(clock)
    }

    /// It answered.
    pub(crate) fn hint(
        &self,
        start: Start,
        plugin: &'static str,
        event: ClusterEvent,
        hint: &Hint,
    ) {
        let hint = match hint {
            Hint::Queue => "Queue",
            Hint::Skip => "QueueSkip",
            Hint::Error(_) => "Error",
        };
        let nanos = self.start().saturating_sub(start);
        let what = Timed::Hint {
            plugin,
            event,
            hint,
        };
        let mut laps = self.laps.borrow_mut();
        if laps.len() < LAPS_MAX {
            laps.push(Lap { what, nanos });
        }
    }

    /// What was timed since this was last asked, by exchange for a buffer; what that held is dropped.
    pub(crate) fn swap(&self, buffer: &mut Vec<Lap>) {
        buffer.clear();
        std::mem::swap(&mut *self.laps.borrow_mut(), buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::{Action, EventResource};

    /// A clock that goes on by a microsecond whenever it is read.
    fn clock() -> u64 {
        thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });
        NOW.with(|now| {
            now.set(now.get() + 1000);
            now.get()
        })
    }

    fn laps(meter: &Meter) -> Vec<Lap> {
        let mut laps = Vec::new();
        meter.swap(&mut laps);
        laps
    }

    #[test]
    fn without_a_clock_nothing_is_kept() {
        let meter = Meter::default();
        meter.point(meter.start(), "Filter", "Success", Sym::default());
        meter.change_begins();
        meter.event(ClusterEvent::ASSIGNED_POD_ADD);
        assert_eq!(meter.hint_begins(), None);
        assert!(laps(&meter).is_empty());
    }

    #[test]
    fn points_that_are_one_step_share_its_time() {
        let mut meter = Meter::default();
        meter.lend(clock);
        let points = [("PreFilter", "Success"), ("Filter", "Success")];
        meter.points(meter.start(), &points, Sym::default());
        let nanos: Vec<_> = laps(&meter).iter().map(|lap| lap.nanos).collect();
        assert_eq!(nanos, [500, 500]);
    }

    #[test]
    fn only_changes_of_objects_are_events() {
        let mut meter = Meter::default();
        meter.lend(clock);
        let event = ClusterEvent::new(EventResource::Node, Action::ADD);
        meter.event(event);
        meter.change_begins();
        meter.event(event);
        meter.change_ends();
        meter.event(event);
        let what = Timed::Event(event);
        assert_eq!(laps(&meter), [Lap { what, nanos: 1000 }]);
    }
}
