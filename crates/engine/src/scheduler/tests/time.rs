//! Time and backoff, and pop.

use super::Rig;
use crate::model::Pod;
use crate::testing::World;

fn priority(priority: i32) -> impl FnOnce(&mut World, &mut Pod) {
    move |_, pod| pod.priority = priority
}

#[test]
fn semantic_01_backoff_doubles_with_rejections_or_with_consecutive_errors() {
    let mut rig = Rig::new();
    rig.at(1_000).popped("p", |_, _| {});
    rig.reject("p", &["NodeAffinity"]);
    assert_eq!(rig.expiry_ms("p"), 2_000);

    let retry = |rig: &mut Rig, at: i64| {
        rig.at(at);
        rig.activate("p");
        assert_eq!(rig.pop().as_deref(), Some("p"));
    };
    retry(&mut rig, 10_000);
    rig.reject("p", &["NodeAffinity"]);
    assert_eq!(rig.expiry_ms("p"), 12_000);

    retry(&mut rig, 20_000);
    rig.error("p");
    assert_eq!(rig.expiry_ms("p"), 21_000, "the first error");

    rig.at(30_000);
    assert_eq!(rig.pop().as_deref(), Some("p"));
    rig.reject("p", &["NodeAffinity"]);
    assert_eq!(rig.expiry_ms("p"), 34_000, "the third rejection");
    assert_eq!(rig.queued("p").consecutive_errors, 0);

    for (at, seconds) in [(40_000, 8), (60_000, 10), (80_000, 10)] {
        retry(&mut rig, at);
        rig.reject("p", &["NodeAffinity"]);
        assert_eq!(rig.expiry_ms("p"), at + seconds * 1_000);
    }
}

#[test]
fn semantic_02_expiry_is_truncated_to_the_second() {
    let mut rig = Rig::new();
    rig.at(972).unschedulable("p", &["NodeName"], |_, _| {});
    assert_eq!(rig.expiry_ms("p"), 1_000);
    rig.at(1_725).node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff", "all of its last second");
    rig.at(1_999);
    assert_eq!(rig.place("p"), "backoff");
    rig.at(2_000);
    assert_eq!(rig.place("p"), "active");
    assert_eq!(rig.incoming("active/BackoffComplete"), 1);
}

#[test]
fn semantic_03_an_event_wakes_into_backoff_or_active_by_the_same_test() {
    let mut rig = Rig::new();
    rig.at(972).unschedulable("p", &["NodeName"], |_, _| {});
    rig.at(2_001).node("n", |_, _| {});
    assert_eq!(rig.place("p"), "active", "its backoff ended in the pool");
    assert_eq!(rig.expiry_ms("p"), 1_000, "moves do not touch it");
}

#[test]
fn semantic_04_timestamp_is_set_at_entry_and_at_failure_only() {
    let mut rig = Rig::new();
    rig.at(1_500).pending("p");
    rig.at(1_600).update("p", |world, pod| {
        pod.labels = world.labels(&[("a", "b")]);
    });
    let queued = rig.queued("p").clone();
    assert_eq!(queued.timestamp.as_millis(), 1_500);
    assert_eq!(queued.initial_attempt.map(|t| t.as_millis()), Some(1_500));
    rig.at(1_700).pop();
    rig.at(1_800).reject("p", &["NodeName"]);
    rig.at(1_900).node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff");
    let queued = rig.queued("p").clone();
    assert_eq!(queued.timestamp.as_millis(), 1_800);
    assert_eq!(queued.initial_attempt.map(|t| t.as_millis()), Some(1_500));

    // A gated pod has not entered active.
    rig.create("gated", |world, pod| {
        pod.scheduling_gates = [world.sym("g")].into();
    });
    assert_eq!(rig.queued("gated").initial_attempt, None);
    rig.at(5_000).update("gated", |_, pod| {
        pod.scheduling_gates = Box::default();
    });
    let queued = rig.queued("gated").clone();
    assert_eq!(queued.timestamp.as_millis(), 1_900);
    assert_eq!(queued.initial_attempt.map(|t| t.as_millis()), Some(5_000));
}

