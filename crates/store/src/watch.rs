//! Following a prefix.

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

impl Watch {
    /// How many events are given out at once.
    const EVENTS_MAX: usize = 1024;
    /// How many bytes of values they may have, unless one alone has more.
    const BYTES_MAX: usize = 64 << 10;

    pub(crate) fn new(shared: Arc<Shared>, prefix: Bytes, after: Revision) -> Result<Self, Error> {
        let notify = {
            let mut state = shared.write();
            state.readable(after)?;
            let state = &mut *state;
            let history = state.history.iter().skip(after.since(state.compacted));
            state.channels.join(&prefix, after, state.revision, history)
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
        self.shared.write().channels.leave(&self.prefix);
    }
}
