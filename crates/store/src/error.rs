//! What can go wrong.

use crate::{Entry, Expect, Revision, WriteError};
use bytes::Bytes;
use std::sync::Arc;

/// Why a read or a watch has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for is no longer kept.
    #[error("revision {requested} is too old: the oldest that is kept is {compacted}")]
    Compacted {
        /// The revision that was asked for, or up to which a watch had come.
        requested: Revision,
        /// The oldest that can be asked for.
        compacted: Revision,
    },
    /// The store is not there yet.
    #[error("revision {requested} is in the future: the store is at {current}")]
    Future {
        /// The revision that was asked for.
        requested: Revision,
        /// The revision of the store.
        current: Revision,
    },
    /// The store is closed; there will be no more events.
    #[error("the store is closed")]
    Closed,
}

/// Why a transaction or a compaction was not carried out.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// A precondition does not hold. Nothing was written.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// Two writes of one transaction have the same key. Nothing was written.
    #[error("a transaction writes the same key twice")]
    WrittenTwice,
    /// A key or a value is longer than allowed. Nothing was written.
    #[error("a key or a value is too large")]
    TooLarge,
    /// The store holds as much as it may ([`Options::bytes_max`](crate::Options::bytes_max)). Nothing was
    /// written.
    #[error("the store is full: it holds {bytes} of {max} bytes; delete objects to make room")]
    Full {
        /// What it holds.
        bytes: usize,
        /// What it may hold.
        max: usize,
    },
    /// The revision to compact to is in the future.
    #[error("revision {requested} is in the future: the store is at {current}")]
    Future {
        /// The revision that was asked for.
        requested: Revision,
        /// The revision of the store.
        current: Revision,
    },
    /// The disk is full or failed. Whether the write is there shows when the store is opened again;
    /// until then nothing more is written. A full disk is looked at again by itself. Reads go on.
    #[error("the store cannot write: {}", .0.cause())]
    Storage(#[source] Arc<WriteError>),
    /// The store was closed before there was an answer: whether the write happened is unknown.
    #[error("the store is closed")]
    Closed,
}

/// The first precondition that did not hold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{:?} is expected to be {expected:?}, but is at {}", String::from_utf8_lossy(.key), at(.current))]
pub struct Conflict {
    /// Of which key.
    pub key: Bytes,
    /// What was asked.
    pub expected: Expect,
    /// What is there.
    pub current: Option<Arc<Entry>>,
}

fn at(current: &Option<Arc<Entry>>) -> String {
    match current {
        Some(entry) => format!("revision {}", entry.mod_revision),
        None => "none".to_owned(),
    }
}

impl From<Conflict> for CommitError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(Box::new(conflict))
    }
}

/// Why a store cannot be opened. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody has it open.
    #[error("{file} is in use by another process: only one may open it")]
    InUse {
        /// The file.
        file: String,
    },
    /// It was written by a newer version, or is none of ours.
    #[error("{file} has store format {found}; this version reads format {known}")]
    Format {
        /// The file.
        file: String,
        /// The format in the file.
        found: u64,
        /// The format that is understood.
        known: u64,
    },
    /// It is something else, not a store.
    #[error("{file} is not a store: {problem}")]
    Foreign {
        /// The file.
        file: String,
        /// What shows it.
        problem: String,
    },
    /// Its content makes no sense.
    #[error("{file} is damaged: {problem}")]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// It cannot be read or written.
    #[error("cannot open {file}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
