//! What a ReplicaSet says of its pods.

use super::Replicated;
use crate::common::{Selector, is_pod_available, is_pod_ready, labels, pod_ready_since};
use crate::{Plan, Write};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::sync::Arc;
use std::time::Duration;

const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Why there are not as many pods as are wanted.
pub(crate) struct Trouble {
    /// `FailedCreate` or `FailedDelete`.
    pub(crate) reason: &'static str,
    /// What the server said.
    pub(crate) message: String,
}

/// The pods of a set.
pub(crate) struct Pods {
    /// Neither finished nor deleted.
    pub(crate) active: Vec<Arc<Pod>>,
    /// Deleted, but still there.
    pub(crate) terminating: usize,
}

/// Writes the status if it has changed, and says when to look again because pods become available.
pub(crate) fn update<K: Replicated>(
    set: &K,
    pods: &Pods,
    trouble: Option<Trouble>,
    now: Timestamp,
) -> Plan {
    let status = calculate(set, pods, trouble, now);
    let min_ready_s = set.wanted().min_ready_s;
    let waits = min_ready_s > 0 && status.ready_replicas != status.available_replicas;
    let mut plan = match status == plain(set.state()) {
        true => Plan::nothing(),
        false => Plan::write(Write::update_status(&set.with_state(status))),
    };
    if waits {
        let at_latest = Duration::from_secs(u64::from(min_ready_s.unsigned_abs()));
        let next = next_availability_check(&pods.active, min_ready_s, now);
        plan = plan.requeue_after(next.unwrap_or(at_latest));
    }
    plan
}

/// Upstream's `calculateStatus`.
fn calculate<K: Replicated>(
    set: &K,
    pods: &Pods,
    trouble: Option<Trouble>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let spec = set.wanted();
    let template = spec
        .template
        .and_then(|template| template.metadata.as_ref());
    let template_labels = template.and_then(|meta| meta.labels.as_ref());
    let is_fully_labeled = Selector::of_labels(template_labels);
    let count = |is_counted: &dyn Fn(&Pod) -> bool| {
        let count = pods.active.iter().filter(|pod| is_counted(pod)).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    };
    let old = set.state();
    let terminating = i32::try_from(pods.terminating).unwrap_or(i32::MAX);
    plain(ReplicaSetStatus {
        replicas: count(&|_| true),
        fully_labeled_replicas: Some(count(&|pod| is_fully_labeled.matches(labels(pod)))),
        ready_replicas: Some(count(&is_pod_ready)),
        available_replicas: Some(count(&|pod| is_pod_available(pod, spec.min_ready_s, now))),
        terminating_replicas: K::TELLS_TERMINATING.then_some(terminating),
        observed_generation: set.metadata().generation,
        conditions: conditions(old.conditions.unwrap_or_default(), trouble, now),
    })
}

/// Trouble that was told of before is not told of anew.
fn conditions(
    mut conditions: Vec<ReplicaSetCondition>,
    trouble: Option<Trouble>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let is_failure = |condition: &ReplicaSetCondition| condition.type_ == REPLICA_FAILURE;
    match trouble {
        None => conditions.retain(|condition| !is_failure(condition)),
        Some(_) if conditions.iter().any(is_failure) => {}
        Some(trouble) => conditions.push(ReplicaSetCondition {
            type_: REPLICA_FAILURE.to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(Time(now)),
            reason: Some(trouble.reason.to_owned()),
            message: Some(trouble.message),
        }),
    }
    Some(conditions)
}

/// As the API has it: what is zero or empty is absent, but for counts that are always told.
fn plain(status: ReplicaSetStatus) -> ReplicaSetStatus {
    let counted = |count: Option<i32>| count.filter(|count| *count != 0);
    ReplicaSetStatus {
        fully_labeled_replicas: counted(status.fully_labeled_replicas),
        ready_replicas: counted(status.ready_replicas),
        available_replicas: counted(status.available_replicas),
        observed_generation: status.observed_generation.filter(|seen| *seen != 0),
        conditions: status
            .conditions
            .filter(|conditions| !conditions.is_empty()),
        ..status
    }
}

/// When the first of the pods that are ready becomes available. Upstream's
/// `FindMinNextPodAvailabilityCheck`.
fn next_availability_check(
    pods: &[Arc<Pod>],
    min_ready_s: i32,
    now: Timestamp,
) -> Option<Duration> {
    let span = SignedDuration::from_secs(i64::from(min_ready_s));
    let left = |pod: &Arc<Pod>| {
        let at = pod_ready_since(pod)?.checked_add(span).ok()?;
        let left = at.duration_since(now);
        left.is_positive().then(|| left.unsigned_abs())
    };
    pods.iter().filter_map(left).min()
}
