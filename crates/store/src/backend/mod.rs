//! Where writes are kept.

mod guard;
mod memory;
mod record;
mod redb;
mod unfinished;

pub use self::redb::Redb;
pub use memory::Memory;
pub use record::Record;

use crate::{Event, OpenError, Revision};
use std::sync::Arc;

/// The durable log under a store: one record per write, by revision. Used by one thread at a time.
pub trait Backend: Send + 'static {
    /// What to call it in errors: the file.
    fn name(&self) -> String;

    /// Reads everything. Called once, before anything is written.
    fn load(&mut self) -> Result<Loaded, OpenError>;

    /// Writes all of a batch or nothing, and returns when it is durable. After an error it is not
    /// called again.
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError>;
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

/// Why a backend cannot write. The store stops writing for good.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {file}")]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// Why.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