#[test]
fn semantic_05_leftovers_are_flushed_when_the_limit_is_passed() {
    let mut rig = Rig::new();
    // The flush is due at 934 + k * 30 000.
    rig.at(30_934).unschedulable("p", &["NodeName"], |_, _| {});
    rig.create("gated", |world, pod| {
        pod.scheduling_gates = [world.sym("g")].into();
    });
    rig.at(330_934);
    assert_eq!(rig.place("p"), "unschedulable", "exactly the limit");
    rig.at(360_933);
    assert_eq!(rig.place("p"), "unschedulable");
    rig.at(360_934);
    assert_eq!(rig.place("p"), "active");
    assert!(rig.queued("p").flushed);
    assert_eq!(rig.incoming("active/UnschedulableTimeout"), 1);

    let entered = "unschedulable/UnschedulableTimeout";
    assert_eq!(rig.place("gated"), "gated");
    assert_eq!(rig.incoming(entered), 1);
    assert!(!rig.queued("gated").flushed, "it was not tried");
    rig.at(660_934);
    assert_eq!(rig.incoming(entered), 1, "not before another full period");
    rig.at(690_934);
    assert_eq!(rig.incoming(entered), 2);
}

#[test]
fn semantic_06_pop_takes_the_head_of_backoff_when_nothing_is_active() {
    let mut rig = Rig::new();
    rig.at(1_100)
        .unschedulable("low", &["NodeName"], priority(1));
    rig.at(1_200)
        .unschedulable("late", &["NodeName"], priority(5));
    rig.at(1_300)
        .unschedulable("high", &["NodeName"], priority(9));
    rig.at(1_999)
        .unschedulable("next", &["NodeName"], priority(99));
    // Two failures: the later second comes last, whatever the priority.
    rig.activate("next");
    rig.pop();
    rig.reject("next", &["NodeName"]);
    rig.node("n", |_, _| {});
    let popped: Vec<_> = std::iter::from_fn(|| rig.pop()).collect();
    assert_eq!(popped, ["high", "late", "low", "next"]);
    assert_eq!(rig.incoming("active/PopFromBackoffQ"), 4);
}

#[test]
fn semantic_07_pods_in_error_backoff_are_never_popped_early() {
    let mut rig = Rig::new();
    rig.at(1_100).popped("broken", |_, _| {});
    rig.error("broken");
    rig.at(1_200).popped("alone", |_, _| {});
    rig.fail("alone", super::Failure::NoNodes, super::Nomination::Keep);
    assert_eq!(rig.place("broken"), "error_backoff");
    assert_eq!(rig.place("alone"), "error_backoff");
    assert_eq!(rig.pop(), None);
    rig.at(3_000);
    assert_eq!(rig.pop().as_deref(), Some("broken"));
}

#[test]
fn semantic_08_attempts_rise_at_pop_and_plugins_stay_until_the_next_failure() {
    let mut rig = Rig::new();
    rig.at(1_100).unschedulable("p", &["NodeName"], |_, _| {});
    assert_eq!(rig.queued("p").attempts, 1);
    rig.node("n", |_, _| {});
    assert_eq!(rig.plugins("p"), ["NodeName"]);
    rig.at(3_000);
    assert_eq!(rig.place("p"), "active");
    assert_eq!(rig.plugins("p"), ["NodeName"]);
    assert_eq!(rig.queued("p").attempts, 1);
    rig.pop();
    let in_flight = rig.scheduler.attempts().next().expect("popped");
    assert_eq!(in_flight.attempts, 2);
    assert!(!in_flight.unschedulable_plugins.is_empty());
    rig.reject("p", &["NodePorts"]);
    assert_eq!(rig.plugins("p"), ["NodePorts"]);
}

#[test]
fn a_clock_that_jumps_fires_each_timer_at_its_own_time() {
    let mut rig = Rig::new();
    rig.at(1_100).unschedulable("p", &["NodeName"], |_, _| {});
    rig.at(3_600_000);
    assert_eq!(rig.place("p"), "active");
    assert!(rig.queued("p").flushed);
    let flushed = rig.queued("p").flush_timestamp.map(|t| t.as_millis());
    assert_eq!(flushed, Some(330_934), "the first flush past the limit");
    rig.at(7_200_000);
    assert_eq!(rig.pop().as_deref(), Some("p"));
}

#[test]
fn next_tick_is_when_something_can_happen() {
    let mut rig = Rig::new();
    assert_eq!(rig.scheduler.next_tick(), None);
    rig.at(1_100).unschedulable("p", &["NodeName"], |_, _| {});
    let next = |rig: &Rig| rig.scheduler.next_tick().map(|t| t.as_millis());
    assert_eq!(next(&rig), Some(30_934));
    rig.node("n", |_, _| {});
    assert_eq!(
        next(&rig),
        Some(3_000),
        "expiry 2 s, released a second later"
    );
}
