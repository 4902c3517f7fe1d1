//! A job queue as a state machine: time, randomness and ids come in as arguments, durable records and what is
//! to be told come out as effects. It knows no protocol, no file and no thread.
//!
//! [`Machine`] decides; each change of its state is a [`Record`], written to [`Out`] and applied by the same
//! function that applies it when the log is read again. So what a restart finds is what was there.
//!
//! **Invariant:** payloads are not here. A job in memory is at most 80 bytes and a place in its queue; its body is
//! in the log, at a [`Place`].

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bucket;
mod job;
mod line;
mod machine;
mod policy;
mod record;
mod wheel;
mod wire;

pub use job::{Place, State};
pub use line::{AGEING, Limits};
pub use machine::{
    Ack, BatchError, BatchSpec, BatchStatus, CallbackState, Delivery, Error, Failed, Fetched,
    Filter, JobView, Lease, Machine, NewJob, Out, PeriodicSpec, PeriodicView, QueueView, Settings,
    Totals, Track, TrackState, Who, WorkerState, WorkerView,
};
pub use policy::{Jitter, Policy, span};
pub use record::{FailureRecord, JobRecord, Outcome, Record, Unique, Until, Why};
pub use wire::BadRecord;
