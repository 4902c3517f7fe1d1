//! Bindings of which nobody knows whether they happened.

use super::Rig;
use crate::framework::{Outcome, Point};
use crate::scheduler::{Effect, Ticket};
use std::sync::Arc;
use stowplan_base::Rng;

/// A pod whose binding to the node `n` was not answered.
fn unsettled() -> Rig {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.at(1_000).create("p", |world, pod| {
        world.set_requests(pod, &[("cpu", "3")]);
    });
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    let effects = rig.scheduler.take_effects();
    assert!(effects[0].as_bind().is_some(), "{effects:?}");
    answer(&mut rig, Outcome::Unknown("no answer".to_owned()));
    rig
}

fn answer(rig: &mut Rig, outcome: Outcome) {
    let (uid, now) = (Arc::from("default/p"), rig.now);
    let ticket = Ticket::Step(Point::Bind, "DefaultBinder");
    rig.scheduler.answer(&uid, ticket, outcome, now);
}

fn pods_on_node(rig: &mut Rig) -> usize {
    let node = rig.sym("n");
    let info = rig.scheduler.cluster.node(node).expect("the node is there");
    info.pods.len()
}

/// Why the binding failed.
fn failure(rig: &mut Rig) -> Option<String> {
    let effects = rig.scheduler.take_effects().into_iter();
    effects
        .filter_map(|effect| match effect {
            Effect::BindFailed { failure, .. } => Some(failure.message().to_string()),
            _ => None,
        })
        .next()
}

#[test]
fn the_pod_keeps_its_room_while_nobody_knows() {
    let mut rig = unsettled();
    assert!(rig.scheduler.take_effects().is_empty());
    assert_eq!(rig.place("p"), "assumed");
    rig.create("q", |world, pod| {
        world.set_requests(pod, &[("cpu", "2")]);
    });
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    assert_eq!(rig.place("q"), "unschedulable", "one of 4 cpus is left");
    rig.scheduler.take_effects();
    // What the API says of the pod without a word about its node settles nothing, nor does time.
    rig.update("p", |world, pod| pod.labels = world.labels(&[("a", "b")]));
    rig.at(3_600_000);
    assert_eq!(rig.place("p"), "assumed");
    assert_eq!(failure(&mut rig), None);
}

#[test]
fn a_watch_that_shows_the_pod_on_its_node_settles_it() {
    let mut rig = unsettled();
    rig.update("p", |world, pod| pod.node_name = Some(world.sym("n")));
    let effects = rig.scheduler.take_effects();
    assert!(
        matches!(&effects[..], [Effect::Bound { .. }, ..]),
        "{effects:?}"
    );
    assert_eq!(rig.place("p"), "nowhere");
    assert_eq!(pods_on_node(&mut rig), 1);
}

#[test]
fn a_watch_that_shows_the_pod_elsewhere_or_gone_settles_it() {
    let message = r#"running Bind plugin "DefaultBinder": no answer"#;
    let mut rig = unsettled();
    rig.node("m", |_, _| {});
    rig.update("p", |world, pod| pod.node_name = Some(world.sym("m")));
    assert_eq!(failure(&mut rig).as_deref(), Some(message));
    assert_eq!(pods_on_node(&mut rig), 0);

    let mut rig = unsettled();
    rig.delete_pod("p");
    assert_eq!(pods_on_node(&mut rig), 0);
    assert_eq!(rig.place("p"), "nowhere");
}

#[test]
fn a_watch_may_tell_before_it_is_known_that_nobody_knows() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.node("m", |world, node| world.set_allocatable(node, &[]));
    rig.at(1_000).create("p", |world, pod| {
        world.set_requests(pod, &[("cpu", "3")]);
    });
    rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
    rig.scheduler.take_effects();
    rig.update("p", |world, pod| pod.node_name = Some(world.sym("n")));
    answer(&mut rig, Outcome::Unknown("no answer".to_owned()));
    assert_eq!(rig.place("p"), "nowhere", "it is where it should be");
    assert_eq!(pods_on_node(&mut rig), 1);
}
