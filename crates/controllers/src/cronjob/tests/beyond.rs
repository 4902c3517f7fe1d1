//! What annotations choose.

use super::*;

fn annotated(schedule: &str, created: &str, annotations: Value) -> Value {
    let mut given = cron_job(schedule, today(created));
    given["metadata"]["annotations"] = annotations;
    given
}

fn run(world: &mut World, controller: &CronJobs, span_s: u64) {
    world.join(0, controller);
    world.settle(&[controller], Duration::from_secs(span_s));
}

#[test]
fn what_was_missed_is_made_up_for_as_asked() {
    for (catch_up, launched) in [
        ("skip", &[][..]),
        ("latest", &["clean-24394200"]),
        (
            "all",
            &[
                "clean-24394020",
                "clean-24394080",
                "clean-24394140",
                "clean-24394200",
            ],
        ),
    ] {
        let annotations = json!({"stowplan.dev/catch-up": catch_up});
        let given = annotated("0 * * * ?", "06:30:00", annotations);
        let mut world = world(today("10:01:00"), given);
        run(&mut world, &CronJobs::default(), 10);
        assert_eq!(jobs(&world), launched, "{catch_up}");
        assert_eq!(world.errors, [""; 0]);
        let last = status(&world).last_schedule_time.map(|at| at.0);
        let expected = (catch_up != "skip").then(|| today("10:00:00"));
        assert_eq!(last, expected, "{catch_up}");
    }
}

#[test]
fn each_job_made_up_for_says_when_it_was_due() {
    let annotations = json!({"stowplan.dev/catch-up": "all"});
    let given = annotated("0 * * * ?", "06:30:00", annotations);
    let mut world = world(today("10:01:00"), given);
    run(&mut world, &CronJobs::default(), 10);
    let job = world.get::<Job>("shop", "clean-24394080");
    let annotations = job.metadata.annotations.clone().expect("annotations");
    assert_eq!(
        annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        "2016-05-19T08:00:00Z"
    );
    assert_eq!(active_names(&world).len(), 4);
}

#[test]
fn all_that_was_missed_one_after_the_other_if_only_one_may_run() {
    let annotations = json!({"stowplan.dev/catch-up": "all"});
    let mut given = annotated("0 * * * ?", "07:30:00", annotations);
    given["spec"]["concurrencyPolicy"] = json!("Forbid");
    let mut world = world(today("10:01:00"), given);
    let controller = CronJobs::default();
    world.join(0, &controller);
    for (name, launched) in [
        ("clean-24394080", 1),
        ("clean-24394140", 2),
        ("clean-24394200", 3),
    ] {
        world.settle(&[&controller], Duration::from_secs(5));
        assert_eq!(jobs(&world).len(), launched);
        assert_eq!(active_names(&world), [name]);
        world.change::<Job>("shop", name, |job| {
            let done = super::job("x", today("10:01:00"), Some("Complete"));
            let done: Job = serde_json::from_value(done).expect("a job");
            job.status = done.status;
        });
    }
    world.settle(&[&controller], Duration::from_secs(5));
    assert_eq!(jobs(&world).len(), 3);
}

#[test]
fn the_deadline_limits_what_is_made_up_for() {
    let annotations = json!({"stowplan.dev/catch-up": "all"});
    let mut given = annotated("0 * * * ?", "06:30:00", annotations);
    given["spec"]["startingDeadlineSeconds"] = json!(2 * 3_600);
    let mut world = world(today("10:01:00"), given);
    run(&mut world, &CronJobs::default(), 10);
    assert_eq!(jobs(&world), ["clean-24394140", "clean-24394200"]);
}

#[test]
fn what_is_skipped_when_late_is_launched_in_time() {
    let annotations = json!({"stowplan.dev/catch-up": "skip"});
    let given = annotated("0 * * * ?", "06:30:00", annotations);
    let mut world = world(today("09:59:00"), given);
    run(&mut world, &CronJobs::default(), 120);
    assert_eq!(jobs(&world), ["clean-24394200"]);
}

#[test]
fn the_night_when_the_clock_goes_back() {
    for (dst, launched) in [("twice", 2), ("once", 1), ("skip", 0)] {
        let mut given = cron_job("30 1 * * *", at("2012-11-04T04:00:00Z"));
        given["spec"]["timeZone"] = json!("America/New_York");
        given["metadata"]["annotations"] = json!({"stowplan.dev/dst": dst});
        let mut world = world(at("2012-11-04T04:00:00Z"), given);
        run(&mut world, &CronJobs::default(), 12 * 3_600);
        assert_eq!(jobs(&world).len(), launched, "{dst}");
    }
}

#[test]
fn the_night_when_the_clock_goes_forward() {
    for (dst, launched) in [("twice", 0), ("once", 1), ("skip", 0)] {
        let mut given = cron_job("30 2 * * *", at("2012-03-11T05:00:00Z"));
        given["spec"]["timeZone"] = json!("America/New_York");
        given["metadata"]["annotations"] = json!({"stowplan.dev/dst": dst});
        let mut world = world(at("2012-03-11T05:00:00Z"), given);
        run(&mut world, &CronJobs::default(), 12 * 3_600);
        assert_eq!(jobs(&world).len(), launched, "{dst}");
    }
}

#[test]
fn a_schedule_that_is_spread() {
    let mut minutes = std::collections::BTreeSet::new();
    for n in 0..20 {
        let mut given = annotated(
            "0 0 1 1 *",
            "09:00:00",
            json!({"stowplan.dev/schedule": "H * * * *"}),
        );
        given["metadata"]["name"] = json!(format!("cron-{n}"));
        let mut world = World::default();
        world.now = today("09:00:00");
        world.add_json::<CronJob>(given);
        let controller = CronJobs::default();
        run(&mut world, &controller, 2 * 3_600);
        assert_eq!(jobs(&world).len(), 2);
        let job = &world.cluster.all::<Job>()[0];
        let annotations = job.metadata.annotations.clone().expect("annotations");
        let scheduled = annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"].clone();
        minutes.insert(at(&scheduled).as_second() / 60 % 60);
    }
    assert!(minutes.len() > 10, "{minutes:?}");
}

#[test]
fn a_policy_that_is_not_known_launches_nothing() {
    for (key, message) in [
        (
            "stowplan.dev/dst",
            "invalid schedule: annotation stowplan.dev/dst is \"often\": must be once, twice or skip",
        ),
        (
            "stowplan.dev/catch-up",
            "invalid schedule: annotation stowplan.dev/catch-up is \"often\": must be skip, latest or all",
        ),
    ] {
        let given = annotated("0 * * * ?", "06:30:00", json!({key: "often"}));
        let mut world = world(today("10:01:00"), given);
        sync(&mut world, &CronJobs::default());
        assert_eq!(jobs(&world), [""; 0]);
        assert_eq!(world.events[0].message, message);
    }
    let given = annotated(
        "0 * * * ?",
        "06:30:00",
        json!({"stowplan.dev/schedule": "H(9) * * * *"}),
    );
    let mut world = world(today("10:01:00"), given);
    sync(&mut world, &CronJobs::default());
    assert_eq!(
        world.events[0].message,
        "unparseable schedule: \"H(9) * * * *\" : missing hyphen: H(9)"
    );
}
