//! Preemption: 25 to 30.

use super::world::{World, all, node, on, pod, requests, verdict, winners};
use serde_json::{Value, json};

/// A pod of this priority and start time that fills a node of 4 cpu.
fn filler(node: &str, name: &str, priority: i32, minute: u32) -> Value {
    sized(node, name, "4", priority, minute)
}

fn sized(node: &str, name: &str, cpu: &str, priority: i32, minute: u32) -> Value {
    let facts = json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"priority": priority},
        "status": {"startTime": format!("2026-03-01T08:{minute:02}:00Z")},
    });
    on(node, name, all([requests(json!({"cpu": cpu})), facts]))
}

/// A pod of priority 1000 that needs a whole node.
fn preemptor(extra: Value) -> Value {
    pod(
        "p",
        all([
            requests(json!({"cpu": "4"})),
            json!({"spec": {"priority": 1000}}),
            extra,
        ]),
    )
}

fn nodes(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| node(name, json!({}))).collect()
}

fn budget(name: &str, selector: Value, allowed: i32) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    })
}

#[test]
fn semantic_25_terminating_pods_are_victims_and_unresolvable_nodes_are_not_tried() {
    let leaving = all([
        filler("a", "x", 0, 0),
        json!({"metadata": {"deletionTimestamp": "2026-03-01T09:00:00Z"}}),
    ]);
    let small = node("small", json!({"status": {"allocatable": {"cpu": "1"}}}));
    let world = World::new(
        [node("a", json!({})), small],
        [leaving, sized("small", "y", "1", 0, 1)],
    );
    let decision = world.decide(preemptor(json!({})));
    assert_eq!(
        decision["preemption"]["candidates"],
        json!({"a": {"victims": ["default/x"], "pdb_violations": 0}})
    );
    assert_eq!(
        decision["preemption"]["node_status"],
        json!({}),
        "the small node was not tried"
    );
}

#[test]
fn semantic_26_budgets_are_consumed_in_order_of_importance() {
    let pods = || {
        [
            sized("a", "high", "2", 20, 0),
            sized("a", "low", "2", 10, 1),
        ]
        .map(|pod| all([pod, json!({"metadata": {"labels": {"team": "x"}}})]))
    };
    let selector = json!({"matchLabels": {"team": "x"}});
    let world = World::new(nodes(&["a"]), pods()).with(
        "podDisruptionBudgets",
        json!([budget("b", selector.clone(), 1)]),
    );
    // `high` uses the budget up, so `low` violates it; violating pods are reprieved first.
    let decision = world.decide(pod(
        "p",
        all([
            requests(json!({"cpu": "2"})),
            json!({"spec": {"priority": 1000}}),
        ]),
    ));
    assert_eq!(
        decision["preemption"]["candidates"],
        json!({"a": {"victims": ["default/high"], "pdb_violations": 0}})
    );
    for nobody in [json!({}), Value::Null] {
        let world = World::new(nodes(&["a"]), pods())
            .with("podDisruptionBudgets", json!([budget("b", nobody, 0)]));
        let decision = world.decide(preemptor(json!({})));
        assert_eq!(
            decision["preemption"]["pdb_violations"], 0,
            "an empty selector protects nobody"
        );
    }
}

#[test]
fn semantic_27_fewest_victims_decides_only_among_the_least_of_priorities() {
    // 2^31 is added per victim, so more victims weigh more unless that makes them weigh nothing.
    let pods = |priority: i32| {
        [
            sized("a", "a1", "2", priority, 0),
            sized("a", "a2", "2", priority, 1),
            filler("b", "b1", priority, 2),
        ]
    };
    let by = |priority| {
        World::new(nodes(&["a", "b"]), pods(priority)).decide(preemptor(json!({})))["preemption"]
            .clone()
    };
    assert_eq!(by(0)["decided_by"], "sum_priorities");
    assert_eq!(by(0)["nominated"], "b");
    assert_eq!(by(i32::MIN)["decided_by"], "num_victims");
    assert_eq!(by(i32::MIN)["nominated"], "b");
}

#[test]
fn semantic_28_the_latest_of_the_earliest_starts_wins_and_then_nothing_does() {
    let world = World::new(
        nodes(&["a", "b"]),
        [filler("a", "x", 0, 5), filler("b", "y", 0, 30)],
    );
    let preemption = &world.decide(preemptor(json!({})))["preemption"];
    assert_eq!(
        (&preemption["decided_by"], &preemption["nominated"]),
        (&json!("latest_start"), &json!("b"))
    );
    let world = World::new(
        nodes(&["a", "b"]),
        [filler("a", "x", 0, 5), filler("b", "y", 0, 5)],
    );
    let preemption = &world.decide(preemptor(json!({})))["preemption"];
    assert_eq!(preemption["decided_by"], "tie");
    assert_eq!(preemption["nominated_ties"], json!(["a", "b"]));
}

#[test]
fn semantic_29_a_nominated_node_is_taken_or_waited_for() {
    let nominated = || json!({"status": {"nominatedNodeName": "a"}});
    let world = World::new(nodes(&["a", "b"]), [sized("a", "x", "3", 0, 0)]);
    let decision = world.decide(pod("p", nominated()));
    assert_eq!(decision["nominated_shortcut"], "a");
    assert_eq!(winners(&decision), ["a"], "though the other is emptier");

    let evicted = json!({
        "metadata": {"deletionTimestamp": "2026-03-01T09:00:00Z"},
        "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]},
    });
    let waiting = |victim: Value| {
        World::new(nodes(&["a"]), [victim]).decide(preemptor(nominated()))["preemption"]["message"]
            .clone()
    };
    assert_eq!(
        waiting(all([filler("a", "x", 0, 0), evicted])),
        "no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."
    );
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-03-01T09:00:00Z"}});
    assert_eq!(
        waiting(all([filler("a", "x", 0, 0), leaving])),
        "",
        "somebody else deletes it: preempt"
    );
}

#[test]
fn semantic_30_nominated_pods_of_no_lower_priority_count_gated_ones_do_not() {
    let nominated = |priority: i32, extra: Value| {
        let facts = json!({"spec": {"priority": priority}, "status": {"nominatedNodeName": "a"}});
        pod("n", all([requests(json!({"cpu": "3"})), facts, extra]))
    };
    let fits = |other: Value| {
        let world = World::new(nodes(&["a"]), [other]);
        verdict(&world.decide(pod("p", requests(json!({"cpu": "2"})))), "a") == "fits"
    };
    assert!(!fits(nominated(0, json!({}))));
    assert!(!fits(nominated(10, json!({}))));
    assert!(fits(nominated(-10, json!({}))));
    assert!(fits(nominated(
        10,
        json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}})
    )));
    assert!(fits(nominated(
        10,
        json!({"spec": {"schedulerName": "other"}})
    )));
}
