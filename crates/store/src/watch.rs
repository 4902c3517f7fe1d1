//! Following a prefix.

use crate::state::State;
use crate::store::Shared;
use crate::{Error, Event, Revision};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::Notify;

/// Follows the writes to keys with a prefix: in order, each once, without gaps.
///
/// It reads the shared history at its own pace. If that is too slow and events that it has not seen
/// are dropped, it gets [`Error::Compacted`], and so for good.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    notify: Arc<Notify>,
    prefix: Bytes,
    seen: Revision,
}

/// The next events of a watch.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Oldest first.
    pub events: Vec<Arc<Event>>,
    /// Every event of the prefix up to this revision has been given out, these included: a watch
    /// that starts after it goes on without a gap.
    pub revision: Revision,
}

/// The events that a channel lacks for a watch.
struct Older {
    events: Vec<Arc<Event>>,
    /// There are none of them after this.
    to: Revision,
}

impl Older {
    fn of(state: &State, prefix: &[u8], after: Revision) -> Self {
        let to = state.channels.complete_after(prefix, state.revision);
        let count = to.since(after);
        let all = state.history_after(after).take(count);
        Self {
            events: all
                .filter(|event| event.key().starts_with(prefix))
                .cloned()
                .collect(),
            to: to.max(after),
        }
    }
}

impl Watch {
    /// How many events are given out at once.
    const EVENTS_MAX: usize = 1024;
    /// How many bytes of values they may have, unless one alone has more.
    const BYTES_MAX: usize = 64 << 10;

    pub(crate) fn new(shared: Arc<Shared>, prefix: Bytes, after: Revision) -> Result<Self, Error> {
        // Others read meanwhile.
        let older = {
            let state = shared.read();
            state.readable(after)?;
            Older::of(&state, &prefix, after)
        };
        let notify = {
            let mut state = shared.write();
            state.readable(after)?;
            let state = &mut *state;
            // What came between.
            let newer = state.history.iter().skip(older.to.since(state.compacted));
            state
                .channels
                .join(&prefix, after, state.revision, older.events, newer)
        };
        Ok(Self {
            shared,
            notify,
            prefix,
            seen: after,
        })
    }

    /// Every event up to this revision has been given out.
    pub fn revision(&self) -> Revision {
        self.seen
    }

    /// Waits for events. May be cancelled without losing any.
    pub async fn next(&mut self) -> Result<Seen, Error> {
        let notify = self.notify.clone();
        loop {
            // Made before looking, so that what is published in between wakes it.
            let published = notify.notified();
            let seen = self.try_next()?;
            if !seen.events.is_empty() {
                return Ok(seen);
            }
            published.await;
        }
    }

    /// What has happened meanwhile, perhaps nothing. Even then the revision moves on: that is what a
    /// bookmark tells.
    pub fn try_next(&mut self) -> Result<Seen, Error> {
        let state = self.shared.read();
        let channel = state.channels.get(&self.prefix).ok_or(Error::Closed)?;
        if self.seen < channel.lost {
            return Err(Error::Compacted {
                requested: self.seen,
                compacted: state.compacted,
            });
        }
        let (events, all) = channel.after(self.seen, Self::EVENTS_MAX, Self::BYTES_MAX);
        if events.is_empty() && state.closed {
            return Err(Error::Closed);
        }
        let revision = match events.last() {
            Some(last) if !all => last.revision,
            _ => state.revision,
        };
        self.seen = revision;
        Ok(Seen { events, revision })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Freed without a lock.
        let gone = self.shared.write().channels.leave(&self.prefix);
        drop(gone);
    }
}
