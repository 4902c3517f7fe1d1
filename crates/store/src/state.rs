//! What readers see: only what is durable.

use crate::channels::Channels;
use crate::decoded::Cache;
use crate::{Entry, Error, Event, Retention, Revision};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// The current entries, the history, and the channels that watches read from. Only the writer
/// changes it, in steps that each leave it consistent.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    /// The oldest revision that can be read.
    pub(crate) compacted: Revision,
    pub(crate) current: BTreeMap<Bytes, Arc<Entry>>,
    /// What the current entries take up, roughly.
    pub(crate) current_bytes: usize,
    /// Every write after `compacted`, without gaps: `history[i]` has revision `compacted + 1 + i`.
    pub(crate) history: VecDeque<Arc<Event>>,
    pub(crate) history_bytes: usize,
    pub(crate) channels: Channels,
    /// Of the entries.
    pub(crate) cache: Arc<Cache>,
    pub(crate) closed: bool,
}

/// A piece of history to drop.
#[derive(Debug)]
pub(crate) struct Trim {
    /// The oldest revision that can be read afterwards.
    pub(crate) to: Revision,
    /// Writes whose records nobody needs any more.
    pub(crate) remove: Vec<Revision>,
}

impl State {
    pub(crate) fn new(compacted: Revision, cache: Arc<Cache>) -> Self {
        Self {
            revision: compacted,
            compacted,
            current: BTreeMap::new(),
            current_bytes: 0,
            history: VecDeque::new(),
            history_bytes: 0,
            channels: Channels::default(),
            cache,
            closed: false,
        }
    }

    /// Takes in the next writes. Returns whom to wake.
    pub(crate) fn publish(&mut self, events: &[Arc<Event>]) -> Vec<Arc<Notify>> {
        let mut wake = Vec::new();
        let before = self.revision;
        for event in events {
            self.apply(event);
            self.channels.push(event, before, &mut wake);
        }
        wake
    }

    /// Takes in the next write, but for the channels.
    pub(crate) fn apply(&mut self, event: &Arc<Event>) {
        debug_assert_eq!(event.revision, self.revision.next());
        let replaced = match event.current() {
            Some(entry) => self.insert(entry.clone()),
            None => self.current.remove(event.key()),
        };
        self.current_bytes -= replaced.map_or(0, |entry| entry.size());
        self.revision = event.revision;
        self.history_bytes += event.size();
        self.history.push_back(event.clone());
    }

    /// Makes an entry the current one of its key. Returns the one before, whose bytes still count.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) -> Option<Arc<Entry>> {
        self.current_bytes += entry.size();
        self.current.insert(entry.key.clone(), entry)
    }

    /// The writes after a revision that is not compacted, oldest first.
    pub(crate) fn history_after(&self, revision: Revision) -> impl Iterator<Item = &Arc<Event>> {
        self.history.iter().skip(revision.since(self.compacted))
    }

    /// Whether the state at a revision can still be told.
    pub(crate) fn readable(&self, requested: Revision) -> Result<(), Error> {
        if requested > self.revision {
            let current = self.revision;
            return Err(Error::Future { requested, current });
        }
        if requested < self.compacted {
            let compacted = self.compacted;
            return Err(Error::Compacted {
                requested,
                compacted,
            });
        }
        Ok(())
    }

    /// How far history should be dropped of its own accord.
    pub(crate) fn overdue(&self, retention: Retention) -> Revision {
        /// Dropping one write at a time would touch the disk more often.
        const PIECE: usize = 256;
        let many = self.history.len() > retention.revisions.saturating_add(PIECE);
        let large = self.history_bytes > retention.bytes;
        if !many && !large {
            return self.compacted;
        }
        let mut kept = self.history.len();
        let mut bytes = self.history_bytes;
        let bytes_wanted = retention.bytes - retention.bytes / 8;
        let mut to = self.compacted;
        for event in &self.history {
            if kept <= retention.revisions && (!large || bytes <= bytes_wanted) {
                break;
            }
            kept -= 1;
            bytes -= event.size();
            to = event.revision;
        }
        to
    }

    /// The next piece of history to drop on the way to a revision.
    pub(crate) fn plan_trim(&self, to: Revision) -> Option<Trim> {
        /// So that writers do not wait long for it.
        const PIECE_MAX: usize = 2048;
        let mut trim = Trim {
            to: self.compacted,
            remove: Vec::new(),
        };
        let due = to.min(self.revision).since(self.compacted);
        for event in self.history.iter().take(due.min(PIECE_MAX)) {
            trim.to = event.revision;
            trim.remove.extend(
                event
                    .previous
                    .as_ref()
                    .map(|previous| previous.mod_revision),
            );
            if event.current().is_none() {
                trim.remove.push(event.revision);
            }
        }
        (trim.to > self.compacted).then_some(trim)
    }

    /// Drops history. Returns what it held, to be freed without a lock.
    pub(crate) fn trim(&mut self, to: Revision) -> Vec<Arc<Event>> {
        let count = to.since(self.compacted).min(self.history.len());
        let dropped: Vec<_> = self.history.drain(..count).collect();
        self.history_bytes -= dropped.iter().map(|event| event.size()).sum::<usize>();
        self.compacted = to;
        self.channels.trim(to);
        dropped
    }
}
