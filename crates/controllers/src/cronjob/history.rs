//! Jobs that are over and not kept.

use crate::common::{is_deleting, name, uid};
use crate::job::util::finished_condition;
use crate::{Event, EventType, Write};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use serde_json::json;
use std::sync::Arc;

/// The oldest Jobs that ended in this way, all but as many as are kept. Upstream's `removeOldestJobs`.
pub(super) fn oldest(jobs: &[Arc<Job>], condition: &str, kept: i32) -> Vec<Arc<Job>> {
    let ended = |job: &&Arc<Job>| {
        let ended = finished_condition(job).is_some_and(|ended| ended.type_ == condition);
        ended && !is_deleting(&***job)
    };
    let mut ended: Vec<Arc<Job>> = jobs.iter().filter(ended).cloned().collect();
    // Those that never started come last.
    ended.sort_by_key(|job| {
        let started = job.status.as_ref();
        let started = started.and_then(|status| status.start_time.as_ref());
        let started = started.map(|at| at.0);
        (started.is_none(), started, name(&**job).to_owned())
    });
    let kept = usize::try_from(kept).unwrap_or_default();
    ended.truncate(ended.len().saturating_sub(kept));
    ended
}

/// Deletes a Job and its pods. Without a policy, batch/v1 would leave the pods alone.
pub(super) fn delete(cron_job: &CronJob, job: &Job) -> Write {
    let options = json!({
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid(job)},
    });
    let deleted = format!("Deleted job {}", name(job));
    let event = Event::normal(cron_job, "SuccessfulDelete", deleted);
    Write::delete_with(job, &options).telling(move |outcome| match outcome.failure() {
        Some(failure) => Some(Event {
            event_type: EventType::Warning,
            reason: "FailedDelete",
            message: format!("Deleted job: {}", failure.message),
            ..event
        }),
        None => outcome.is_done().then_some(event),
    })
}
