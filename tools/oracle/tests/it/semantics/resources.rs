//! Resources: 6 to 12.

use super::world::{World, all, node, on, pod, requests, verdict, winners};
use serde_json::{Value, json};

fn two_nodes() -> World {
    World::new([node("a", json!({})), node("b", json!({}))], [])
}

#[test]
fn semantic_06_balanced_allocation_compares_with_and_without_the_pod() {
    let score = |wanted: Value| {
        two_nodes().decide(pod("p", requests(wanted)))["scores"]["NodeResourcesBalancedAllocation"]
            ["a"]
            .clone()
    };
    // Balanced before (100) and after (100): 50 + (50 + 0) / 2.
    assert_eq!(score(json!({"cpu": "2", "memory": "4Gi"})), 75);
    // All cpu, no memory: standard deviation 0.5, so 100 before and 50 after: 50 + (50 - 50) / 2.
    assert_eq!(score(json!({"cpu": "4"})), 50);
    let skipped = two_nodes().decide(pod("p", json!({})));
    assert!(
        skipped["skipped_score"]
            .as_array()
            .unwrap()
            .contains(&json!("NodeResourcesBalancedAllocation"))
    );
}

#[test]
fn semantic_07_fit_scores_containers_but_filters_by_the_pod_level() {
    let nodes = [
        node("big", json!({})),
        node("small", json!({"status": {"allocatable": {"cpu": "1"}}})),
    ];
    let decision = World::new(nodes, []).decide(pod(
        "p",
        json!({"spec": {"resources": {"requests": {"cpu": "2"}}}}),
    ));
    assert_eq!(
        verdict(&decision, "small"),
        "NodeResourcesFit UnschedulableAndUnresolvable: Insufficient cpu"
    );
    // 100m and 200Mi for the container that names none: (97 + 97) / 2.
    assert_eq!(decision["scores"]["NodeResourcesFit"]["big"], 97);
}

#[test]
fn semantic_08_defaults_are_per_container_and_only_for_absent_keys() {
    let score = |pod: Value| two_nodes().decide(pod)["scores"]["NodeResourcesFit"]["a"].clone();
    let two =
        json!({"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}});
    assert_eq!(score(pod("p", two)), 95);
    assert_eq!(
        score(pod("p", requests(json!({"cpu": "0", "memory": "0"})))),
        100
    );
}

#[test]
fn semantic_09_more_than_allocatable_cannot_be_preempted_for() {
    let full = node("full", json!({"status": {"allocatable": {"pods": "1"}}}));
    let world = World::new(
        [node("a", json!({})), full],
        [
            on("a", "x", requests(json!({"cpu": "3"}))),
            on("full", "y", json!({})),
        ],
    );
    let decision = world.decide(pod("p", requests(json!({"cpu": "5"}))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeResourcesFit UnschedulableAndUnresolvable: Insufficient cpu"
    );
    let decision = world.decide(pod("p", requests(json!({"cpu": "2"}))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeResourcesFit Unschedulable: Insufficient cpu"
    );
    assert_eq!(
        verdict(&decision, "full"),
        "NodeResourcesFit Unschedulable: Too many pods"
    );
    let decision = world.decide(pod("p", requests(json!({"example.com/fpga": "1"}))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeResourcesFit UnschedulableAndUnresolvable: Insufficient example.com/fpga"
    );
}

#[test]
fn semantic_10_only_requested_resources_are_checked() {
    let small = node("a", json!({"status": {"allocatable": {"cpu": "1"}}}));
    let world = World::new([small], [on("a", "x", requests(json!({"cpu": "2"})))]);
    assert_eq!(winners(&world.decide(pod("p", json!({})))), ["a"]);
    assert_eq!(
        winners(&world.decide(pod("p", requests(json!({"memory": "1Gi"}))))),
        ["a"]
    );
}

#[test]
fn semantic_11_a_resize_counts_the_greatest_of_spec_status_and_allocated() {
    let growing = json!({"status": {"containerStatuses": [{
        "name": "c", "ready": true, "restartCount": 0, "image": "i", "imageID": "i",
        "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"},
    }]}});
    let world = World::new(
        [node("a", json!({}))],
        [on("a", "x", all([requests(json!({"cpu": "1"})), growing]))],
    );
    let decision = world.decide(pod("p", requests(json!({"cpu": "2"}))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeResourcesFit Unschedulable: Insufficient cpu"
    );

    let infeasible = json!({"status": {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        "containerStatuses": [{
            "name": "c", "ready": true, "restartCount": 0, "image": "i", "imageID": "i",
            "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"},
        }],
    }});
    let world = World::new(
        [node("a", json!({}))],
        [on(
            "a",
            "x",
            all([requests(json!({"cpu": "3"})), infeasible]),
        )],
    );
    assert_eq!(
        winners(&world.decide(pod("p", requests(json!({"cpu": "3"}))))),
        ["a"]
    );
}

#[test]
fn semantic_12_allocatable_counts_and_terminating_pods_do() {
    let roomy = node("a", json!({"status": {"capacity": {"cpu": "64"}}}));
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-03-01T08:00:00Z"}});
    let world = World::new(
        [roomy],
        [on("a", "x", all([requests(json!({"cpu": "3"})), leaving]))],
    );
    let decision = world.decide(pod("p", requests(json!({"cpu": "2"}))));
    assert_eq!(
        verdict(&decision, "a"),
        "NodeResourcesFit Unschedulable: Insufficient cpu"
    );
}
