//! A store of keys and values in which every write has a revision.
//!
//! ```text
//!  commit ──▶ queue ──▶ writer thread: check preconditions, number the writes
//!                          │
//!                          ├─▶ Backend::write   one sync for all that was queued
//!                          ├─▶ State            now readers see it: map, history, channels
//!                          └─▶ answers, and a wake-up for the watches that it concerns
//!  get, range, count ◀── State
//!  watch             ◀── State, each at its own pace
//! ```
//!
//! - [`Store`] is the handle; [`Txn`] is what it commits; [`Watch`] follows a prefix.
//! - All that is current is in memory, and so is the history since the last compaction: reads never
//!   touch the disk. [`Backend`] is the durable log of it: [`Redb`] in a file, [`Memory`] nowhere.
//! - Each write of a transaction has a revision of its own, without gaps. So every event of a watch
//!   is a point to resume from, even between the events of one transaction.
//!
//! **Invariant:** nobody sees a write, or a conflict with it, before it is durable; after an
//! acknowledgement it survives kill and power loss.
//!
//! **Invariant:** a slow watch costs a cursor. It stalls nobody, holds no events back, and is told
//! [`Error::Compacted`] if what it has not seen yet is dropped.

#![deny(clippy::unwrap_used)]

mod backend;
mod channels;
mod decoded;
mod entry;
mod error;
mod event;
mod failure;
mod load;
mod range;
mod retention;
mod revision;
mod state;
mod store;
mod txn;
mod watch;
mod writer;

pub use backend::{Backend, Batch, Held, Loaded, Memory, Record, Redb, WriteError};
pub use entry::Entry;
pub use error::{CommitError, Conflict, Error, OpenError};
pub use event::{Event, EventKind};
pub use range::Page;
pub use retention::Retention;
pub use revision::Revision;
pub use store::{Options, Stats, Store};
pub use txn::{Committed, Expect, Txn};
pub use watch::{Seen, Watch};
