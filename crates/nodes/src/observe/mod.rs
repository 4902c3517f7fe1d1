//! What others may ask of simulated nodes: logs and usage.

mod log_status;
mod logs;
mod usage;

pub use log_status::{LogOf, log_of};
pub(crate) use logs::{Log, Rest, logs, runs};
pub use logs::{LogLine, LogsWanted};
pub use usage::{NodeUsage, PodUsage};
pub(crate) use usage::{node_usage, pod_usage};
