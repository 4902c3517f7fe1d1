//! Upstream's tables: `cronjob_controllerv2_test.go`, `utils_test.go`.

use super::*;
use crate::testing::World;
use crate::{Failure, Method};
use serde_json::{Value, json};
use std::time::Duration;

mod beyond;
mod due;
mod restarts;
mod rows;

const NAME: &str = "clean";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// A time on the day of the tests.
fn today(clock: &str) -> Timestamp {
    at(&format!("2016-05-19T{clock}Z"))
}

fn cron_job(schedule: &str, created: Timestamp) -> Value {
    json!({
        "metadata": {
            "name": NAME, "namespace": "shop", "uid": "cron-uid",
            "creationTimestamp": created.to_string(),
        },
        "spec": {
            "schedule": schedule,
            "concurrencyPolicy": "Allow",
            "suspend": false,
            "jobTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}},
                "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
            },
        },
    })
}

fn job(name: &str, started: Timestamp, ended: Option<&str>) -> Value {
    let mut job = json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-of-{name}"),
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "CronJob", "name": NAME, "uid": "cron-uid",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {"template": {}},
        "status": {"startTime": started.to_string()},
    });
    if let Some(ended) = ended {
        job["status"]["conditions"] = json!([{"type": ended, "status": "True"}]);
        if ended == "Complete" {
            job["status"]["completionTime"] = json!(started.to_string());
        }
    }
    job
}

fn active(name: &str) -> Value {
    json!([{
        "kind": "Job", "apiVersion": "batch/v1", "namespace": "shop", "name": name,
        "uid": format!("uid-of-{name}"),
    }])
}

fn world(now: Timestamp, cron_job: Value) -> World {
    let mut world = World::default();
    world.now = now;
    world.add_json::<CronJob>(cron_job);
    world
}

fn sync(world: &mut World, controller: &CronJobs) -> Option<Duration> {
    world.sync(controller, "shop", NAME)
}

fn jobs(world: &World) -> Vec<String> {
    let jobs = world.cluster.all::<Job>();
    jobs.iter()
        .filter_map(|job| job.metadata.name.clone())
        .collect()
}

fn status(world: &World) -> k8s_openapi::api::batch::v1::CronJobStatus {
    let cron_job = world.get::<CronJob>("shop", NAME);
    cron_job.status.clone().unwrap_or_default()
}

fn active_names(world: &World) -> Vec<String> {
    let active = status(world).active.unwrap_or_default();
    active.into_iter().filter_map(|job| job.name).collect()
}

#[test]
fn a_job_is_made_from_the_template() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["spec"]["timeZone"] = json!("America/New_York");
    let mut world = world(today("10:00:00.1"), given);
    let again = sync(&mut world, &CronJobs::default());
    assert_eq!(again, Some(Duration::from_secs(3_600)));
    let job = world.get::<Job>("shop", "clean-24394200");
    let meta = &job.metadata;
    assert_eq!(meta.labels, Some([("a".to_owned(), "b".to_owned())].into()));
    let annotations = meta.annotations.clone().expect("annotations");
    assert_eq!(annotations["x"], "y");
    assert_eq!(
        annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        "2016-05-19T06:00:00-04:00"
    );
    let owner = controller_of(&*job).expect("an owner");
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str()),
        ("CronJob", "cron-uid")
    );
    let status = status(&world);
    assert_eq!(
        status.last_schedule_time.map(|at| at.0),
        Some(today("10:00:00"))
    );
    let active = &status.active.expect("an active job")[0];
    assert_eq!(active.name.as_deref(), Some("clean-24394200"));
    assert_eq!(active.uid, job.metadata.uid);
    assert_eq!(active.kind.as_deref(), Some("Job"));
    assert_eq!(world.take_reasons(), ["SuccessfulCreate"]);
    // Nothing is left to be done.
    world.writes.clear();
    assert_eq!(sync(&mut world, &CronJobs::default()), again);
    assert_eq!(world.take_writes(), [""; 0]);
    assert_eq!(world.take_reasons(), [""; 0]);
}

#[test]
fn without_a_zone_times_are_shown_in_utc() {
    let mut world = world(today("10:00:00"), cron_job("0 * * * ?", today("09:01:00")));
    sync(&mut world, &CronJobs::default());
    let job = world.get::<Job>("shop", "clean-24394200");
    let annotations = job.metadata.annotations.clone().expect("annotations");
    assert_eq!(
        annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        "2016-05-19T10:00:00Z"
    );
}

