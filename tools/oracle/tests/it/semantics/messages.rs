//! Messages: 1 to 5.

use super::world::{World, all, node, on, pod, requests};
use serde_json::json;

#[test]
fn semantic_01_dynamic_resources_leaves_its_reason_in_every_message() {
    let world = World::new([node("a", json!({})), node("b", json!({}))], []);
    let decision = world.decide(pod(
        "p",
        json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": "kubernetes.io/hostname"},
        ]}}}}),
    ));
    assert_eq!(
        decision["message"],
        "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. no new claims to deallocate, \
         preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn semantic_02_an_unresolvable_pre_filter_ends_in_not_found() {
    let claim = json!([{
        "metadata": {"name": "data", "namespace": "default", "uid": "data"},
        "spec": {"storageClassName": "now", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"},
    }]);
    let class = json!([{"metadata": {"name": "now"}, "provisioner": "example.com/disk", "volumeBindingMode": "Immediate"}]);
    let world = World::new([node("a", json!({}))], [])
        .with("persistentVolumeClaims", claim)
        .with("storageClasses", class);
    let decision = world.decide(pod(
        "p",
        json!({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}),
    ));
    assert_eq!(
        decision["message"],
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    );
    assert_eq!(decision["preemption"]["status"], "Error");
}

#[test]
fn semantic_03_no_preemption_part_when_it_succeeds() {
    let victim = on("a", "victim", requests(json!({"cpu": "3"})));
    let world = World::new([node("a", json!({}))], [victim]);
    let decision = world.decide(pod(
        "p",
        all([
            requests(json!({"cpu": "2"})),
            json!({"spec": {"priority": 10}}),
        ]),
    ));
    assert_eq!(
        decision["message"],
        "0/1 nodes are available: 1 Insufficient cpu."
    );
    assert_eq!(decision["preemption"]["nominated"], "a");
}

#[test]
fn semantic_03_histogram_entries_are_sorted_as_strings() {
    let small = (0..10).map(|i| node(&format!("small-{i}"), json!({})));
    let cordoned = (0..2).map(|i| {
        node(
            &format!("cordoned-{i}"),
            json!({"spec": {"unschedulable": true}}),
        )
    });
    let decision =
        World::new(small.chain(cordoned), []).decide(pod("p", requests(json!({"cpu": "5"}))));
    let message = decision["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."
        ),
        "{message}"
    );
}

#[test]
fn semantic_04_nodes_outside_a_pre_filter_result_are_counted() {
    let world = World::new(
        [
            node("a", json!({"spec": {"unschedulable": true}})),
            node("b", json!({})),
        ],
        [],
    );
    let decision = world.decide(pod(
        "p",
        json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}],
        }}}}}),
    ));
    let message = decision["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) were unschedulable."
        ),
        "{message}"
    );
}

#[test]
fn semantic_05_the_preemption_part_says_what_was_tried_where() {
    let nodes = [
        node("cordoned", json!({"spec": {"unschedulable": true}})),
        node("important", json!({})),
        node("mixed", json!({})),
    ];
    let important = json!({"spec": {"priority": 100}});
    let pods = [
        on(
            "important",
            "i",
            all([requests(json!({"cpu": "4"})), important.clone()]),
        ),
        on(
            "mixed",
            "m",
            all([requests(json!({"cpu": "3"})), important]),
        ),
        on("mixed", "victim", requests(json!({"cpu": "1"}))),
    ];
    let decision = World::new(nodes, pods).decide(pod(
        "p",
        all([
            requests(json!({"cpu": "2"})),
            json!({"spec": {"priority": 10}}),
        ]),
    ));
    assert_eq!(
        decision["preemption"]["message"],
        "no new claims to deallocate, preemption: 0/3 nodes are available: 1 Insufficient cpu, \
         1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    );
}
