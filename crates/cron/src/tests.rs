//! robfig/cron's tables: `spec_test.go`, `parser_test.go`, `constantdelay_test.go`.

use super::field::STAR;
use super::*;

mod dst;
mod hashed;
mod rows;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// A time as the rows have it: in UTC unless it has an offset.
fn time(text: &str) -> Timestamp {
    match text.len() {
        16 => at(&format!("{text}:00Z")),
        19 => at(&format!("{text}Z")),
        _ => at(text),
    }
}

#[test]
fn a_time_is_due_or_not() {
    for (time_text, text, is_due) in rows::ACTIVATION {
        let schedule = Schedule::parse(text).expect(text);
        let due = time(time_text);
        let next = schedule.next(due - jiff::SignedDuration::from_secs(1));
        assert_eq!(
            next == Some(due),
            *is_due,
            "{text} at {time_text}: {next:?}"
        );
    }
}

#[test]
fn the_next_time_is_upstreams() {
    for (after, text, next) in rows::NEXT {
        let schedule = Schedule::parse_with_seconds(text).expect(text);
        let expected = (!next.is_empty()).then(|| time(next));
        assert_eq!(schedule.next(time(after)), expected, "{text} after {after}");
    }
}

#[test]
fn the_next_time_is_on_a_second() {
    for (after, delay, next) in rows::EVERY {
        let schedule = Schedule::parse(&format!("@every {delay}")).expect(delay);
        assert_eq!(
            schedule.next(time(after)),
            Some(time(next)),
            "{delay} after {after}"
        );
    }
    let schedule = Schedule::parse("* * * * *").expect("a schedule");
    let next = schedule.next(at("2012-07-09T14:45:00.5Z"));
    assert_eq!(next, Some(at("2012-07-09T14:46:00Z")));
    let next = schedule.next(at("1969-12-31T23:58:59.5Z"));
    assert_eq!(next, Some(at("1969-12-31T23:59:00Z")));
}

#[test]
fn a_schedule_without_a_zone_is_in_the_one_that_is_given() {
    let zone = time_zone("Asia/Kolkata").expect("a zone");
    for (after, next) in [
        ("2016-01-03T13:09:03+05:30", "2016-01-03T14:14:00+05:30"),
        ("2016-01-03T04:09:03+05:30", "2016-01-03T14:14:00+05:30"),
        ("2016-01-03T14:00:00+05:30", "2016-01-03T14:14:00+05:30"),
        ("2016-01-03T14:14:00+05:30", "2016-01-04T14:14:00+05:30"),
    ] {
        let schedule = Schedule::parse("14 14 * * ?").expect("a schedule");
        let schedule = schedule.in_zone(zone.clone());
        assert_eq!(schedule.next(at(after)), Some(at(next)), "{after}");
    }
}

#[test]
fn zones_are_known_by_their_exact_names() {
    assert!(time_zone("Europe/Berlin").is_some());
    assert!(time_zone("europe/berlin").is_none());
    assert!(time_zone("Mars/Phobos").is_none());
    assert_eq!(time_zone("Local"), Some(TimeZone::UTC));
}

#[test]
fn faults_are_told_in_upstreams_words() {
    for (text, fault) in rows::FAULTS {
        let error = Schedule::parse(text).map(drop).expect_err(text);
        assert_eq!(error, *fault, "{text}");
    }
}

