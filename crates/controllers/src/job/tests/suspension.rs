//! Suspended Jobs and deadlines.

use super::*;

#[test]
fn a_job_is_suspended_and_resumed() {
    let mut world = world(
        job(json!({"completions": 3, "parallelism": 3, "activeDeadlineSeconds": 60})),
        [],
    );
    let controller = Jobs::default();
    let again = world.sync(&controller, "shop", NAME);
    assert_eq!(again, Some(Duration::from_secs(60)));
    assert_eq!(
        status(&world).start_time.map(|time| time.0),
        Some(world.now)
    );
    world.take_reasons();
    // Suspended: pods go and do not count, and the clock stands still.
    world.pass(Duration::from_secs(50));
    world.change::<Job>("shop", NAME, |job| {
        job.spec.as_mut().expect("a spec").suspend = Some(true);
    });
    let again = world.sync(&controller, "shop", NAME);
    assert_eq!(again, None);
    assert_eq!(pods(&world).len(), 0);
    let seen = status(&world);
    assert_eq!(
        (seen.active, seen.failed, seen.start_time),
        (None, None, None)
    );
    assert_eq!(conditions(&world), ["Suspended"]);
    assert_eq!(
        last_condition(&world),
        ("JobSuspended".to_owned(), "Job suspended".to_owned())
    );
    assert_eq!(
        world.take_reasons(),
        [
            "SuccessfulDelete",
            "SuccessfulDelete",
            "SuccessfulDelete",
            "Suspended"
        ]
    );
    world.pass(Duration::from_secs(3_600));
    world.sync(&controller, "shop", NAME);
    assert_eq!(world.take_reasons(), [""; 0]);
    // Resumed: all begins anew.
    world.change::<Job>("shop", NAME, |job| {
        job.spec.as_mut().expect("a spec").suspend = Some(false);
    });
    let again = world.sync(&controller, "shop", NAME);
    assert_eq!(again, Some(Duration::from_secs(60)));
    assert_eq!(pods(&world).len(), 3);
    let seen = status(&world);
    assert_eq!(seen.start_time.map(|time| time.0), Some(world.now));
    assert_eq!(conditions(&world), [""; 0]);
    assert_eq!(
        last_condition(&world),
        ("JobResumed".to_owned(), "Job resumed".to_owned())
    );
    assert_eq!(world.take_reasons().last(), Some(&"Resumed"));
}

#[test]
fn a_job_that_begins_suspended_has_no_start_time() {
    let mut world = world(job(json!({"suspend": true, "completions": 1})), []);
    sync(&mut world);
    assert_eq!(status(&world).start_time, None);
    assert_eq!(conditions(&world), ["Suspended"]);
    assert!(pods(&world).is_empty());
}

/// `TestSyncJobPastDeadline`.
#[test]
fn a_job_that_takes_too_long_fails() {
    for (deadline, active, succeeded, failed, then_failed, then) in [
        (10, 1, 0, 0, 1, &["FailureTarget"][..]),
        (10, 1, 1, 0, 1, &["FailureTarget"]),
        (10, 0, 1, 0, 0, &["FailureTarget", "Failed"]),
        (10, 0, 0, 1, 1, &["FailureTarget", "Failed"]),
        (1_000, 2, 0, 0, 0, &[]),
    ] {
        let mut given = job(json!({
            "completions": 3, "parallelism": 2, "activeDeadlineSeconds": deadline,
        }));
        given["status"] = json!({"startTime": "2026-03-01T11:59:45Z"});
        let named = |count: usize, what: &str, phase: &str| -> Vec<Value> {
            (0..count)
                .map(|n| pod(&format!("{what}{n}"), phase))
                .collect()
        };
        let mut all = named(active, "a", "Running");
        all.extend(named(succeeded, "s", "Succeeded"));
        all.extend(named(failed, "f", "Failed"));
        let mut world = world(given, all);
        let again = sync(&mut world);
        assert_eq!(conditions(&world), then);
        assert_eq!(status(&world).failed.unwrap_or(0), then_failed);
        if then.is_empty() {
            assert_eq!(again, Some(Duration::from_secs(985)));
        } else {
            let why = "Job was active longer than specified deadline";
            assert_eq!(
                last_condition(&world),
                ("DeadlineExceeded".to_owned(), why.to_owned())
            );
        }
    }
}

#[test]
fn a_deadline_does_not_matter_while_suspended() {
    let mut given = job(json!({
        "completions": 1, "activeDeadlineSeconds": 1, "suspend": true,
    }));
    given["status"] = json!({"startTime": "2026-03-01T11:00:00Z"});
    let mut world = world(given, []);
    assert_eq!(sync(&mut world), None);
    assert_eq!(conditions(&world), ["Suspended"]);
}
