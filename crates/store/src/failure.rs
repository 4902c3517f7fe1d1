//! A write that failed, and the way back.

use crate::state::State;
use crate::store::Shared;
use crate::{Backend, Event, Held, Revision, WriteError};
use std::sync::Arc;
use std::time::Duration;
use stowplan_env::stopwatch_ns;

/// The longest pause between two looks whether it is possible to write again: what is there has to be
/// read for that.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Why nothing is written, what was to be written last, and when to look again.
pub(crate) struct Failure {
    pub(crate) error: Arc<WriteError>,
    events: Vec<Arc<Event>>,
    compacted: Option<Revision>,
    /// By the stopwatch; not at all, if it is for good.
    again_ns: Option<u64>,
    pause: Duration,
}

/// The time after a pause. Disks know no other time than the machine's.
fn after(pause: Duration) -> u64 {
    let nanos = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
    stopwatch_ns().saturating_add(nanos)
}

impl Failure {
    /// Looks again after a pause, if the cause may pass.
    pub(crate) fn new(
        error: WriteError,
        events: Vec<Arc<Event>>,
        compacted: Option<Revision>,
        pause: Duration,
    ) -> Self {
        Self {
            again_ns: error.may_pass().then(|| after(pause)),
            error: Arc::new(error),
            events,
            compacted,
            pause,
        }
    }

    /// How long it is until it may be possible to write again; nothing, if it never is.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let again = self.again_ns?;
        Some(Duration::from_nanos(again.saturating_sub(stopwatch_ns())))
    }

    /// Opens the backend again if it is time to. If that works, and it is as it was left, everything
    /// goes on: with what was to be written last, if that is there.
    pub(crate) fn is_over(&mut self, backend: &mut dyn Backend, shared: &Shared) -> bool {
        if self.wait() != Some(Duration::ZERO) {
            return false;
        }
        let Ok(held) = backend.reopen() else {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            self.again_ns = Some(after(self.pause));
            return false;
        };
        let (before, after) = self.expected(&shared.read());
        if held == after && held != before {
            shared.publish(&self.events, self.compacted);
        } else if held != before {
            // Somebody else wrote to it.
            self.again_ns = None;
            return false;
        }
        true
    }

    /// What there is without the last batch, and with it.
    fn expected(&self, state: &State) -> (Held, Held) {
        let before = Held {
            revision: state.revision,
            compacted: state.compacted,
        };
        let after = Held {
            revision: self.events.last().map_or(before.revision, |e| e.revision),
            compacted: self.compacted.unwrap_or(before.compacted),
        };
        (before, after)
    }
}
