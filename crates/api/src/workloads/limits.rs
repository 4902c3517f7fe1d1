//! How many pods one input may ask for.

use crate::field::Path;
use crate::load::{LoadError, Loaded, Object};

/// More pods than Kubernetes supports in one cluster; a number beyond it is a slip of the finger,
/// and would only fill the memory.
const PODS_MAX: i64 = 300_000;

/// The workload with which `objects` ask for more pods than can be made, if they do.
pub fn check(objects: &[Loaded]) -> Result<(), LoadError> {
    let mut left = PODS_MAX;
    for loaded in objects {
        let Some((field, count)) = wanted(&loaded.object) else {
            continue;
        };
        left = left.saturating_sub(i64::from(count.max(0)));
        if left < 0 {
            let detail = format!("the workloads of one input may have {PODS_MAX} pods at most");
            let error = Path::new("spec").child(field).invalid(count, detail);
            let title = loaded.object.title();
            return Err(LoadError::object(
                &loaded.source,
                format!("{title}: {error}"),
            ));
        }
    }
    Ok(())
}

/// The field that says how many pods a workload has, and what it says.
fn wanted(object: &Object) -> Option<(&'static str, i32)> {
    let replicas = |replicas: Option<i32>| Some(("replicas", replicas.unwrap_or(1)));
    match object {
        Object::Deployment(given) => replicas(given.spec.as_ref()?.replicas),
        Object::ReplicaSet(given) => replicas(given.spec.as_ref()?.replicas),
        Object::ReplicationController(given) => replicas(given.spec.as_ref()?.replicas),
        Object::StatefulSet(given) => replicas(given.spec.as_ref()?.replicas),
        Object::Job(given) => {
            let spec = given.spec.as_ref()?;
            let parallelism = spec.parallelism.unwrap_or(1);
            Some((
                "parallelism",
                parallelism.min(spec.completions.unwrap_or(i32::MAX)),
            ))
        }
        _ => None,
    }
}
