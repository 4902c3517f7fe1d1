//! The conformance runner: what the real kube-scheduler v1.36.4 decided, compared with what the
//! engine decides.
//!
//! Cases are JSON lines, plain or compressed with zstd; `cases/README.md` describes them.

pub mod cases;
pub mod decision;
pub mod diff;
pub mod queue_cases;

use serde_json::Value;
use stowplan_engine::fast::Path;

/// Both ways to decide.
pub const BOTH_PATHS: &[Path] = &[Path::Plain, Path::Fast];

/// Runs one case on these paths; returns the differences, none if all is equal.
pub fn run_case(case: &Value, paths: &[Path]) -> Vec<String> {
    match case["family"].as_str() {
        Some("queue") => queue_cases::run_case(case, paths),
        _ => decision::run_case(case, paths),
    }
}
