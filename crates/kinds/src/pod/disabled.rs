//! Fields behind feature gates that are off in 1.36: dropped, unless the stored object has them.
//!
//! Upstream: `dropDisabledFields` in `pkg/api/pod/util.go`.

use serde_json::{Map, Value};
use stowplan_apimachinery::{Edit, View};

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const STATUSES: [&str; 3] = [
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
];

/// Drops what may not be used yet from the spec of a pod; `old` is null for a new one.
pub(crate) fn drop_from_spec(spec: &mut Value, old: &Value) {
    for field in ["clusterTrustBundle", "podCertificate"] {
        if !projects(old, field) {
            for volume in spec.each_mut("volumes") {
                if let Some(projected) = volume.child_mut("projected") {
                    projected.each_mut("sources").for_each(|source| {
                        source.unset(field);
                    });
                }
            }
        }
    }
    if !old.has("schedulingGroup") && spec.has("schedulingGroup") {
        spec.unset("schedulingGroup");
    }
    let mut before = CONTAINERS.iter().flat_map(|list| old.list(list));
    if !before.any(|c| c.at("lifecycle").has("stopSignal")) {
        for list in CONTAINERS {
            spec.each_mut(list).for_each(drop_stop_signal);
        }
    }
}

fn projects(spec: &Value, field: &str) -> bool {
    let volumes = spec.list("volumes").iter();
    volumes
        .flat_map(|volume| volume.at("projected").list("sources"))
        .any(|source| source.has(field))
}

fn drop_stop_signal(container: &mut Value) {
    let Some(lifecycle) = container.child_mut("lifecycle") else {
        return;
    };
    let dropped = lifecycle.unset("stopSignal").is_some();
    if dropped && lifecycle.as_object().is_some_and(Map::is_empty) {
        container.unset("lifecycle");
    }
}

/// Drops what may not be used yet from the status of a pod.
pub(crate) fn drop_from_status(status: &mut Value, old: &Value) {
    let mounts = |status: &Value| {
        let containers = STATUSES.iter().flat_map(|list| status.list(list));
        containers
            .flat_map(|container| container.list("volumeMounts"))
            .any(|mount| mount.has("volumeStatus"))
    };
    if !mounts(old) {
        for list in STATUSES {
            for container in status.each_mut(list) {
                container.each_mut("volumeMounts").for_each(|mount| {
                    mount.unset("volumeStatus");
                });
            }
        }
    }
    let field = "nodeAllocatableResourceClaimStatuses";
    if old.list(field).is_empty() && status.has(field) {
        status.unset(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn new_fields_are_dropped_and_old_ones_kept() {
        let spec = json!({
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [{"lifecycle": {"stopSignal": "SIGTERM"}}],
            "volumes": [{"projected": {"sources": [{"podCertificate": {}}]}}],
        });
        let mut new = spec.clone();
        drop_from_spec(&mut new, &Value::Null);
        assert_eq!(
            new,
            json!({"containers": [{}], "volumes": [{"projected": {"sources": [{}]}}]})
        );
        let mut kept = spec.clone();
        drop_from_spec(&mut kept, &spec);
        assert_eq!(kept, spec);
    }
}
