//! Sets of indices: `indexed_job_utils_test.go`, `success_policy_test.go`.

use super::super::indexes::Intervals;
use super::super::success_policy::met;
use super::*;
use k8s_openapi::api::batch::v1::JobSpec;
use std::collections::BTreeSet;

#[test]
fn texts_are_read_and_written() {
    for (text, completions, read) in [
        ("", 10, ""),
        ("3", 10, "3"),
        ("1,2", 10, "1,2"),
        ("1,2,3", 10, "1-3"),
        ("0-2,4,6,7", 10, "0-2,4,6,7"),
        ("0-5", 3, "0-2"),
        ("0,5", 3, "0"),
        ("1-10", 8, "1-7"),
        ("0,1-3,x,6-y,8", 10, "0-3,8"),
    ] {
        let all = Intervals::parse(text, completions);
        assert_eq!(all.to_string(), read, "{text}");
    }
}

#[test]
fn sets_are_joined() {
    for (before, new, joined, total) in [
        ("", &[][..], "", 0),
        ("", &[1], "1", 1),
        ("", &[2, 4], "2,4", 2),
        ("", &[0, 1, 3, 4, 5], "0,1,3-5", 5),
        ("0,4,5,10-12", &[2, 7, 8], "0,2,4,5,7,8,10-12", 9),
        ("3,6", &[2, 4, 5, 8], "2-6,8", 6),
        ("2,7,8,10", &[4], "2,4,7,8,10", 5),
        ("2-7", &[0, 3, 5, 9], "0,2-7,9", 8),
    ] {
        let before = Intervals::parse(before, 100);
        let joined_with = before.with(&new.iter().copied().collect::<BTreeSet<_>>());
        assert_eq!(joined_with.to_string(), joined);
        assert_eq!(joined_with.total(), total);
        for index in 0..15 {
            let mut text = joined.split(',').filter(|range| !range.is_empty());
            let is_in = text.any(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let ends = (first.parse::<i64>(), last.parse::<i64>());
                matches!(ends, (Ok(first), Ok(last)) if (first..=last).contains(&index))
            });
            assert_eq!(joined_with.has(index), is_in, "{index} in {joined}");
        }
    }
}

#[test]
fn the_first_that_are_missing() {
    for (taken, count, completions, missing) in [
        ("", 8, 5, &[0, 1, 2, 3, 4][..]),
        ("", 2, 5, &[0, 1]),
        ("0,1", 3, 10, &[2, 3, 4]),
        ("6-9", 6, 6, &[0, 1, 2, 3, 4, 5]),
        ("1,2,4,5,9", 5, 20, &[0, 3, 6, 7, 8]),
        ("0-9", 3, 10, &[]),
        ("", 0, 10, &[]),
    ] {
        let taken = Intervals::parse(taken, 100);
        assert_eq!(taken.missing(count, completions), missing);
    }
}

#[test]
fn a_success_policy_is_met_or_not() {
    for (rules, succeeded, rule) in [
        (json!([{"succeededIndexes": "0-2"}]), "0,2-4", None),
        (json!([{"succeededIndexes": "0-2"}]), "0-4", Some(0)),
        (
            json!([{"succeededIndexes": "0-2", "succeededCount": 2}]),
            "0,2-4",
            Some(0),
        ),
        (
            json!([{"succeededIndexes": "0-2", "succeededCount": 3}]),
            "0,2-4",
            None,
        ),
        (json!([{"succeededCount": 4}]), "0,2-4", Some(0)),
        (json!([{"succeededCount": 5}]), "0,2-4", None),
        (
            json!([{"succeededCount": 5}, {"succeededIndexes": "0,4"}]),
            "0,2-4",
            Some(1),
        ),
        (json!([{"succeededIndexes": "x"}]), "0,2-4", None),
        (
            json!([{"succeededIndexes": "0-2,6-8", "succeededCount": 4}]),
            "1-7",
            Some(0),
        ),
        (json!([{"succeededIndexes": "5-20"}]), "5-9", Some(0)),
        (json!([{"succeededCount": 0}]), "", None),
    ] {
        let what = format!("{rules} {succeeded}");
        let spec: JobSpec = serde_json::from_value(json!({
            "completions": 10, "template": {}, "successPolicy": {"rules": rules},
        }))
        .expect("a spec");
        let found = met(&spec, &Intervals::parse(succeeded, 10));
        let expected = rule.map(|rule| format!("Matched rules at index {rule}"));
        assert_eq!(found, expected, "{what}");
    }
}
