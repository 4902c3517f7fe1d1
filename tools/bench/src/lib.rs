//! Benchmarks: scheduler_perf's workloads, and some of our own, on the engine alone; and the API
//! server under load. `stowplan bench` prints what they come to.
//!
//! ```text
//! workloads ──▶ Stage (run) ──▶ Drive ──▶ the engine
//! (as data)      │  ▲            │ Meter: what each call costs, and for whom it was
//!                ▼  │            ▼
//!      Maker: objects        Report
//! ```

mod churn;
mod drive;
mod machine;
mod many_templates;
mod meter;
mod objects;
mod one_of_a_kind;
mod report;
mod run;
pub mod server;
mod source;
mod workloads;

pub use machine::{Machine, touch_memory};
pub use report::Report;
pub use run::{How, Progress, run};
pub use workloads::{Scale, Workload, select};
