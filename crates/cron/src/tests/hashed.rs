//! `H`.

use super::*;
use std::collections::BTreeSet;

fn fields(text: &str, seed: &str) -> field::Fields {
    let schedule = Schedule::parse_hashed(text, seed).expect(text);
    match schedule.when {
        When::Fields(fields) => fields,
        When::Every(_) => panic!("fields"),
    }
}

#[test]
fn the_same_name_has_the_same_times_and_others_have_others() {
    let minutes = |count: usize| -> BTreeSet<u64> {
        let all = 0..count;
        all.map(|n| fields("H * * * *", &format!("shop/job-{n}")).minute)
            .collect()
    };
    assert_eq!(fields("H H * * *", "shop/a"), fields("H H * * *", "shop/a"));
    assert!(minutes(1_000).len() == 60, "all minutes are taken");
    assert!(minutes(60).len() > 30, "they are spread");
}

#[test]
fn each_field_has_a_value_within_its_bounds() {
    for n in 0..500 {
        let seed = format!("shop/job-{n}");
        let hashed = fields("H H H H H", &seed);
        for (bits, bounds, max) in [
            (hashed.minute, field::MINUTES, 59),
            (hashed.hour, field::HOURS, 23),
            (hashed.day_of_month, field::DAYS_OF_MONTH, 28),
            (hashed.month, field::MONTHS, 12),
            (hashed.day_of_week, field::DAYS_OF_WEEK, 6),
        ] {
            assert_eq!(bits.count_ones(), 1);
            let value = u64::from(bits.trailing_zeros());
            assert!((bounds.min..=max).contains(&value), "{value}");
        }
    }
}

#[test]
fn a_part_of_the_range_and_steps() {
    for n in 0..200 {
        let seed = format!("shop/job-{n}");
        let minute = fields("H(10-29) * * * *", &seed).minute;
        assert_eq!(minute & !field::bits(10, 29, 1), 0);
        assert_eq!(minute.count_ones(), 1);
        let minute = fields("H/15 * * * *", &seed).minute;
        assert_eq!(minute.count_ones(), 4);
        assert_eq!(
            minute,
            field::bits(u64::from(minute.trailing_zeros()), 59, 15)
        );
        let minute = fields("H(0-29)/10 * * * *", &seed).minute;
        assert_eq!(minute.count_ones(), 3);
        assert_eq!(minute & !field::bits(0, 29, 1), 0);
        let both = fields("H(0-9),45 * * * *", &seed).minute;
        assert_eq!(both.count_ones(), 2);
        assert_ne!(both & 1 << 45, 0);
        assert_eq!(fields("H/1 * * * *", &seed).minute.count_ones(), 1);
        let day = fields("0 0 * * H(mon-fri)", &seed).day_of_week;
        assert_eq!(day & !field::bits(1, 5, 1), 0);
    }
}

#[test]
fn what_makes_no_sense_is_told() {
    for (text, fault) in [
        (
            "H(0-70) * * * *",
            "end of range (70) above maximum (59): H(0-70)",
        ),
        (
            "H(5-2) * * * *",
            "beginning of range (5) beyond end of range (2): H(5-2)",
        ),
        ("H(5) * * * *", "missing hyphen: H(5)"),
        ("H(5-6 * * * *", "missing parenthesis: H(5-6"),
        (
            "H/0 * * * *",
            "step of range should be a positive number: H/0",
        ),
        (
            "H/70 * * * *",
            "step of range (70) beyond its size (60): H/70",
        ),
        ("Hx * * * *", "unexpected \"x\" after H: Hx"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
    ] {
        let error = Schedule::parse_hashed(text, "a/b").map(drop);
        assert_eq!(error, Err(fault.to_owned()), "{text}");
    }
    assert!(
        Schedule::parse("H * * * *").is_err(),
        "the standard has no H"
    );
}
