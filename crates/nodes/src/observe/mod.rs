//! What others may ask of simulated nodes: logs and usage.

mod logs;
mod usage;

pub(crate) use logs::logs;
pub use logs::{LogLine, LogsWanted};
pub use usage::{NodeUsage, PodUsage};
pub(crate) use usage::{node_usage, pod_usage};
