//! Runs controllers: what they watch, their queues, what they want written.
//!
//! ```text
//! API ──informers──▶ cache::Cluster ──handlers──▶ WorkQueue ──▶ Controller::sync ──▶ Plan
//!                        ▲                                                            │
//!                        └────────── answers ◀── API ◀── writes ◀── runner ◀──────────┘
//! ```
//!
//! A [`ControllerManager`] stands on one set of informers, so that a kind is watched once however many
//! controllers read it.

pub mod garbage_collector;
mod manager;
pub mod namespace;
mod pool;
pub mod resource_quota;
mod runner;

pub use manager::{ControllerManager, Settings, UnknownController, known};
use runner::Runner;
