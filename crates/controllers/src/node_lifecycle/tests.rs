use super::*;
use crate::testing::World;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use taints::{NOT_READY, UNREACHABLE};

fn node(world: &mut World, name: &str, zone: &str, ready: &str) {
    let now = crate::common::time(world.now);
    world.add_json::<Node>(json!({
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [
            {"type": "Ready", "status": ready, "lastHeartbeatTime": now, "lastTransitionTime": now}]},
    }));
}

fn renew(world: &mut World, name: &str) {
    let now = MicroTime(world.now);
    world.add_json::<Lease>(json!({
        "metadata": {"namespace": "kube-node-lease", "name": name}, "spec": {"renewTime": now},
    }));
}

fn pod(world: &mut World, name: &str, node: &str) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"nodeName": node, "containers": []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }));
}

fn is_tainted(world: &World, name: &str, key: &str, effect: &str) -> bool {
    taints::has(&world.get::<Node>("", name), key, effect)
}

/// Lets time pass, while those who live renew their leases.
fn live(world: &mut World, controller: &NodeLifecycle, alive: &[&str], seconds: u64) {
    for _ in 0..seconds / 5 {
        alive.iter().for_each(|name| renew(world, name));
        world.settle(&[controller], Duration::from_secs(5));
    }
}

#[test]
fn a_node_that_falls_silent_is_unknown_tainted_and_its_pods_are_not_ready() {
    let mut world = World::default();
    let controller = NodeLifecycle::default();
    for name in ["a", "b", "c"] {
        node(&mut world, name, "z", "True");
    }
    pod(&mut world, "p", "a");
    world.join(0, &controller);
    live(&mut world, &controller, &["a", "b", "c"], 100);
    assert!(!is_tainted(&world, "a", UNREACHABLE, "NoExecute"));
    live(&mut world, &controller, &["b", "c"], 50);
    let ready = |world: &World| {
        health::ready(&world.get::<Node>("", "a"))
            .unwrap()
            .status
            .clone()
    };
    assert_eq!(ready(&world), "True");
    live(&mut world, &controller, &["b", "c"], 10);
    assert_eq!(ready(&world), "Unknown");
    assert!(is_tainted(&world, "a", UNREACHABLE, "NoExecute"));
    assert!(is_tainted(&world, "a", UNREACHABLE, "NoSchedule"));
    assert!(!is_tainted(&world, "b", UNREACHABLE, "NoExecute"));
    assert!(!crate::common::is_pod_ready(&world.get::<Pod>("shop", "p")));
    let reasons = world.take_reasons();
    assert_eq!(
        reasons.iter().filter(|r| **r == "NodeNotReady").count(),
        2,
        "{reasons:?}"
    );
    // It comes back.
    node(&mut world, "a", "z", "True");
    live(&mut world, &controller, &["a", "b", "c"], 10);
    assert!(!is_tainted(&world, "a", UNREACHABLE, "NoExecute"));
    assert!(!is_tainted(&world, "a", UNREACHABLE, "NoSchedule"));
}

#[test]
fn conditions_become_taints() {
    let mut world = World::default();
    let controller = NodeLifecycle::default();
    node(&mut world, "a", "z", "False");
    world.change::<Node>("", "a", |node| {
        node.spec.get_or_insert_default().unschedulable = Some(true);
    });
    world.sync(&controller, "", "a");
    assert!(is_tainted(&world, "a", NOT_READY, "NoSchedule"));
    assert!(is_tainted(
        &world,
        "a",
        "node.kubernetes.io/unschedulable",
        "NoSchedule"
    ));
    world.take_writes();
    world.sync(&controller, "", "a");
    assert!(world.take_writes().is_empty());
    node(&mut world, "a", "z", "True");
    world.sync(&controller, "", "a");
    assert!(taints::of(&world.get::<Node>("", "a")).is_empty());
}

#[test]
fn nodes_are_given_up_at_the_rate_of_their_zone() {
    // Seconds until as many of ten nodes are tainted, of which so many fall silent.
    for (silent, rate, seconds, tainted) in [
        (2, 0.1, 65, 1),
        (2, 0.1, 80, 2),
        (2, 100.0, 65, 2),
        // Most of a small zone is down: better wait.
        (6, 0.1, 300, 0),
        // All of it is down, but not all zones: go on.
        (10, 0.1, 65, 1),
    ] {
        let mut world = World::default();
        let options = NodeLifecycleOptions {
            eviction_rate: rate,
            ..NodeLifecycleOptions::default()
        };
        let controller = NodeLifecycle::new(options);
        let names: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
        for name in &names {
            node(&mut world, name, "a", "True");
        }
        node(&mut world, "other", "b", "True");
        world.join(0, &controller);
        let mut alive: Vec<&str> = names.iter().map(String::as_str).chain(["other"]).collect();
        live(&mut world, &controller, &alive, 10);
        alive.drain(..silent);
        live(&mut world, &controller, &alive, seconds);
        let count = names
            .iter()
            .filter(|name| is_tainted(&world, name, UNREACHABLE, "NoExecute"));
        assert_eq!(
            count.count(),
            tainted,
            "{silent} silent, {rate} per second, {seconds} s"
        );
    }
}

#[test]
fn when_every_node_is_silent_nobody_is_evicted() {
    let mut world = World::default();
    let controller = NodeLifecycle::default();
    node(&mut world, "a", "x", "True");
    node(&mut world, "b", "y", "True");
    world.join(0, &controller);
    live(&mut world, &controller, &["a", "b"], 10);
    live(&mut world, &controller, &[], 300);
    for name in ["a", "b"] {
        assert!(!is_tainted(&world, name, UNREACHABLE, "NoExecute"));
        assert!(is_tainted(&world, name, UNREACHABLE, "NoSchedule"));
    }
    // One answers again; the other has its whole grace period before it is given up.
    node(&mut world, "a", "x", "True");
    live(&mut world, &controller, &["a"], 10);
    live(&mut world, &controller, &["a"], 100);
    assert!(is_tainted(&world, "b", UNREACHABLE, "NoExecute"));
}

#[test]
fn a_kubelet_that_never_came_has_a_minute() {
    let mut world = World::default();
    let controller = NodeLifecycle::default();
    world.add_json::<Node>(json!({"metadata": {"name": "new"}}));
    node(&mut world, "old", "z", "True");
    world.join(0, &controller);
    live(&mut world, &controller, &["old"], 60);
    assert!(health::ready(&world.get::<Node>("", "new")).is_none());
    live(&mut world, &controller, &["old"], 10);
    let new = world.get::<Node>("", "new");
    let ready = health::ready(&new).expect("a condition");
    assert_eq!(ready.reason.as_deref(), Some("NodeStatusNeverUpdated"));
}
