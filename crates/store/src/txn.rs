//! Transactions.

use crate::{CommitError, Conflict, Entry, Event, Revision};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What must hold of a key for a transaction to happen.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Expect {
    /// Nothing is asked.
    Any,
    /// The key must not exist.
    Absent,
    /// The key must exist.
    Present,
    /// The key must exist, and this write must have been its last.
    Revision(Revision),
}

impl Expect {
    pub(crate) fn holds(self, current: Option<&Arc<Entry>>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Present => current.is_some(),
            Self::Revision(revision) => current.is_some_and(|e| e.mod_revision == revision),
        }
    }
}

/// Puts and deletes that happen together or not at all, each with a precondition, and conditions on
/// other keys.
///
/// ```
/// # use stowplan_store::{Expect, Options, Store, Txn};
/// let store = Store::in_memory(Options::default());
/// let created = store.commit_blocking(Txn::new().put("a", "1", Expect::Absent)).unwrap();
/// let seen = Expect::Revision(created.revision);
/// store.commit_blocking(Txn::new().require("a", seen).put("b", "2", Expect::Any)).unwrap();
/// assert_eq!(store.count(b""), 2);
/// ```
#[derive(Debug, Default)]
pub struct Txn {
    pub(crate) conditions: Vec<(Bytes, Expect)>,
    pub(crate) writes: Vec<Write>,
}

#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) key: Bytes,
    pub(crate) expect: Expect,
    pub(crate) operation: Operation,
}

#[derive(Debug)]
pub(crate) enum Operation {
    Put(Bytes),
    Delete,
}

impl Txn {
    /// The longest key, in bytes.
    pub const KEY_MAX: usize = 4 << 10;
    /// The longest value, in bytes.
    pub const VALUE_MAX: usize = 256 << 20;

    /// A transaction that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a value, creating the key if need be.
    pub fn put(self, key: impl Into<Bytes>, value: impl Into<Bytes>, expect: Expect) -> Self {
        self.write(key.into(), expect, Operation::Put(value.into()))
    }

    /// Removes a key. If it is absent and nothing else is expected, that is no write.
    pub fn delete(self, key: impl Into<Bytes>, expect: Expect) -> Self {
        self.write(key.into(), expect, Operation::Delete)
    }

    /// Asks for something of a key without writing it. It is looked at before any write is made.
    pub fn require(mut self, key: impl Into<Bytes>, expect: Expect) -> Self {
        self.conditions.push((key.into(), expect));
        self
    }

    /// Whether it writes nothing and asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.conditions.is_empty()
    }

    fn write(mut self, key: Bytes, expect: Expect, operation: Operation) -> Self {
        self.writes.push(Write {
            key,
            expect,
            operation,
        });
        self
    }

    /// Whether it can be carried out at all.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        let mut keys = BTreeSet::new();
        for write in &self.writes {
            let too_large = write.key.len() > Self::KEY_MAX
                || matches!(&write.operation, Operation::Put(value) if value.len() > Self::VALUE_MAX);
            if too_large {
                return Err(CommitError::TooLarge);
            }
            if !keys.insert(&write.key) {
                return Err(CommitError::WrittenTwice);
            }
        }
        Ok(())
    }

    /// The first precondition that does not hold.
    pub(crate) fn conflict<'a>(
        &self,
        current: impl Fn(&[u8]) -> Option<&'a Arc<Entry>>,
    ) -> Option<Conflict> {
        let writes = self.writes.iter().map(|write| (&write.key, write.expect));
        let conditions = self.conditions.iter().map(|(key, expect)| (key, *expect));
        conditions.chain(writes).find_map(|(key, expected)| {
            let current = current(key);
            (!expected.holds(current)).then(|| Conflict {
                key: key.clone(),
                expected,
                current: current.cloned(),
            })
        })
    }

    /// Bytes that it carries, roughly.
    pub(crate) fn size(&self) -> usize {
        let size = |write: &Write| match &write.operation {
            Operation::Put(value) => write.key.len() + value.len(),
            Operation::Delete => write.key.len(),
        };
        self.writes.iter().map(size).sum()
    }
}

/// What a transaction did. It is durable, and readers see it.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The revision of its last write; that of the store, if it wrote nothing.
    pub revision: Revision,
    /// One event per write that took effect, in order: all puts, and deletes of what was there.
    pub events: Vec<Arc<Event>>,
}

impl Committed {
    /// The entry that its first effective write made or removed.
    pub fn entry(&self) -> Option<&Arc<Entry>> {
        self.events.first().map(|event| &event.entry)
    }
}
