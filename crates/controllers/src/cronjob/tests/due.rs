//! Which time is due, and when the next one is.

use super::*;

/// `TestMostRecentScheduleTime`, `TestNextScheduleTimeDuration`.
#[test]
fn the_time_that_is_due() {
    for (schedule, created, last, deadline_s, now, due, missed) in [
        (
            "0 * * * *",
            "10:00:00",
            "",
            None,
            "10:00:10",
            "",
            Missed::None,
        ),
        (
            "0 * * * *",
            "10:00:00",
            "",
            None,
            "11:00:10",
            "11:00:00",
            Missed::None,
        ),
        (
            "0 * * * *",
            "10:00:00",
            "11:00:00",
            None,
            "11:00:10",
            "",
            Missed::None,
        ),
        (
            "0 * * * *",
            "10:00:00",
            "11:00:00",
            None,
            "12:00:10",
            "12:00:00",
            Missed::None,
        ),
        (
            "0 * * * *",
            "05:00:00",
            "",
            None,
            "10:00:10",
            "10:00:00",
            Missed::Few,
        ),
        (
            "* * * * *",
            "05:00:00",
            "",
            None,
            "10:00:10",
            "10:00:00",
            Missed::Many,
        ),
        (
            "* * * * *",
            "05:00:00",
            "",
            Some(120),
            "10:00:10",
            "10:00:00",
            Missed::Few,
        ),
        (
            "30 6-16/4 * * 1-5",
            "01:00:00",
            "06:30:00",
            None,
            "10:30:00",
            "10:30:00",
            Missed::None,
        ),
        (
            "30 6-16/4 * * 1-5",
            "01:00:00",
            "06:30:00",
            None,
            "23:30:00",
            // Upstream guesses how many were missed by the first two, and looks too late.
            "",
            Missed::Few,
        ),
        (
            "@every 1h",
            "09:15:00",
            "",
            None,
            "12:20:00",
            "12:15:00",
            Missed::Few,
        ),
        (
            "@every 1h",
            "09:15:00",
            "10:15:00",
            None,
            "10:20:00",
            "",
            Missed::None,
        ),
    ] {
        let what = format!("{schedule} {created} {last} {now}");
        let mut given = cron_job(schedule, today(created));
        given["spec"]["startingDeadlineSeconds"] = json!(deadline_s);
        if !last.is_empty() {
            given["status"] = json!({"lastScheduleTime": today(last).to_string()});
        }
        let given: CronJob = serde_json::from_value(given).expect("a CronJob");
        let Ok(options) = Options::of(&given) else {
            panic!("{what}");
        };
        let ticks = Ticks::new(&given, &options, None, today(now));
        let found = ticks.due().expect(&what);
        let expected = (!due.is_empty()).then(|| (today(due), missed));
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn how_long_until_the_next_time() {
    for (schedule, created, now, seconds) in [
        ("0 * * * *", "10:00:00", "10:00:10", 3_590),
        ("0 * * * *", "05:00:00", "10:00:10", 3_590),
        ("30 6-16/4 * * 1-5", "01:00:00", "14:30:10", 57_590),
        ("@every 1h", "09:15:00", "12:20:00", 3_300),
        ("0 0 1 1 *", "09:15:00", "12:20:00", 19_568_400),
    ] {
        let given = cron_job(schedule, today(created));
        let given: CronJob = serde_json::from_value(given).expect("a CronJob");
        let Ok(options) = Options::of(&given) else {
            panic!("{schedule}");
        };
        let ticks = Ticks::new(&given, &options, None, today(now));
        let expected = Duration::from_millis(seconds * 1_000 + 100);
        assert_eq!(ticks.until_next(), Some(expected), "{schedule}");
    }
}
