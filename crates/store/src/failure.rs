//! A write that failed, and the way back.

use crate::state::State;
use crate::store::Shared;
use crate::{Backend, Event, Held, Revision, WriteError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest pause between two looks whether it is possible to write again: what is there has to be
/// read for that.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Why nothing is written, what was to be written last, and when to look again.
pub(crate) struct Failure {
    pub(crate) error: Arc<WriteError>,
    events: Vec<Arc<Event>>,
    compacted: Option<Revision>,
    /// Not at all, if it is for good.
    again: Option<Instant>,
    pause: Duration,
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
            again: error.may_pass().then(|| Instant::now() + pause),
            error: Arc::new(error),
            events,
            compacted,
            pause,
        }
    }

    /// How long it is until it may be possible to write again; nothing, if it never is.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let again = self.again?;
        Some(again.saturating_duration_since(Instant::now()))
    }

    /// Opens the backend again if it is time to. If that works, and it is as it was left, everything
    /// goes on: with what was to be written last, if that is there.
    pub(crate) fn is_over(&mut self, backend: &mut dyn Backend, shared: &Shared) -> bool {
        if self.wait() != Some(Duration::ZERO) {
            return false;
        }
        let Ok(held) = backend.reopen() else {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            self.again = Some(Instant::now() + self.pause);
            return false;
        };
        let (before, after) = self.expected(&shared.read());
        if held == after && held != before {
            shared.publish(&self.events, self.compacted);
        } else if held != before {
            // Somebody else wrote to it.
            self.again = None;
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
