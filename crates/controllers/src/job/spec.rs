//! What Jobs and their pods say.

use crate::common::{annotation, finalizers, is_deleting, pod_phase};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;

/// Holds pods until they are counted.
pub(super) const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// Which part of an indexed Job a pod does: a label and an annotation.
pub(crate) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The value of `managedBy` that means us.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";

/// Whether pods do numbered parts.
pub(crate) fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

/// Whether each index may fail so often.
pub(super) fn has_backoff_limit_per_index(spec: &JobSpec) -> bool {
    spec.backoff_limit_per_index.is_some()
}

pub(crate) fn is_suspended(spec: &JobSpec) -> bool {
    spec.suspend == Some(true)
}

/// The number of indices; none if there is no limit.
pub(crate) fn completions(spec: &JobSpec) -> i64 {
    spec.completions.map_or(0, i64::from)
}

/// Whether a pod that is being deleted is replaced only when it is gone or over.
pub(super) fn only_replace_failed_pods(spec: &JobSpec) -> bool {
    spec.pod_replacement_policy.as_deref() == Some("Failed") || spec.pod_failure_policy.is_some()
}

/// Whether another controller looks after the Job.
pub(super) fn is_managed_by_other(job: &Job) -> bool {
    let by = job
        .spec
        .as_ref()
        .and_then(|spec| spec.managed_by.as_deref());
    by.is_some_and(|by| by != JOB_CONTROLLER)
}

pub(super) fn has_tracking_finalizer(pod: &Pod) -> bool {
    finalizers(pod)
        .iter()
        .any(|held| held == TRACKING_FINALIZER)
}

/// The part of an indexed Job that a pod does.
pub(super) fn completion_index(pod: &Pod) -> Option<i64> {
    let index: i64 = annotation(pod, COMPLETION_INDEX)?.parse().ok()?;
    (index >= 0).then_some(index)
}

/// The part, if it is one of the Job's.
pub(super) fn valid_index(pod: &Pod, spec: &JobSpec) -> Option<i64> {
    completion_index(pod).filter(|index| *index < completions(spec))
}

pub(super) fn has_succeeded(pod: &Pod) -> bool {
    pod_phase(pod) == "Succeeded"
}

/// Whether a pod counts as failed. One that is deleted does, since it may never come to say so, unless that
/// is waited for.
pub(super) fn is_pod_failed(pod: &Pod, spec: &JobSpec) -> bool {
    match pod_phase(pod) {
        "Failed" => true,
        "Succeeded" => false,
        _ => !only_replace_failed_pods(spec) && is_deleting(pod),
    }
}