#[test]
fn jobs_that_are_over_or_gone_are_not_active() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["status"] = json!({"lastScheduleTime": "2016-05-19T09:00:00Z", "active": [
        active("done")[0], active("gone")[0], active("busy")[0],
    ]});
    let mut world = world(today("09:59:00"), given);
    world.add_json::<Job>(job("done", today("09:00:00"), Some("Complete")));
    world.add_json::<Job>(job("busy", today("09:00:00"), None));
    world.add_json::<Job>(job("strange", today("09:00:00"), None));
    sync(&mut world, &CronJobs::default());
    assert_eq!(active_names(&world), ["busy"]);
    let messages: Vec<_> = world
        .events
        .iter()
        .map(|event| event.message.clone())
        .collect();
    assert_eq!(
        messages,
        [
            "Saw completed job: done, condition: Complete",
            "Saw a job that the controller did not create or forgot: strange",
            "Active job went missing: gone",
        ]
    );
    let last = status(&world).last_successful_time.map(|at| at.0);
    assert_eq!(last, Some(today("09:00:00")));
}

#[test]
fn the_last_success_is_the_latest() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["status"] = json!({"lastSuccessfulTime": "2016-05-19T09:30:00Z"});
    let mut world = world(today("09:59:00"), given);
    world.add_json::<Job>(job("a", today("09:10:00"), Some("Complete")));
    sync(&mut world, &CronJobs::default());
    assert_eq!(world.take_writes(), [""; 0]);
    world.add_json::<Job>(job("b", today("09:40:00"), Some("Complete")));
    world.add_json::<Job>(job("c", today("09:50:00"), Some("Failed")));
    sync(&mut world, &CronJobs::default());
    let last = status(&world).last_successful_time.map(|at| at.0);
    assert_eq!(last, Some(today("09:40:00")));
}

#[test]
fn old_jobs_go() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["spec"]["successfulJobsHistoryLimit"] = json!(1);
    given["spec"]["failedJobsHistoryLimit"] = json!(0);
    let mut world = world(today("09:59:00"), given);
    for (name, minute, ended) in [
        ("s3", 3, Some("Complete")),
        ("s1", 1, Some("Complete")),
        ("s2", 2, Some("Complete")),
        ("f1", 4, Some("Failed")),
        ("busy", 0, None),
    ] {
        let started = today(&format!("09:0{minute}:00"));
        world.add_json::<Job>(job(name, started, ended));
    }
    sync(&mut world, &CronJobs::default());
    assert_eq!(jobs(&world), ["busy", "s3"]);
    let deletes = world
        .writes
        .iter()
        .filter(|write| write.0 == Method::Delete);
    let options: Vec<_> = deletes
        .map(|write| write.2["propagationPolicy"].clone())
        .collect();
    assert_eq!(options, ["Background"; 3]);
    let messages: Vec<_> = world
        .events
        .iter()
        .map(|event| event.message.clone())
        .collect();
    let (deleted, rest) = messages.split_at(3);
    assert_eq!(
        deleted,
        ["Deleted job s1", "Deleted job s2", "Deleted job f1"]
    );
    assert_eq!(rest.len(), 1, "{rest:?}");
}

#[test]
fn a_job_that_is_not_kept_is_not_seen_to_complete() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["spec"]["successfulJobsHistoryLimit"] = json!(0);
    let active = json!({"name": "s1", "namespace": "shop", "uid": "uid-of-s1"});
    given["status"] = json!({"active": [active]});
    let mut world = world(today("09:59:00"), given);
    world.add_json::<Job>(job("s1", today("09:01:00"), Some("Complete")));
    sync(&mut world, &CronJobs::default());
    assert_eq!(world.take_reasons(), ["SuccessfulDelete"]);
    let status = world.get::<CronJob>("shop", NAME).status.clone();
    let status = status.unwrap_or_default();
    assert_eq!(status.active, None);
    assert!(status.last_successful_time.is_some());
}

#[test]
fn without_limits_all_jobs_stay() {
    let mut world = world(today("09:59:00"), cron_job("0 * * * ?", today("09:01:00")));
    world.add_json::<Job>(job("s1", today("09:00:00"), Some("Complete")));
    sync(&mut world, &CronJobs::default());
    assert_eq!(jobs(&world), ["s1"]);
}

#[test]
fn a_cron_job_that_is_deleted_launches_nothing() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["metadata"]["deletionTimestamp"] = json!("2016-05-19T09:59:00Z");
    given["metadata"]["finalizers"] = json!(["x/y"]);
    given["status"] = json!({"active": active("gone")});
    let mut world = world(today("10:01:00"), given);
    assert_eq!(sync(&mut world, &CronJobs::default()), None);
    assert_eq!(jobs(&world), [""; 0]);
    assert_eq!(active_names(&world), [""; 0]);
}

