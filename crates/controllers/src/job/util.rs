//! What the status of a Job says. Upstream: `pkg/controller/job/util`.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

/// All conditions.
pub(crate) fn conditions(job: &Job) -> &[JobCondition] {
    let status = job.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default()
}

/// The condition of a type, if it is true.
pub(crate) fn true_condition<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let mut conditions = conditions(job).iter();
    conditions.find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// The condition that says that the Job is over: `Complete` or `Failed`.
pub(crate) fn finished_condition(job: &Job) -> Option<&JobCondition> {
    let mut conditions = conditions(job).iter();
    conditions.find(|condition| {
        condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed")
    })
}

/// Whether the Job is over.
pub(crate) fn is_job_finished(job: &Job) -> bool {
    finished_condition(job).is_some()
}
