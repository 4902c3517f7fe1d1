//! From records to state.

use crate::decoded::{Cache, Slot};
use crate::state::State;
use crate::{Backend, Entry, Event, EventKind, OpenError, Record};
use std::sync::Arc;

/// Reads everything that a backend holds, and proves that it makes sense.
pub(crate) fn load(backend: &mut dyn Backend, cache: Arc<Cache>) -> Result<State, OpenError> {
    let loaded = backend.load()?;
    let mut state = State::new(loaded.compacted, cache);
    for record in loaded.records {
        let revision = record.revision;
        let taken = if revision <= loaded.compacted {
            take_base(&mut state, record)
        } else {
            take_history(&mut state, record)
        };
        taken.map_err(|problem| OpenError::Damaged {
            file: backend.name(),
            problem: format!("the record of revision {revision} {problem}"),
        })?;
    }
    Ok(state)
}

/// A write that is still current after the history before it was dropped.
fn take_base(state: &mut State, record: Record) -> Result<(), &'static str> {
    if record.kind != EventKind::Put {
        return Err("says nothing that should have been kept");
    }
    if record.create_revision > record.revision || record.version == 0 {
        return Err("cannot be true");
    }
    let entry = entry(record, &state.cache);
    match state.insert(entry) {
        Some(_) => Err("is about a key that has an older one"),
        None => Ok(()),
    }
}

/// A write of the history: each follows from what was before.
fn take_history(state: &mut State, record: Record) -> Result<(), &'static str> {
    if record.revision != state.revision.next() {
        return Err("does not follow the one before");
    }
    let previous = state.current.get(&record.key).cloned();
    let event = match record.kind {
        EventKind::Put => {
            let version = previous.as_ref().map_or(1, |p| p.version + 1);
            let created = previous
                .as_ref()
                .map_or(record.revision, |p| p.create_revision);
            if (record.version, record.create_revision) != (version, created) {
                return Err("does not follow from what was under its key");
            }
            Event::put(entry(record, &state.cache), previous)
        }
        EventKind::Delete => {
            let gone = previous.ok_or("deletes what was not there")?;
            Event::delete(record.revision, gone)
        }
    };
    state.apply(&Arc::new(event));
    Ok(())
}

fn entry(record: Record, cache: &Arc<Cache>) -> Arc<Entry> {
    Arc::new(Entry {
        key: record.key,
        value: record.value,
        create_revision: record.create_revision,
        mod_revision: record.revision,
        version: record.version,
        slot: Slot::new(cache),
    })
}