#[test]
fn a_job_of_the_same_name() {
    // Ours, forgotten: it is written down.
    let mut first = world(today("10:00:01"), cron_job("0 * * * ?", today("09:01:00")));
    first.add_json::<Job>(job("clean-24394200", today("10:00:00"), None));
    assert!(sync(&mut first, &CronJobs::default()).is_some());
    assert_eq!(active_names(&first), ["clean-24394200"]);
    assert_eq!(first.take_reasons(), ["UnexpectedJob"]);
    // Ours, and over since.
    let mut second = world(today("10:00:01"), cron_job("0 * * * ?", today("09:01:00")));
    second.add_json::<Job>(job("clean-24394200", today("10:00:00"), Some("Complete")));
    assert!(sync(&mut second, &CronJobs::default()).is_some());
    assert_eq!(active_names(&second), [""; 0]);
    assert!(status(&second).last_schedule_time.is_some());
    // Somebody else's.
    let mut third = world(today("10:00:01"), cron_job("0 * * * ?", today("09:01:00")));
    let mut other = job("clean-24394200", today("10:00:00"), None);
    other["metadata"]["ownerReferences"] = json!([]);
    third.add_json::<Job>(other);
    assert!(sync(&mut third, &CronJobs::default()).is_some());
    assert_eq!(active_names(&third), [""; 0]);
    assert!(status(&third).last_schedule_time.is_none());
}

#[test]
fn a_schedule_that_changes_launches_nothing_of_the_past() {
    let mut world = world(today("09:59:00"), cron_job("0 10 * * ?", today("09:01:00")));
    let controller = CronJobs::default();
    sync(&mut world, &controller);
    // By the new schedule, something was due half an hour ago.
    world.change::<CronJob>("shop", NAME, |cron_job| {
        cron_job.spec.schedule = "30 * * * ?".to_owned();
    });
    let again = sync(&mut world, &controller);
    assert_eq!(jobs(&world), [""; 0]);
    assert_eq!(again, Some(Duration::from_millis(31 * 60_000 + 100)));
    world.now = today("10:30:00.1");
    sync(&mut world, &controller);
    assert_eq!(jobs(&world), ["clean-24394230"]);
}

#[test]
fn what_was_due_while_suspended_is_launched_when_it_is_resumed() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["spec"]["suspend"] = json!(true);
    let mut world = world(today("10:10:00"), given);
    let controller = CronJobs::default();
    assert_eq!(sync(&mut world, &controller), None);
    world.change::<CronJob>("shop", NAME, |cron_job| cron_job.spec.suspend = Some(false));
    sync(&mut world, &controller);
    assert_eq!(jobs(&world), ["clean-24394200"]);
}

#[test]
fn each_minute_has_its_job_for_an_hour() {
    let mut given = cron_job("*/1 * * * ?", today("09:00:30"));
    given["spec"]["successfulJobsHistoryLimit"] = json!(3);
    let mut world = world(today("09:00:30"), given);
    let controller = CronJobs::default();
    world.join(0, &controller);
    for minute in 1..=60 {
        world.settle(&[&controller], Duration::from_secs(60));
        for name in jobs(&world) {
            world.change::<Job>("shop", &name, |job| {
                let at = today("09:00:00") + jiff::SignedDuration::from_mins(minute);
                let done = super::tests::job("x", at, Some("Complete"));
                let done: Job = serde_json::from_value(done).expect("a job");
                if job.status.is_none() {
                    job.status = done.status;
                }
            });
        }
    }
    world.settle(&[&controller], Duration::from_secs(1));
    let made = world.writes.iter().filter(|write| write.0 == Method::Post);
    assert_eq!(made.count(), 60);
    assert_eq!(jobs(&world).len(), 3);
    assert_eq!(world.errors, [""; 0]);
    assert_eq!(active_names(&world), [""; 0]);
}

#[test]
fn many_that_are_due_at_once_take_two_writes_each() {
    let mut world = World::default();
    world.now = today("10:00:00");
    let controller = CronJobs::default();
    for n in 0..1_000 {
        let mut given = cron_job("0 * * * ?", today("09:01:00"));
        given["metadata"]["name"] = json!(format!("cron-{n}"));
        given["metadata"]["uid"] = json!(format!("uid-{n}"));
        world.add_json::<CronJob>(given);
    }
    for n in 0..1_000 {
        world.sync(&controller, "shop", &format!("cron-{n}"));
    }
    assert_eq!(world.writes.len(), 2_000);
    assert_eq!(world.cluster.all::<Job>().len(), 1_000);
}
