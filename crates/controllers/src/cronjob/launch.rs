//! The launch of a Job.

use super::history;
use super::options::Options;
use super::status::Work;
use super::ticks::until_after;
use crate::common::{controller_ref, is_controlled_by, name, namespace, uid};
use crate::{Cx, Event, EventType, Outcome, Plan, Write};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use std::sync::Arc;
use std::time::Duration;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The name of the Job that is launched for this time, and for no other. Upstream's `getJobName`.
pub(super) fn job_name(cron_job: &CronJob, due: Timestamp) -> String {
    format!("{}-{}", name(cron_job), due.as_second() / 60)
}

/// Launches the Job that is due; under `Replace`, those that are active go first.
pub(super) fn launch(cx: &Cx<'_>, mut work: Work, options: &Options, due: Timestamp) -> Plan {
    let again = until_after(options, due, cx.now);
    let mut writes = Vec::new();
    let mut replaced = Vec::new();
    if work.spec().concurrency_policy.as_deref() == Some("Replace") {
        replaced = work.active_jobs();
        let deletes = replaced.iter();
        writes.extend(deletes.map(|job| history::delete(&work.cron_job, job)));
    }
    let job = job_from_template(&work.cron_job, due, &options.zone);
    writes.push(create(&work.cron_job, &job));
    let events = std::mem::take(&mut work.events);
    let plan = Plan::sequence(writes).events(events);
    plan.then(move |cx, outcomes| {
        for (job, outcome) in replaced.iter().zip(outcomes) {
            if matches!(outcome, Outcome::Done(_) | Outcome::Tolerated(_)) {
                work.remove_active(uid(&**job));
                work.jobs.retain(|known| uid(&**known) != uid(&**job));
            }
        }
        let launched = outcomes.last();
        launched.map_or_else(Plan::nothing, |outcome| {
            record(cx, work, &job, due, outcome, again)
        })
    })
}

fn create(cron_job: &CronJob, job: &Job) -> Write {
    let message = format!("Created job {}", name(job));
    let event = Event::normal(cron_job, "SuccessfulCreate", message);
    // That it exists is looked into.
    let write = Write::create(job).tolerating(&[409]);
    write.telling(move |outcome| match outcome.failure() {
        Some(failure) if failure.is_namespace_terminating() => None,
        Some(failure) => Some(Event {
            event_type: EventType::Warning,
            reason: "FailedCreate",
            message: format!("Error creating job: {}", failure.message),
            ..event
        }),
        None => outcome.is_done().then_some(event),
    })
}

/// Writes down that the Job was launched.
fn record(
    cx: &Cx<'_>,
    mut work: Work,
    wanted: &Job,
    due: Timestamp,
    outcome: &Outcome,
    again: Option<Duration>,
) -> Plan {
    let job: Arc<Job> = match outcome {
        // What failed is tried again after a pause.
        Outcome::Failed(_) | Outcome::Answered(_) | Outcome::Skipped => {
            return work.update_status();
        }
        Outcome::Done(_) => match outcome.object() {
            Some(job) => job,
            None => return Plan::retry("the answer to a new Job is none"),
        },
        Outcome::Tolerated(_) => {
            let known = cx.cluster.get(namespace(wanted), name(wanted));
            match known {
                Some(job) => job,
                None => return Plan::retry(format!("Job {} is not known yet", name(wanted))),
            }
        }
    };
    // Somebody else may have made one of the same name; or it is known already that we did.
    if !is_controlled_by(&*job, &work.cron_job) || work.is_active(uid(&*job)) {
        return work.update_status_and_return(again);
    }
    // One that was launched before, and is over, is not active any more.
    if !Work::is_over(&job) {
        work.add_active(&job);
    }
    work.status().last_schedule_time = Some(Time(due));
    work.update_status_and_return(again)
}

/// Upstream's `getJobFromTemplate2`.
fn job_from_template(cron_job: &CronJob, due: Timestamp, zone: &TimeZone) -> Job {
    let template = cron_job.spec.job_template.clone();
    let given = template.metadata.unwrap_or_default();
    let mut annotations = given.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.to_owned(), rfc_3339(due, zone));
    Job {
        metadata: ObjectMeta {
            name: Some(job_name(cron_job, due)),
            namespace: Some(namespace(cron_job).to_owned()),
            labels: given.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![controller_ref(cron_job)]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

/// As Go writes it: an offset of zero is `Z`.
fn rfc_3339(at: Timestamp, zone: &TimeZone) -> String {
    let zoned = at.to_zoned(zone.clone());
    match zoned.offset().seconds() {
        0 => zoned.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        _ => zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    }
}