#[test]
fn ranges_are_sets_of_values() {
    let bits = |values: &[u64]| values.iter().fold(0, |all, value| all | 1 << value);
    for (text, min, max, values) in [
        ("5", 0, 7, bits(&[5])),
        ("0", 0, 7, bits(&[0])),
        ("7", 0, 7, bits(&[7])),
        ("5-5", 0, 7, bits(&[5])),
        ("5-6", 0, 7, bits(&[5, 6])),
        ("5-7", 0, 7, bits(&[5, 6, 7])),
        ("5-6/2", 0, 7, bits(&[5])),
        ("5-7/2", 0, 7, bits(&[5, 7])),
        ("5-7/1", 0, 7, bits(&[5, 6, 7])),
        ("*", 1, 3, bits(&[1, 2, 3]) | STAR),
        ("?", 1, 3, bits(&[1, 2, 3]) | STAR),
        ("*/1", 1, 3, bits(&[1, 2, 3]) | STAR),
        ("*/2", 1, 3, bits(&[1, 3])),
        ("5/2", 0, 9, bits(&[5, 7, 9])),
        ("5,6,7", 1, 7, bits(&[5, 6, 7])),
        ("1,5-7/2,3", 1, 7, bits(&[1, 3, 5, 7])),
        (",5,", 1, 7, bits(&[5])),
        (",", 1, 7, 0),
    ] {
        let read = field::plain(min, max).read(text, None);
        assert_eq!(read, Ok(values), "{text}");
    }
    for (text, min, max, fault) in [
        ("5--5", 0, 0, "too many hyphens: 5--5"),
        (
            "jan-x",
            0,
            0,
            "failed to parse int from jan: strconv.Atoi: parsing \"jan\": invalid syntax",
        ),
        (
            "2-x",
            1,
            5,
            "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        ("*/-12", 0, 0, "negative number (-12) not allowed: -12"),
        ("*//2", 0, 0, "too many slashes: *//2"),
        ("1", 3, 5, "beginning of range (1) below minimum (3): 1"),
        ("6", 3, 5, "end of range (6) above maximum (5): 6"),
        (
            "5-3",
            3,
            5,
            "beginning of range (5) beyond end of range (3): 5-3",
        ),
        (
            "*/0",
            0,
            0,
            "step of range should be a positive number: */0",
        ),
        (
            "H",
            0,
            59,
            "failed to parse int from H: strconv.Atoi: parsing \"H\": invalid syntax",
        ),
    ] {
        let read = field::plain(min, max).read(text, None);
        assert_eq!(read, Err(fault.to_owned()), "{text}");
    }
}

#[test]
fn a_star_is_all_values() {
    for (bounds, all) in [
        (field::MINUTES, 0x0fff_ffff_ffff_ffff),
        (field::HOURS, 0x00ff_ffff),
        (field::DAYS_OF_MONTH, 0xffff_fffe),
        (field::MONTHS, 0x1ffe),
        (field::DAYS_OF_WEEK, 0x7f),
    ] {
        assert_eq!(bounds.all(), all | STAR);
    }
}

/// The naive way: the second after second, which a clock in UTC cannot get wrong.
#[test]
fn every_minute_that_matches_is_found_and_no_other() {
    for text in [
        "*/7 3-5,22 * * *",
        "0 0 31 * 1",
        "59 23 28-31 2 *",
        "13 */6 1-7 */3 fri",
        "30 6-16/4 * * 1-5",
    ] {
        let schedule = Schedule::parse(text).expect(text);
        let When::Fields(fields) = &schedule.when else {
            panic!("fields");
        };
        let start = at("2023-12-30T00:00:00Z");
        let mut found = Vec::new();
        let mut last = start;
        while let Some(next) = schedule.next(last)
            && next < at("2024-03-03T00:00:00Z")
        {
            found.push(next.as_second());
            last = next;
        }
        let mut expected = Vec::new();
        for minute in 1..64 * 24 * 60 {
            let second = start.as_second() + minute * 60;
            let shows = TimeZone::UTC.to_datetime(Timestamp::from_second(second).expect("a time"));
            let has = |bits: u64, value: i8| bits >> value & 1 == 1;
            let of_month = has(fields.day_of_month, shows.day());
            let of_week = has(fields.day_of_week, shows.weekday().to_sunday_zero_offset());
            let is_day = match (fields.day_of_month | fields.day_of_week) & STAR != 0 {
                true => of_month && of_week,
                false => of_month || of_week,
            };
            if is_day
                && has(fields.month, shows.month())
                && has(fields.hour, shows.hour())
                && has(fields.minute, shows.minute())
            {
                expected.push(second);
            }
        }
        assert_eq!(found, expected, "{text}");
    }
}
