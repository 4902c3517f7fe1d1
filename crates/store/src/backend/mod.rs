//! Where writes are kept.

mod guard;
mod medium;
mod memory;
mod record;
mod redb;
mod unfinished;

pub use self::redb::Redb;
pub use memory::Memory;
pub use record::Record;

use crate::{Event, OpenError, Revision};
use std::io;
use std::sync::Arc;

/// The durable log under a store: one record per write, by revision. Used by one thread at a time.
pub trait Backend: Send + 'static {
    /// What to call it in errors: the file.
    fn name(&self) -> String;

    /// Reads everything. Called once, before anything is written.
    fn load(&mut self) -> Result<Loaded, OpenError>;

    /// Writes all of a batch or nothing, and returns when it is durable. After an error it is not
    /// called again before [`Backend::reopen`] was.
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError>;

    /// Begins anew after a failed write whose cause may be gone, and says what is there. Without it a
    /// failure is for good.
    fn reopen(&mut self) -> Result<Held, OpenError> {
        Err(OpenError::Io {
            file: self.name(),
            source: io::ErrorKind::Unsupported.into(),
        })
    }
}

/// How far a backend has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Held {
    /// The revision of the last write.
    pub revision: Revision,
    /// The oldest revision that can be read.
    pub compacted: Revision,
}

/// What a backend holds.
#[derive(Debug)]
pub struct Loaded {
    /// The oldest revision that can be read; [`Revision::FIRST`] if nothing was ever compacted.
    pub compacted: Revision,
    /// Oldest first: up to `compacted` only what is still current, after it every write.
    pub records: Vec<Record>,
}

/// What is written together.
#[derive(Debug)]
pub struct Batch<'a> {
    /// Writes to add, oldest first; each is newer than all that is there.
    pub append: &'a [Arc<Event>],
    /// Writes whose records go, because history is dropped.
    pub remove: &'a [Revision],
    /// The oldest revision that can be read from now on, if that changes.
    pub compacted: Option<Revision>,
}

/// Why a backend cannot write. The store stops writing, for good unless the cause may pass.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {file}")]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// Why.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl WriteError {
    /// In a few words, without the file's name.
    pub fn cause(&self) -> &'static str {
        match self.io() {
            Some(io::ErrorKind::StorageFull) => "the disk is full",
            Some(io::ErrorKind::QuotaExceeded) => "the disk quota is used up",
            _ => "the disk failed",
        }
    }

    /// Whether it may be possible to write again later.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self.io(),
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        )
    }

    fn io(&self) -> Option<io::ErrorKind> {
        let error = self.source.downcast_ref::<io::Error>();
        error.map(io::Error::kind)
    }
}
