//! The live scheduler: the engine, run against a Kubernetes API.
//!
//! ```text
//! API ──watches──▶ Message ──▶ engine loop (owns the Scheduler) ───▶ Work ──▶ requests ──▶ API
//!                     ▲                                                           │
//!                     └───────────────── outcomes ◀───────────────────────────────┘
//! ```
//!
//! - [`watch`](self) tasks follow every kind that the engine reads. Objects are converted as they
//!   arrive and dropped; only keys are kept, so that a list tells what is gone.
//! - One loop owns the engine, on a thread of its own or as a task. At each turn it takes messages in
//!   batches, lets time pass, makes decisions, and hands out work. It never waits for the API.
//! - Work is carried out by tasks, in order per pod, with a bound on requests at a time. What comes
//!   of it goes back to the engine as messages.
//!
//! Upstream's `cmd/kube-scheduler/app` and `pkg/scheduler/scheduler.go`.

mod clock;
mod effects;
mod engine;
mod extenders;
mod message;
mod observer;
mod permissions;
mod running;
pub mod server;
mod watch;

pub use observer::{Attempt, AttemptResult, BindFailed, Bound, NoObserver, Observer, Steps};
pub use permissions::{AllPermissions, Permission, Permissions};
pub use running::{DecisionReader, Running, Settings, StartError, start, start_as_task};
pub use stowplan_bridge::effective::effective;
