//! PreEnqueue.

use super::Rig;
use crate::model::{Pod, PodClaim, PodClaimSource};
use crate::testing::World;
use std::sync::Arc;

fn gated(world: &mut World, pod: &mut Pod) {
    pod.scheduling_gates = [world.sym("g")].into();
}

/// A pod that asks for a claim which does not exist.
fn claimless(world: &mut World, pod: &mut Pod) {
    pod.resource_claims = [PodClaim {
        name: world.sym("gpu"),
        source: PodClaimSource::Named(world.sym("missing")),
    }]
    .into();
}

fn preempts(rig: &mut Rig, name: &str) {
    rig.scheduler
        .preemption_started(&Arc::from(format!("default/{name}")));
}

#[test]
fn semantic_32_pre_enqueue_runs_on_the_way_in_but_not_from_backoff_or_into_the_pool() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.assigned("run", "n", |_, _| {});
    rig.at(1_000).popped("p", |_, _| {});
    preempts(&mut rig, "p");
    rig.reject("p", &["NodeResourcesFit"]);
    assert_eq!(rig.place("p"), "unschedulable", "nobody asked");
    rig.delete_pod("run");
    assert_eq!(rig.place("p"), "gated", "the event that wakes it gates it");

    let mut rig = Rig::new();
    rig.at(1_000).unschedulable("p", &["NodeName"], |_, _| {});
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "backoff");
    preempts(&mut rig, "p");
    rig.at(3_000);
    assert_eq!(rig.place("p"), "active", "from backoff nobody is asked");
}

#[test]
fn semantic_33_a_gating_plugin_joins_the_rejecting_ones_until_the_next_failure() {
    let mut rig = Rig::new();
    rig.create("p", gated);
    assert_eq!(rig.plugins("p"), ["SchedulingGates"]);
    rig.update("p", |_, pod| pod.scheduling_gates = Box::default());
    assert_eq!(rig.place("p"), "active");
    assert_eq!(rig.queued("p").gating_plugin, None);
    assert_eq!(rig.plugins("p"), ["SchedulingGates"]);
    rig.pop();
    rig.reject("p", &["NodeName"]);
    assert_eq!(rig.plugins("p"), ["NodeName"]);
    preempts(&mut rig, "p");
    rig.activate("p");
    assert_eq!(rig.plugins("p"), ["DefaultPreemption", "NodeName"]);
}

#[test]
fn semantic_34_a_gated_pod_is_asked_only_for_events_of_its_gating_plugin() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.assigned("run", "n", |_, _| {});
    rig.assigned("last", "n", |_, _| {});
    rig.popped("p", |_, _| {});
    preempts(&mut rig, "p");
    rig.reject("p", &["NodeResourcesFit", "NodeName"]);
    rig.activate("p");
    assert_eq!(rig.place("p"), "gated");
    let asked = |rig: &mut Rig, act: &dyn Fn(&mut Rig)| {
        rig.scheduler.queue.start_trace();
        act(rig);
        let trace = rig.scheduler.queue.take_trace().expect("started");
        trace
            .hints
            .iter()
            .map(|hint| hint.plugin)
            .collect::<Vec<_>>()
    };
    let of_node = asked(&mut rig, &|rig| rig.node("m", |_, _| {}));
    assert!(
        of_node.is_empty(),
        "DefaultPreemption does not listen to nodes"
    );
    let of_deletion = asked(&mut rig, &|rig| rig.delete_pod("run"));
    assert!(of_deletion.contains(&"NodeResourcesFit"));
    let entered = "unschedulable/AssignedPodDelete";
    assert_eq!(rig.incoming(entered), 1, "evaluated, and still gated");

    // DefaultPreemption's own hint says Skip: another plugin has to say Queue.
    let mut rig = Rig::new();
    rig.assigned("run", "n", |_, _| {});
    rig.popped("p", |_, _| {});
    preempts(&mut rig, "p");
    rig.reject("p", &["NodeName"]);
    rig.activate("p");
    rig.delete_pod("run");
    assert_eq!(rig.incoming(entered), 0);
}

#[test]
fn semantic_35_a_gated_pod_returns_to_the_pool_and_counts_but_not_in_place() {
    let mut rig = Rig::new();
    rig.create("p", claimless);
    assert_eq!(rig.place("p"), "gated");
    rig.node("n", |_, _| {});
    assert_eq!(rig.place("p"), "gated");
    assert_eq!(rig.incoming("unschedulable/NodeAdd"), 1);
    rig.activate("p");
    rig.update("p", |world, pod| pod.labels = world.labels(&[("a", "b")]));
    assert_eq!(rig.place("p"), "gated");
    assert_eq!(rig.incoming("unschedulable/ForceActivate"), 0);
    assert_eq!(
        rig.incoming("unschedulable/UnschedulablePodUpdatePodLabel"),
        0
    );
}

#[test]
fn semantic_36_preemption_gates_unless_only_a_terminating_victim_is_left() {
    let uid: Arc<str> = "default/p".into();
    let setup = || {
        let mut rig = Rig::new();
        rig.assigned("victim", "n", |_, _| {});
        rig.at(1_000).unschedulable("p", &["NodeName"], |_, _| {});
        preempts(&mut rig, "p");
        rig.activate("p");
        assert_eq!(rig.place("p"), "gated");
        let (namespace, name) = rig.id("victim");
        rig.scheduler
            .preemption_at_last_victim(&uid, namespace, name);
        rig.activate("p");
        assert_eq!(rig.place("p"), "gated", "the last victim is still there");
        rig
    };
    let mut rig = setup();
    rig.update("victim", |_, pod| pod.terminating = true);
    rig.activate("p");
    assert_eq!(rig.place("p"), "active");

    let mut rig = setup();
    rig.delete_pod("victim");
    rig.activate("p");
    assert_eq!(rig.place("p"), "active");

    let mut rig = setup();
    let key = rig.id("p");
    rig.scheduler
        .preemption_ended("default/p", key, true, rig.now);
    assert_eq!(
        rig.place("p"),
        "active",
        "a failed eviction activates the pod"
    );
}
