//! What others serve through the API.

use axum::body::Body;
use serde_json::Value;
use stowplan_base::Time;

/// What is asked of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogOptions {
    /// Which container.
    pub container: String,
    /// Whether to go on as more is written.
    pub follow: bool,
    /// The log of the container that ran before this one.
    pub previous: bool,
    /// Whether every line begins with its time.
    pub timestamps: bool,
    /// Only what was written in the last seconds.
    pub since_seconds: Option<i64>,
    /// Only what was written since a time (RFC 3339).
    pub since_time: Option<String>,
    /// Only so many lines of the end.
    pub tail_lines: Option<i64>,
    /// Only so many bytes.
    pub limit_bytes: Option<i64>,
}

/// Runs pods, or knows who does.
pub trait Provider: Send + Sync {
    /// The log of a container of a pod that is on a node, if this provider runs it.
    fn log(&self, pod: &Value, options: &LogOptions, now: Time) -> Option<Body>;
}
