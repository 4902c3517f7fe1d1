//! A store in memory that keeps everything: what the API runs on until the real one is wired in.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock, RwLock};
use tokio::sync::watch;

/// One value under a key, at one revision.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: Bytes,
    pub(crate) mod_revision: u64,
    decoded: OnceLock<Arc<serde_json::Value>>,
}

impl Entry {
    pub(crate) fn decoded(
        &self,
        make: impl FnOnce(&[u8]) -> serde_json::Value,
    ) -> Arc<serde_json::Value> {
        let value = self.decoded.get_or_init(|| Arc::new(make(&self.value)));
        Arc::clone(value)
    }
}

/// What has to be true of a key for a transaction to go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expect {
    Absent,
    Revision(u64),
}

/// One write of a transaction; no value removes.
pub(crate) struct Op {
    pub(crate) key: String,
    pub(crate) expect: Expect,
    pub(crate) value: Option<Bytes>,
}

/// A precondition that did not hold.
pub(crate) struct Conflict {
    /// Which operation of the transaction.
    pub(crate) index: usize,
}

/// Something that happened to a key.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    /// What is there now; `None` for a removal.
    pub(crate) entry: Option<Arc<Entry>>,
    pub(crate) previous: Option<Arc<Entry>>,
    pub(crate) key: String,
}

pub(crate) struct Page {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) revision: u64,
    pub(crate) remaining: usize,
}

#[derive(Default)]
struct State {
    revision: u64,
    current: BTreeMap<String, Arc<Entry>>,
    events: Vec<Event>,
}

pub(crate) struct Store {
    state: RwLock<State>,
    changed: watch::Sender<u64>,
}

impl Store {
    pub(crate) fn new() -> Self {
        // Revisions begin at 2, so that 1 is always in the past.
        let state = State {
            revision: 1,
            ..State::default()
        };
        Self {
            state: RwLock::new(state),
            changed: watch::Sender::new(1),
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.read().revision
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<Entry>> {
        self.read().current.get(key).cloned()
    }

    /// The entries under a prefix, at a revision, after a key, at most so many.
    pub(crate) fn range(
        &self,
        prefix: &str,
        at: Option<u64>,
        after: Option<&str>,
        limit: usize,
    ) -> Page {
        let state = self.read();
        let start = match after {
            Some(key) => Bound::Excluded(key.to_owned()),
            None => Bound::Included(prefix.to_owned()),
        };
        let old: BTreeMap<String, Arc<Entry>>;
        let map = match at {
            Some(at) if at < state.revision => {
                let mut map = BTreeMap::new();
                for event in state.events.iter().take_while(|e| e.revision <= at) {
                    match &event.entry {
                        Some(entry) => map.insert(event.key.clone(), Arc::clone(entry)),
                        None => map.remove(&event.key),
                    };
                }
                old = map;
                &old
            }
            _ => &state.current,
        };
        let mut found = map
            .range((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(_, entry)| Arc::clone(entry));
        let entries = match limit {
            0 => found.by_ref().collect(),
            limit => found.by_ref().take(limit).collect(),
        };
        Page {
            entries,
            remaining: found.count(),
            revision: at.unwrap_or(state.revision),
        }
    }

    #[allow(clippy::unused_async)] // the real one waits for the disk
    pub(crate) async fn commit(&self, ops: Vec<Op>) -> Result<u64, Conflict> {
        let mut state = self
            .state
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for (index, op) in ops.iter().enumerate() {
            let current = state.current.get(&op.key).map(|e| e.mod_revision);
            let holds = match op.expect {
                Expect::Absent => current.is_none(),
                Expect::Revision(revision) => current == Some(revision),
            };
            if !holds {
                return Err(Conflict { index });
            }
        }
        state.revision += 1;
        let revision = state.revision;
        for op in ops {
            let entry = op.value.map(|value| {
                Arc::new(Entry {
                    key: op.key.clone(),
                    value,
                    mod_revision: revision,
                    decoded: OnceLock::new(),
                })
            });
            let previous = match &entry {
                Some(entry) => state.current.insert(op.key.clone(), Arc::clone(entry)),
                None => state.current.remove(&op.key),
            };
            state.events.push(Event {
                revision,
                entry,
                previous,
                key: op.key,
            });
        }
        drop(state);
        self.changed.send_replace(revision);
        Ok(revision)
    }

    pub(crate) fn watch(&self, prefix: &str, after: u64) -> Watch {
        Watch {
            prefix: prefix.to_owned(),
            after,
            changed: self.changed.subscribe(),
        }
    }
}

/// A cursor over what happens under a prefix.
pub(crate) struct Watch {
    prefix: String,
    after: u64,
    changed: watch::Receiver<u64>,
}

impl Watch {
    /// Waits for the next events, at least one.
    pub(crate) async fn next(&mut self, store: &Store) -> Vec<Event> {
        loop {
            self.changed.borrow_and_update();
            let events: Vec<Event> = {
                let state = store.read();
                let start = state.events.partition_point(|e| e.revision <= self.after);
                let new = state.events[start..].iter();
                self.after = state.revision;
                new.filter(|e| e.key.starts_with(&self.prefix))
                    .cloned()
                    .collect()
            };
            if !events.is_empty() {
                return events;
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Up to which revision everything has been handed out.
    pub(crate) fn seen(&self) -> u64 {
        self.after
    }
}
