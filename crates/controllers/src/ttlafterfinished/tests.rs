//! Upstream's tables: `ttlafterfinished_controller_test.go`.

use super::*;
use crate::testing::World;
use serde_json::Value;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn job(ttl: Value, conditions: Value) -> Value {
    json!({
        "metadata": {"name": "j", "namespace": "shop"},
        "spec": {"ttlSecondsAfterFinished": ttl, "template": {}},
        "status": {"conditions": conditions},
    })
}

fn ended(type_: &str, status: &str, at: &str) -> Value {
    json!([{"type": type_, "status": status, "lastTransitionTime": at}])
}

/// Whether it is deleted at noon, and when it is looked at again.
fn check(job: Value) -> (bool, Option<Duration>) {
    let mut world = World::default();
    world.now = at("2026-03-01T12:00:00Z");
    world.add_json::<Job>(job);
    let again = world.sync(&TtlAfterFinished, "shop", "j");
    let is_deleted = world.cluster.all::<Job>().is_empty();
    assert_eq!(world.errors, [""; 0]);
    (is_deleted, again)
}

#[test]
fn a_job_stays_as_long_as_it_says() {
    let noon = "2026-03-01T12:00:00Z";
    let before = "2026-03-01T11:59:50Z";
    let later = "2026-03-01T12:00:05Z";
    let seconds = |s| Some(Duration::from_secs(s));
    for (ttl, conditions, expected) in [
        (
            json!(null),
            ended("Complete", "True", before),
            (false, None),
        ),
        (json!(0), json!([]), (false, None)),
        (json!(0), ended("Complete", "False", before), (false, None)),
        (json!(0), ended("Suspended", "True", before), (false, None)),
        (json!(0), ended("Complete", "True", noon), (true, None)),
        (json!(0), ended("Failed", "True", before), (true, None)),
        (json!(10), ended("Complete", "True", before), (true, None)),
        (
            json!(11),
            ended("Complete", "True", before),
            (false, seconds(1)),
        ),
        (
            json!(10),
            ended("Failed", "True", noon),
            (false, seconds(10)),
        ),
        // It ended in the future: clocks differ.
        (
            json!(10),
            ended("Complete", "True", later),
            (false, seconds(15)),
        ),
    ] {
        let what = format!("{ttl} {conditions}");
        assert_eq!(check(job(ttl, conditions)), expected, "{what}");
    }
}

#[test]
fn its_pods_go_first_and_only_if_it_is_what_it_was() {
    let mut world = World::default();
    world.add_json::<Job>(job(
        json!(0),
        ended("Complete", "True", "2026-03-01T11:00:00Z"),
    ));
    let version = world
        .get::<Job>("shop", "j")
        .metadata
        .resource_version
        .clone();
    world.sync(&TtlAfterFinished, "shop", "j");
    let (_, _, options) = &world.writes[0];
    assert_eq!(options["propagationPolicy"], "Foreground");
    assert_eq!(options["preconditions"]["resourceVersion"], json!(version));
}

#[test]
fn a_time_that_is_not_known_is_an_error() {
    let mut world = World::default();
    world.add_json::<Job>(job(
        json!(0),
        json!([{"type": "Complete", "status": "True"}]),
    ));
    world.sync(&TtlAfterFinished, "shop", "j");
    assert_eq!(
        world.errors,
        ["unable to find the time when the Job shop/j finished"]
    );
    assert_eq!(world.cluster.all::<Job>().len(), 1);
}

#[test]
fn a_job_that_ends_is_looked_at_until_it_goes() {
    let mut world = World::default();
    world.join(0, &TtlAfterFinished);
    world.add_json::<Job>(job(json!(60), json!([])));
    world.settle(&[&TtlAfterFinished], Duration::from_secs(600));
    assert_eq!(world.cluster.all::<Job>().len(), 1);
    let now = world.now.to_string();
    world.add_json::<Job>(job(json!(60), ended("Complete", "True", &now)));
    world.settle(&[&TtlAfterFinished], Duration::from_secs(59));
    assert_eq!(world.cluster.all::<Job>().len(), 1);
    world.settle(&[&TtlAfterFinished], Duration::from_secs(2));
    assert!(world.cluster.all::<Job>().is_empty());
}
