//! The status of a set. Upstream's `updateDaemonSetStatus`.

use super::work::{ByNode, Work, sort_pods};
use crate::Cx;
use crate::common::{is_pod_available, is_pod_ready, name};
use k8s_openapi::api::apps::v1::DaemonSetStatus;
use k8s_openapi::api::core::v1::Node;

/// What there is to say about these pods; what others have said stays.
pub(super) fn status(cx: &Cx<'_>, work: &Work, by_node: &ByNode) -> DaemonSetStatus {
    let old = work.set.status.clone().unwrap_or_default();
    let (mut desired, mut current, mut misscheduled) = (0, 0, 0);
    let (mut ready, mut available, mut updated) = (0, 0, 0);
    for node in cx.cluster.all::<Node>() {
        let pods = by_node.get(name(&*node)).map(Vec::as_slice);
        let mut pods = pods.unwrap_or_default().to_vec();
        if !work.fit(&node).should_run {
            misscheduled += i32::from(!pods.is_empty());
            continue;
        }
        desired += 1;
        sort_pods(&mut pods);
        let Some(pod) = pods.first() else { continue };
        current += 1;
        ready += i32::from(is_pod_ready(pod));
        available += i32::from(is_pod_available(pod, work.min_ready_s, cx.now));
        updated += i32::from(work.is_updated(pod));
    }
    let generation = work.set.metadata.generation.unwrap_or(0);
    DaemonSetStatus {
        observed_generation: Some(generation.max(old.observed_generation.unwrap_or(0))),
        desired_number_scheduled: desired,
        current_number_scheduled: current,
        number_misscheduled: misscheduled,
        number_ready: ready,
        number_available: Some(available),
        number_unavailable: Some(desired - available),
        updated_number_scheduled: Some(updated),
        ..old
    }
}

/// Whether a status says something new: zero and nothing are the same.
pub(super) fn is_news(old: Option<&DaemonSetStatus>, new: &DaemonSetStatus) -> bool {
    let plain = |status: &DaemonSetStatus| DaemonSetStatus {
        observed_generation: Some(status.observed_generation.unwrap_or(0)),
        number_available: Some(status.number_available.unwrap_or(0)),
        number_unavailable: Some(status.number_unavailable.unwrap_or(0)),
        updated_number_scheduled: Some(status.updated_number_scheduled.unwrap_or(0)),
        ..status.clone()
    };
    plain(&old.cloned().unwrap_or_default()) != plain(new)
}
