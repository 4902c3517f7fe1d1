//! How many pods one input may ask for.

use crate::{LoadError, Source};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, Path};
use stowplan_apimachinery::{View, meta};

/// More pods than Kubernetes supports in one cluster; a number beyond it is a slip of the finger,
/// and would only fill the memory.
const PODS_MAX: i64 = 300_000;

/// The workload with which an input asks for more pods than can be made, if it does.
pub(super) fn check(workloads: &[(Source, Value)]) -> Result<(), LoadError> {
    let mut left = PODS_MAX;
    for (source, workload) in workloads {
        let Some((field, count)) = wanted(workload) else {
            continue;
        };
        left = left.saturating_sub(count.max(0));
        if left < 0 {
            let detail = format!("the workloads of one input may have {PODS_MAX} pods at most");
            let spec = Path::new("spec");
            let error = Error::invalid(&spec.child(field), count, detail);
            let title = format!(
                "{} {}/{}",
                workload.text("kind"),
                meta::namespace(workload),
                meta::name(workload)
            );
            return Err(LoadError::object(source, format!("{title}: {error}")));
        }
    }
    Ok(())
}

/// The field that says how many pods a workload has, and what it says.
fn wanted(workload: &Value) -> Option<(&'static str, i64)> {
    let spec = workload.at("spec");
    match workload.text("kind") {
        "DaemonSet" => None,
        "Job" => {
            let completions = spec.int("completions").unwrap_or(i64::MAX);
            let parallelism = spec.int("parallelism").unwrap_or(1);
            Some(("parallelism", parallelism.min(completions)))
        }
        _ => Some(("replicas", spec.int("replicas").unwrap_or(1))),
    }
}
