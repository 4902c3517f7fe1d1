//! Pods that are promised a node.

use super::Rig;
use crate::framework::Nomination;
use crate::model::Pod;
use crate::testing::World;

fn to(node: &'static str) -> impl Fn(&mut World, &mut Pod) {
    move |world, pod| pod.nominated_node_name = Some(world.sym(node))
}

fn gated(world: &mut World, pod: &mut Pod) {
    pod.scheduling_gates = [world.sym("g")].into();
}

#[test]
fn semantic_37_nominations_come_from_the_status_from_failures_and_from_outside() {
    let mut rig = Rig::new();
    rig.create("p", to("n1"));
    assert_eq!(rig.nominated("n1"), ["p"]);
    rig.create("gated", |world, pod| {
        to("n1")(world, pod);
        gated(world, pod);
    });
    assert_eq!(
        rig.nominated("n1"),
        ["p"],
        "a gated pod does not enter active"
    );
    rig.update("gated", |_, _| {});
    assert_eq!(rig.nominated("n1"), ["p", "gated"], "but its updates count");

    rig.pop();
    let nomination = rig.override_with("n2");
    let failure = rig.rejected(&["NodeName"], &[]);
    rig.fail("p", failure, nomination);
    assert_eq!(rig.nominated("n2"), ["p"]);

    let (namespace, name) = rig.id("gated");
    let nomination = rig.override_with("n3");
    rig.scheduler.nominate(namespace, name, nomination);
    assert_eq!(rig.nominated("n3"), ["gated"]);
}

#[test]
fn semantic_37_pods_that_are_gone_or_bound_are_refused() {
    let mut rig = Rig::new();
    rig.popped("gone", |_, _| {});
    rig.popped("bound", |_, _| {});
    rig.delete_pod("gone");
    rig.update("bound", |world, pod| pod.node_name = Some(world.sym("n2")));
    for name in ["gone", "bound"] {
        let nomination = rig.override_with("n1");
        let failure = rig.rejected(&["NodeName"], &[]);
        rig.fail(name, failure, nomination);
    }
    assert!(rig.nominated("n1").is_empty());
}

#[test]
fn semantic_38_an_update_keeps_a_nomination_that_the_status_never_mentioned() {
    let nominated_in_memory = || {
        let mut rig = Rig::new();
        rig.pending("p");
        rig.pending("q");
        for name in ["p", "q"] {
            let (namespace, name) = rig.id(name);
            let nomination = rig.override_with("n1");
            rig.scheduler.nominate(namespace, name, nomination);
        }
        rig
    };
    let mut rig = nominated_in_memory();
    rig.update("p", |_, _| {});
    assert_eq!(rig.nominated("n1"), ["q", "p"], "re-appended");
    rig.update("p", to("n2"));
    assert_eq!(rig.nominated("n1"), ["q"]);
    assert_eq!(rig.nominated("n2"), ["p"]);
    rig.update("p", |_, pod| pod.nominated_node_name = None);
    assert!(rig.nominated("n2").is_empty(), "the status took it back");
}

#[test]
fn semantic_39_overriding_with_nothing_assuming_and_deleting_remove_it() {
    let nominated = |name: &str| {
        let mut rig = Rig::new();
        rig.node("n1", |_, _| {});
        rig.create(name, to("n1"));
        rig.pop();
        assert_eq!(rig.nominated("n1"), [name]);
        rig
    };
    let mut rig = nominated("p");
    let failure = rig.rejected(&["NodeName"], &[]);
    rig.fail("p", failure, Nomination::Set(None));
    assert!(rig.nominated("n1").is_empty());

    let mut rig = nominated("p");
    rig.assume("p", "n1");
    assert!(rig.nominated("n1").is_empty());

    let mut rig = nominated("p");
    rig.delete_pod("p");
    assert!(rig.nominated("n1").is_empty());

    // Failing without nominating info resets it to the status.
    let mut rig = nominated("p");
    let (namespace, name) = rig.id("p");
    let nomination = rig.override_with("n2");
    rig.scheduler.nominate(namespace, name, nomination);
    assert_eq!(rig.nominated("n2"), ["p"]);
    rig.reject("p", &["NodeName"]);
    assert_eq!(rig.nominated("n1"), ["p"]);
    assert!(rig.nominated("n2").is_empty());
}
