//! When which pod has to be looked at.

use std::collections::BTreeSet;
use stowplan_base::Time;

/// One queue for all pods.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Time, u32)>);

impl Timers {
    /// Moves a pod's timer.
    pub(super) fn set(&mut self, id: u32, timer: &mut Option<Time>, at: Option<Time>) {
        if *timer == at {
            return;
        }
        if let Some(before) = timer.take() {
            self.0.remove(&(before, id));
        }
        if let Some(at) = at {
            self.0.insert((at, id));
        }
        *timer = at;
    }

    /// A pod whose time has come; its timer is still noted with it.
    pub(super) fn pop(&mut self, now: Time) -> Option<u32> {
        let (at, id) = *self.0.first()?;
        if at > now {
            return None;
        }
        self.0.pop_first();
        Some(id)
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }
}
