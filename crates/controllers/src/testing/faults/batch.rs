//! Jobs and CronJobs.

use super::*;
use crate::common::annotation;
use crate::cronjob::CronJobs;
use crate::job::Jobs;
use crate::ttlafterfinished::TtlAfterFinished;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use serde_json::Value;

fn job(more: Value) -> Value {
    let mut job = json!({
        "metadata": {"name": "sum", "namespace": "shop", "generation": 1},
        "spec": {"completions": 4, "parallelism": 2, "backoffLimit": 6, "completionMode": "NonIndexed",
            "selector": {"matchLabels": {"job": "sum"}}, "podReplacementPolicy": "TerminatingOrFailed",
            "template": {"metadata": {"labels": {"job": "sum"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    });
    for (key, value) in more.as_object().expect("fields") {
        job["spec"][key] = value.clone();
    }
    job
}

fn end_of_job(world: &World) -> String {
    let Some(job) = world.on_server::<Job>().pop() else {
        return "no job".to_owned();
    };
    let mut status = serde_json::to_value(&job.status).expect("a status");
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let conditions: Vec<_> = conditions
        .iter()
        .map(|one| format!("{}={}", one["type"], one["status"]))
        .collect();
    let fields = status.as_object_mut().expect("a status");
    fields.retain(|key, _| !key.ends_with("Time") && key != "conditions");
    let held = world.on_server::<Pod>();
    let held = held
        .iter()
        .filter(|pod| !crate::common::finalizers(*pod).is_empty())
        .count();
    format!("{conditions:?} {held} held {status}")
}

fn check_parallelism(world: &World) {
    let count = active(world).len();
    // A pod whose making was not answered may be made again before it is seen.
    let spare = usize::from(world.trouble.lose_at.is_some());
    assert!(count <= 2 + spare, "{count} pods at once");
}

#[test]
fn jobs_complete() {
    Scenario {
        controllers: || vec![Box::<Jobs>::default()],
        start: |world| {
            world.add_json::<Job>(job(json!({})));
        },
        steps: &[],
        live: |world| kubelet(world, Some("Succeeded")),
        check: check_parallelism,
        end: end_of_job,
        span: MINUTES,
    }
    .play();
}

#[test]
fn indexed_jobs_do_each_part_once() {
    Scenario {
        controllers: || vec![Box::<Jobs>::default()],
        start: |world| {
            world.add_json::<Job>(job(
                json!({"completionMode": "Indexed", "backoffLimitPerIndex": 1,
                "maxFailedIndexes": 4, "podReplacementPolicy": "Failed"}),
            ));
        },
        steps: &[],
        live: |world| kubelet(world, Some("Succeeded")),
        check: |world| {
            let pods = active(world);
            let mut indexes: Vec<_> = pods
                .iter()
                .filter_map(|pod| annotation(pod, "batch.kubernetes.io/job-completion-index"))
                .collect();
            indexes.sort_unstable();
            let all = indexes.len();
            indexes.dedup();
            assert!(
                all == indexes.len() || world.trouble.lose_at.is_some(),
                "a part is done twice"
            );
        },
        end: end_of_job,
        span: MINUTES,
    }
    .play();
}

#[test]
fn jobs_fail() {
    Scenario {
        controllers: || vec![Box::<Jobs>::default()],
        start: |world| {
            world.add_json::<Job>(job(json!({"backoffLimit": 0, "parallelism": 1})));
        },
        steps: &[],
        live: |world| kubelet(world, Some("Failed")),
        check: check_parallelism,
        end: end_of_job,
        span: MINUTES,
    }
    .play();
}

#[test]
fn jobs_are_suspended_and_resumed() {
    Scenario {
        controllers: || vec![Box::<Jobs>::default()],
        start: |world| {
            world.add_json::<Job>(job(json!({})));
        },
        steps: &[
            |world| {
                world.change_on_server::<Job>("shop", "sum", |job| {
                    job.spec.get_or_insert_default().suspend = Some(true);
                });
            },
            |world| {
                world.change_on_server::<Job>("shop", "sum", |job| {
                    job.spec.get_or_insert_default().suspend = Some(false);
                });
            },
        ],
        live: run,
        check: check_parallelism,
        end: end_of_job,
        span: MINUTES,
    }
    .play();
}

/// Jobs that are over after a while, and go a while after that.
fn finish_jobs(world: &mut World) -> bool {
    for job in world.on_server::<Job>() {
        if crate::job::util::is_job_finished(&job) {
            continue;
        }
        let at = super::super::seconds(world.now);
        world.change_on_server::<Job>("shop", name(&job), |job| {
            let status = json!({"completionTime": at, "startTime": at, "conditions": [
                {"type": "Complete", "status": "True", "lastTransitionTime": at}]});
            job.status = serde_json::from_value(status).expect("a status");
        });
        return true;
    }
    false
}

#[test]
fn cron_jobs_launch_each_time_once() {
    Scenario {
        controllers: || vec![Box::<CronJobs>::default()],
        start: |world| {
            world.add_json::<CronJob>(json!({
                "metadata": {"name": "tick", "namespace": "shop"},
                "spec": {"schedule": "*/3 * * * *", "concurrencyPolicy": "Allow",
                    "successfulJobsHistoryLimit": 100, "jobTemplate": {"spec": {"template": {}}}},
            }));
        },
        steps: &[],
        live: finish_jobs,
        check: |_| {},
        end: |world| {
            let jobs = world.on_server::<Job>();
            let names: Vec<_> = jobs.iter().map(|job| name(job).to_owned()).collect();
            let cron_job = world
                .on_server::<CronJob>()
                .pop()
                .and_then(|one| one.status);
            let status = cron_job.unwrap_or_default();
            format!(
                "{names:?} {:?} {:?}",
                status.active, status.last_schedule_time
            )
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn cron_jobs_keep_some_of_their_jobs() {
    Scenario {
        controllers: || vec![Box::<CronJobs>::default(), Box::new(TtlAfterFinished)],
        start: |world| {
            world.add_json::<CronJob>(json!({
                "metadata": {"name": "tick", "namespace": "shop"},
                "spec": {"schedule": "*/2 * * * *", "concurrencyPolicy": "Replace",
                    "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1,
                    "jobTemplate": {"spec": {"template": {}}}},
            }));
            world.add_json::<Job>(json!({
                "metadata": {"name": "old", "namespace": "shop"},
                "spec": {"template": {}, "ttlSecondsAfterFinished": 30},
            }));
        },
        steps: &[],
        live: finish_jobs,
        check: |_| {},
        end: |world| {
            world
                .on_server::<Job>()
                .iter()
                .map(|job| name(job).to_owned() + " ")
                .collect()
        },
        span: MINUTES,
    }
    .play();
}
