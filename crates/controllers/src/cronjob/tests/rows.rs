//! Whether something is launched.

use super::*;

/// How the last run is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Last {
    Never,
    Done,
    Active,
}

use Last::{Active, Done, Never};

struct Row {
    what: &'static str,
    policy: &'static str,
    suspend: bool,
    deadline_s: Option<i64>,
    schedule: &'static str,
    last: Last,
    now: &'static str,
    created: usize,
    deleted: usize,
    active: usize,
    again: bool,
    reasons: &'static [&'static str],
}

const IDLE: Row = Row {
    what: "",
    policy: "Allow",
    suspend: false,
    deadline_s: None,
    schedule: "0 * * * ?",
    last: Never,
    now: "09:59:00",
    created: 0,
    deleted: 0,
    active: 0,
    again: true,
    reasons: &[],
};

fn check(row: &Row) {
    let what = format!("{} {} {:?}", row.what, row.policy, row.last);
    let mut given = cron_job(row.schedule, today("09:01:00"));
    given["spec"]["concurrencyPolicy"] = json!(row.policy);
    given["spec"]["suspend"] = json!(row.suspend);
    given["spec"]["startingDeadlineSeconds"] = json!(row.deadline_s);
    if row.last != Never {
        given["metadata"]["creationTimestamp"] = json!("2016-05-19T08:59:00Z");
        given["status"] = json!({"lastScheduleTime": "2016-05-19T09:00:00Z"});
    }
    if row.last == Active {
        given["status"]["active"] = active("clean-24394140");
    }
    let now = match row.now.len() {
        8 => today(row.now),
        _ => at(row.now),
    };
    let mut world = world(now, given);
    if row.last != Never {
        let ended = (row.last == Done).then_some("Complete");
        let mut last = job("clean-24394140", today("09:00:00"), ended);
        last["status"]["completionTime"] = Value::Null;
        world.add_json::<Job>(last);
    }
    let again = sync(&mut world, &CronJobs::default());
    let count = |method| {
        world
            .writes
            .iter()
            .filter(|write| write.0 == method)
            .count()
    };
    assert_eq!(count(Method::Post), row.created, "created: {what}");
    assert_eq!(count(Method::Delete), row.deleted, "deleted: {what}");
    assert_eq!(active_names(&world).len(), row.active, "active: {what}");
    assert_eq!(again.is_some(), row.again, "again: {what}");
    assert_eq!(world.errors, [""; 0], "{what}");
    assert_eq!(world.take_reasons(), row.reasons, "{what}");
}

#[test]
fn a_first_run() {
    for policy in ["Allow", "Forbid", "Replace"] {
        for row in [
            Row {
                what: "not a schedule",
                schedule: "obvious error schedule",
                again: false,
                reasons: &["UnparseableSchedule"],
                policy,
                ..IDLE
            },
            Row {
                what: "not time",
                policy,
                ..IDLE
            },
            Row {
                what: "time",
                now: "10:00:00",
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                policy,
                ..IDLE
            },
            Row {
                what: "time, suspended",
                now: "10:00:00",
                suspend: true,
                again: false,
                policy,
                ..IDLE
            },
            Row {
                what: "past the deadline",
                now: "10:01:00",
                deadline_s: Some(10),
                policy,
                ..IDLE
            },
            Row {
                what: "not past the deadline",
                now: "10:01:00",
                deadline_s: Some(600),
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                policy,
                ..IDLE
            },
            Row {
                what: "never due",
                now: "10:01:00",
                schedule: "59 23 31 2 *",
                again: false,
                reasons: &["InvalidSchedule"],
                policy,
                ..IDLE
            },
        ] {
            check(&row);
        }
    }
}

#[test]
fn a_run_after_another() {
    for policy in ["Allow", "Forbid", "Replace"] {
        let base = Row {
            last: Done,
            policy,
            ..IDLE
        };
        for row in [
            Row {
                what: "not time",
                ..base
            },
            Row {
                what: "time",
                now: "10:00:00",
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                ..base
            },
            Row {
                what: "time, suspended",
                now: "10:00:00",
                suspend: true,
                again: false,
                ..base
            },
            Row {
                what: "past the deadline",
                now: "10:01:00",
                deadline_s: Some(10),
                ..base
            },
            Row {
                what: "not past the deadline",
                now: "10:01:00",
                deadline_s: Some(600),
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                ..base
            },
            Row {
                what: "a week late",
                now: "2016-05-26T10:01:00Z",
                created: 1,
                active: 1,
                reasons: &["TooManyMissedTimes", "SuccessfulCreate"],
                ..base
            },
            Row {
                what: "a week late with a deadline",
                now: "2016-05-26T10:01:00Z",
                deadline_s: Some(600),
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                ..base
            },
            Row {
                what: "a little late",
                now: "14:01:00",
                created: 1,
                active: 1,
                reasons: &["SuccessfulCreate"],
                ..base
            },
        ] {
            check(&row);
        }
    }
}

#[test]
fn a_run_while_another_is_active() {
    let base = Row {
        last: Active,
        active: 1,
        ..IDLE
    };
    for policy in ["Allow", "Forbid", "Replace"] {
        check(&Row {
            what: "not time",
            policy,
            ..base
        });
        check(&Row {
            what: "time, suspended",
            policy,
            now: "10:00:00",
            suspend: true,
            again: false,
            ..base
        });
        check(&Row {
            what: "past the deadline",
            policy,
            now: "10:01:00",
            deadline_s: Some(10),
            ..base
        });
    }
    for (now, deadline_s) in [("10:00:00", None), ("10:01:00", Some(600))] {
        let base = Row {
            now,
            deadline_s,
            what: "time",
            ..base
        };
        check(&Row {
            created: 1,
            active: 2,
            reasons: &["SuccessfulCreate"],
            ..base
        });
        check(&Row {
            policy: "Forbid",
            reasons: &["JobAlreadyActive"],
            ..base
        });
        check(&Row {
            policy: "Replace",
            created: 1,
            deleted: 1,
            reasons: &["SuccessfulDelete", "SuccessfulCreate"],
            ..base
        });
    }
}

#[test]
fn zones() {
    // Ten o'clock in UTC is six in New York.
    for (zone, schedule, due, reasons) in [
        (
            "America/New_York",
            "0 6 * * *",
            true,
            &["SuccessfulCreate"][..],
        ),
        ("America/New_York", "0 10 * * *", false, &[]),
        ("bad/zone", "0 * * * *", false, &["UnknownTimeZone"]),
    ] {
        let mut given = cron_job(schedule, today("09:01:00"));
        given["spec"]["timeZone"] = json!(zone);
        let mut world = world(today("10:00:00"), given);
        sync(&mut world, &CronJobs::default());
        assert_eq!(jobs(&world).len(), usize::from(due), "{zone} {schedule}");
        let bad = "invalid timeZone: \"bad/zone\": unknown time zone bad/zone";
        if zone == "bad/zone" {
            assert_eq!(world.events[0].message, bad);
        }
        assert_eq!(world.take_reasons(), reasons, "{zone} {schedule}");
    }
    // A schedule may name its zone, though it should not.
    let given = cron_job("TZ=America/New_York 0 6 * * *", today("09:01:00"));
    let mut world = world(today("10:00:00"), given);
    sync(&mut world, &CronJobs::default());
    assert_eq!(
        world.take_reasons(),
        ["UnsupportedSchedule", "SuccessfulCreate"]
    );
}
