//! The status of a set.

use super::pod::pod_revision;
use super::revisions::Versions;
use crate::common::{is_deleting, is_pod_available, is_pod_ready, name, pod_phase};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;

/// Whether a pod runs and is ready. Upstream's `isRunningAndReady`.
pub(super) fn is_running_and_ready(pod: &Pod) -> bool {
    pod_phase(pod) == "Running" && is_pod_ready(pod)
}

/// Whether pods are replaced one after the other when the template changes.
pub(super) fn is_rolling_update(spec: &StatefulSetSpec) -> bool {
    let strategy = spec.update_strategy.as_ref();
    let word = strategy.and_then(|strategy| strategy.type_.as_deref());
    word.unwrap_or("RollingUpdate") == "RollingUpdate"
}

/// What there is to say about these pods.
pub(super) fn status(
    set: &StatefulSet,
    pods: &[Arc<Pod>],
    versions: &Versions,
    now: Timestamp,
) -> StatefulSetStatus {
    let count = |counts: &dyn Fn(&Pod) -> bool| {
        let number = pods.iter().filter(|pod| counts(pod)).count();
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let spec = set.spec.as_ref();
    let min_ready_s = spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    let of = |revision: &str| count(&|pod| !is_deleting(pod) && pod_revision(pod) == revision);
    let (current, update) = (name(&*versions.current), name(&*versions.update));
    let available =
        |pod: &Pod| is_running_and_ready(pod) && is_pod_available(pod, min_ready_s, now);
    let mut status = StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas: count(&|_| true),
        ready_replicas: Some(count(&is_running_and_ready)),
        available_replicas: Some(count(&available)),
        current_replicas: Some(of(current)),
        updated_replicas: Some(of(update)),
        current_revision: Some(current.to_owned()),
        update_revision: Some(update.to_owned()),
        collision_count: Some(versions.collisions),
        conditions: None,
    };
    if let Some(spec) = spec {
        complete_rolling_update(spec, &mut status);
    }
    status
}

/// Once all pods are of the new revision, that is the current one.
fn complete_rolling_update(spec: &StatefulSetSpec, status: &mut StatefulSetStatus) {
    let wanted = spec.replicas.unwrap_or(1);
    if is_rolling_update(spec)
        && status.updated_replicas == Some(wanted)
        && status.ready_replicas == Some(wanted)
        && status.replicas == wanted
    {
        status.current_replicas = status.updated_replicas;
        status.current_revision = status.update_revision.clone();
    }
}

/// Whether a status says something new. Upstream's `inconsistentStatus`.
pub(super) fn is_news(set: &StatefulSet, status: &StatefulSetStatus) -> bool {
    let old = set.status.clone().unwrap_or_default();
    let counts = |of: &StatefulSetStatus| {
        let counts = [
            of.ready_replicas,
            of.available_replicas,
            of.current_replicas,
            of.updated_replicas,
        ];
        (of.replicas, counts.map(Option::unwrap_or_default))
    };
    let is_later = status.observed_generation.unwrap_or(0) > old.observed_generation.unwrap_or(0);
    let revisions = |of: &StatefulSetStatus| {
        let names = [of.current_revision.clone(), of.update_revision.clone()];
        names.map(Option::unwrap_or_default)
    };
    is_later || counts(&old) != counts(status) || revisions(&old) != revisions(status)
}
