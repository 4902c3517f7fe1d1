//! Which pods are missed least. Upstream's `ActivePods`.

use crate::common::{created_at, is_pod_ready, pod_phase, pod_ready_since};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Puts those first that are missed least: not placed, not running, not ready, not ready for long, often
/// restarted, young.
pub(super) fn sort(pods: &mut [Arc<Pod>]) {
    pods.sort_by_cached_key(|pod| key(pod));
}

type Rank = (
    bool,
    u8,
    bool,
    Reverse<Timestamp>,
    Reverse<(i32, i32)>,
    Reverse<Timestamp>,
);

fn key(pod: &Pod) -> Rank {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let phase = match pod_phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let is_ready = is_pod_ready(pod);
    // A time that is not known counts as none at all.
    let unknown = Timestamp::MAX;
    let ready_since = match is_ready {
        true => pod_ready_since(pod).unwrap_or(unknown),
        false => unknown,
    };
    (
        node.is_some_and(|node| !node.is_empty()),
        phase,
        is_ready,
        Reverse(ready_since),
        Reverse(restarts(pod)),
        Reverse(created_at(pod).unwrap_or(unknown)),
    )
}

/// The most restarts of a container, and of a sidecar.
fn restarts(pod: &Pod) -> (i32, i32) {
    let init = pod.spec.iter().flat_map(|spec| spec.init_containers.iter());
    let sidecars = init
        .flatten()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let sidecars: BTreeSet<&str> = sidecars.map(|container| container.name.as_str()).collect();
    let Some(status) = &pod.status else {
        return (0, 0);
    };
    let containers = status.container_statuses.iter().flatten();
    let init = status.init_container_statuses.iter().flatten();
    let init = init.filter(|status| sidecars.contains(status.name.as_str()));
    (
        containers
            .map(|status| status.restart_count)
            .max()
            .unwrap_or(0),
        init.map(|status| status.restart_count).max().unwrap_or(0),
    )
}
