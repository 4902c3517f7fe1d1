//! The job server: the queue of `stowplan-jobs` with a log, Faktory's protocol, and one thread that owns both.

pub mod bench;
mod client;
mod clock;
mod fwp;
mod json;
pub mod log;
mod metrics;
mod server;

pub use client::{Client, Reply};
pub use fwp::Password;
pub use metrics::Metrics;
pub use server::{ServeError, ServeSettings, Server, Stop};
pub use stowplan_jobs::{Settings, span};
