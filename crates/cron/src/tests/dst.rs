//! Days when the clock is moved, under each policy.

use super::*;

/// All times due on a day in New York or in Sao Paulo.
fn due(zone: &str, text: &str, dst: Dst, day: &str) -> Vec<String> {
    let zone = time_zone(zone).expect("a zone");
    let schedule = Schedule::parse(text).expect(text);
    let schedule = schedule.in_zone(zone.clone()).with_dst(dst);
    let date: jiff::civil::Date = day.parse().expect("a day");
    let begin = date.to_zoned(zone.clone()).expect("a day").timestamp();
    let end = date.tomorrow().expect("a day").to_zoned(zone.clone());
    let end = end.expect("a day").timestamp();
    let mut all = Vec::new();
    let mut last = begin - jiff::SignedDuration::from_secs(1);
    while let Some(next) = schedule.next(last)
        && next < end
    {
        all.push(next.to_zoned(zone.clone()).strftime("%H:%M%z").to_string());
        last = next;
    }
    all
}

const NEW_YORK: &str = "America/New_York";
const SPRING: &str = "2012-03-11";
const AUTUMN: &str = "2012-11-04";

#[test]
fn a_time_that_is_not_shown() {
    for (text, dst, times) in [
        ("30 2 * * *", Dst::Twice, &[][..]),
        ("30 2 * * *", Dst::Once, &["03:00-0400"]),
        ("30 2 * * *", Dst::Skip, &[]),
        // It is due once, however often it would have been.
        ("*/15 2 * * *", Dst::Once, &["03:00-0400"]),
        (
            "30 1,2,3 * * *",
            Dst::Once,
            &["01:30-0500", "03:00-0400", "03:30-0400"],
        ),
        ("30 1,2,3 * * *", Dst::Skip, &["01:30-0500", "03:30-0400"]),
        ("0 2,3 * * *", Dst::Once, &["03:00-0400"]),
        ("30 2 12 * *", Dst::Once, &[]),
        ("0 3 * * *", Dst::Once, &["03:00-0400"]),
    ] {
        assert_eq!(due(NEW_YORK, text, dst, SPRING), times, "{text} {dst:?}");
    }
}

#[test]
fn a_time_that_is_shown_twice() {
    for (text, dst, times) in [
        ("30 1 * * *", Dst::Twice, &["01:30-0400", "01:30-0500"][..]),
        ("30 1 * * *", Dst::Once, &["01:30-0400"]),
        ("30 1 * * *", Dst::Skip, &[]),
        (
            "0,30 1,2 * * *",
            Dst::Once,
            &["01:00-0400", "01:30-0400", "02:00-0500", "02:30-0500"],
        ),
        (
            "0 0-3 * * *",
            Dst::Skip,
            &["00:00-0400", "02:00-0500", "03:00-0500"],
        ),
    ] {
        assert_eq!(due(NEW_YORK, text, dst, AUTUMN), times, "{text} {dst:?}");
    }
}

#[test]
fn what_is_due_every_hour_keeps_its_pace() {
    for dst in [Dst::Twice, Dst::Once, Dst::Skip] {
        assert_eq!(due(NEW_YORK, "0 * * * *", dst, SPRING).len(), 23, "{dst:?}");
        assert_eq!(due(NEW_YORK, "0 * * * *", dst, AUTUMN).len(), 25, "{dst:?}");
        assert_eq!(due(NEW_YORK, "@every 1h", dst, AUTUMN).len(), 25, "{dst:?}");
    }
}

#[test]
fn a_day_that_begins_at_one() {
    let zone = "America/Sao_Paulo";
    assert_eq!(
        due(zone, "0 0 * * *", Dst::Once, "2018-11-04"),
        ["01:00-0200"]
    );
    assert_eq!(due(zone, "0 0 * * *", Dst::Skip, "2018-11-04"), [""; 0]);
    // Midnight itself was shown twice when it ended: the day before has it both times.
    assert_eq!(
        due(zone, "30 23 * * *", Dst::Once, "2018-02-17"),
        ["23:30-0200"]
    );
    assert_eq!(
        due(zone, "30 23 * * *", Dst::Twice, "2018-02-17"),
        ["23:30-0200", "23:30-0300"]
    );
}

#[test]
fn a_gap_is_found_though_nothing_else_is_ever_due() {
    let schedule = Schedule::parse("TZ=America/New_York 30 2 8-14 3 *").expect("a schedule");
    let schedule = schedule.with_dst(Dst::Once);
    let next = schedule.next(at("2012-03-11T06:00:00Z"));
    assert_eq!(next, Some(at("2012-03-11T07:00:00Z")));
    assert_eq!(
        schedule.next(at("2012-03-11T07:00:00Z")),
        Some(at("2012-03-12T06:30:00Z"))
    );
}
