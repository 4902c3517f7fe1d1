//! What watches are told.

use crate::Revision;
use crate::entry::Entry;
use bytes::Bytes;
use std::sync::Arc;

/// What a write did to its key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EventKind {
    /// It was created or changed.
    Put,
    /// It was deleted.
    Delete,
}

/// One write that took effect. Shared by the history and all watches.
#[derive(Debug)]
pub struct Event {
    /// The revision of this write.
    pub revision: Revision,
    /// Put or delete.
    pub kind: EventKind,
    /// The new entry of a put; the entry that a delete removed.
    pub entry: Arc<Entry>,
    /// What was there before; nothing if the key was created.
    pub previous: Option<Arc<Entry>>,
}

impl Event {
    pub(crate) fn put(entry: Arc<Entry>, previous: Option<Arc<Entry>>) -> Self {
        Self {
            revision: entry.mod_revision,
            kind: EventKind::Put,
            entry,
            previous,
        }
    }

    pub(crate) fn delete(revision: Revision, gone: Arc<Entry>) -> Self {
        Self {
            revision,
            kind: EventKind::Delete,
            entry: gone.clone(),
            previous: Some(gone),
        }
    }

    /// The key that was written.
    pub fn key(&self) -> &Bytes {
        &self.entry.key
    }

    /// Whether the key came into being.
    pub fn is_create(&self) -> bool {
        self.previous.is_none()
    }

    /// What is under the key from this revision on.
    pub fn current(&self) -> Option<&Arc<Entry>> {
        match self.kind {
            EventKind::Put => Some(&self.entry),
            EventKind::Delete => None,
        }
    }

    /// Bytes that the history holds on to for its sake, roughly: the version that it replaced.
    pub(crate) fn size(&self) -> usize {
        const OVERHEAD: usize = 120;
        OVERHEAD + self.previous.as_ref().map_or(0, |previous| previous.size())
    }
}
