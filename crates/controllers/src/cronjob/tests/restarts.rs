//! Writes that fail, and processes that end in the middle.

use super::*;

fn refused(code: u16) -> Failure {
    Failure {
        code,
        reason: "InternalError".to_owned(),
        message: "no".to_owned(),
        causes: Vec::new(),
    }
}

/// Whichever write fails, one Job is launched and the other is replaced.
#[test]
fn a_launch_that_fails_anywhere_ends_the_same() {
    for failing in 0..4 {
        let mut given = cron_job("0 * * * ?", today("08:59:00"));
        given["spec"]["concurrencyPolicy"] = json!("Replace");
        given["status"] = json!({
            "lastScheduleTime": "2016-05-19T09:00:00Z", "active": active("clean-24394140"),
        });
        let mut world = world(today("10:00:00.2"), given);
        world.add_json::<Job>(job("clean-24394140", today("09:00:00"), None));
        let mut number = 0;
        world.refuse(move |_| {
            number += 1;
            (number == failing + 1).then(|| refused(500))
        });
        for _ in 0..3 {
            // Another process goes on each time.
            sync(&mut world, &CronJobs::default());
        }
        assert_eq!(jobs(&world), ["clean-24394200"], "{failing}");
        assert_eq!(active_names(&world), ["clean-24394200"], "{failing}");
        let last = status(&world).last_schedule_time.map(|at| at.0);
        assert_eq!(last, Some(today("10:00:00")));
    }
}

#[test]
fn why_a_job_is_not_made_is_told() {
    let mut world = world(today("10:00:00"), cron_job("0 * * * ?", today("09:01:00")));
    world.refuse(|_| Some(refused(403)));
    sync(&mut world, &CronJobs::default());
    assert_eq!(world.events[0].message, "Error creating job: no");
    assert_eq!(world.take_reasons(), ["FailedCreate"]);
    assert_eq!(world.errors, ["no"]);
    assert!(status(&world).last_schedule_time.is_none());
    // A namespace that goes away is nothing to tell of.
    world.refuse(|_| {
        Some(Failure {
            causes: vec!["NamespaceTerminating".to_owned()],
            ..refused(403)
        })
    });
    sync(&mut world, &CronJobs::default());
    assert_eq!(world.take_reasons(), [""; 0]);
}

#[test]
fn why_a_job_is_not_deleted_is_told() {
    let mut given = cron_job("0 * * * ?", today("09:01:00"));
    given["spec"]["successfulJobsHistoryLimit"] = json!(0);
    let mut world = world(today("09:59:00"), given);
    let mut old = job("old", today("09:00:00"), Some("Complete"));
    old["status"]["completionTime"] = Value::Null;
    world.add_json::<Job>(old);
    world.refuse(|_| Some(refused(500)));
    sync(&mut world, &CronJobs::default());
    assert_eq!(world.events[0].message, "Deleted job: no");
    assert_eq!(world.take_reasons(), ["FailedDelete"]);
}

#[test]
fn the_changes_of_jobs_lead_to_their_cron_job() {
    let mut world = world(today("09:59:00"), cron_job("0 * * * ?", today("09:01:00")));
    let controller = CronJobs::default();
    world.join(0, &controller);
    world.settle(&[&controller], Duration::from_secs(1));
    world.add_json::<Job>(job("strange", today("09:00:00"), None));
    world.settle(&[&controller], Duration::from_secs(1));
    assert_eq!(world.take_reasons(), ["UnexpectedJob"]);
    let mut other = job("other", today("09:00:00"), None);
    other["metadata"]["ownerReferences"][0]["uid"] = json!("of-another");
    world.add_json::<Job>(other);
    world.settle(&[&controller], Duration::from_secs(1));
    assert_eq!(world.take_reasons(), [""; 0]);
}
