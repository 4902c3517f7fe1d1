use super::*;
use crate::testing::World;
use serde_json::Value;

fn budget(world: &mut World, spec: Value) {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    world.add_json::<PodDisruptionBudget>(json!({
        "metadata": {"namespace": "shop", "name": "b", "generation": 1}, "spec": spec,
    }));
}

fn set(world: &mut World, replicas: i32) {
    world.add_json::<Deployment>(json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "d"},
        "spec": {"replicas": replicas, "selector": {}, "template": {}},
    }));
    world.add_json::<ReplicaSet>(json!({
        "metadata": {"namespace": "shop", "name": "web-1", "uid": "rs", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true}]},
        "spec": {"replicas": 99, "selector": {}, "template": {}},
    }));
}

fn pod(world: &mut World, name: &str, ready: bool, owned: bool) {
    let owners = match owned {
        true => {
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": true}])
        }
        false => json!([]),
    };
    let status = if ready { "True" } else { "False" };
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": "web"}, "ownerReferences": owners},
        "spec": {"containers": [], "nodeName": "n"},
        "status": {"conditions": [{"type": "Ready", "status": status}]},
    }));
}

/// Expected, desired, current and allowed.
fn counts(world: &World) -> (i32, i32, i32, i32) {
    let budget = world.get::<PodDisruptionBudget>("shop", "b");
    let status = budget.status.clone().expect("a status");
    (
        status.expected_pods.unwrap_or_default(),
        status.desired_healthy.unwrap_or_default(),
        status.current_healthy.unwrap_or_default(),
        status.disruptions_allowed.unwrap_or_default(),
    )
}

#[test]
fn budgets_count_what_owners_want() {
    for (spec, ready, unready, wanted) in [
        (json!({"minAvailable": 2}), 3, 0, (3, 2, 3, 1)),
        (json!({"minAvailable": 2}), 2, 1, (3, 2, 2, 0)),
        (json!({"minAvailable": 5}), 3, 0, (3, 5, 3, 0)),
        (json!({"minAvailable": "50%"}), 3, 0, (5, 3, 3, 0)),
        (json!({"minAvailable": "50%"}), 4, 0, (5, 3, 4, 1)),
        (json!({"maxUnavailable": 1}), 5, 0, (5, 4, 5, 1)),
        (json!({"maxUnavailable": "30%"}), 5, 0, (5, 3, 5, 2)),
        (json!({"maxUnavailable": 9}), 1, 0, (5, 0, 1, 1)),
        (json!({"minAvailable": 0}), 0, 0, (0, 0, 0, 0)),
        (json!({"maxUnavailable": 1}), 0, 0, (0, 0, 0, 0)),
    ] {
        let mut world = World::default();
        set(&mut world, 5);
        for number in 0..ready + unready {
            pod(&mut world, &format!("p{number}"), number < ready, true);
        }
        budget(&mut world, spec.clone());
        world.sync(&Disruption, "shop", "b");
        assert_eq!(counts(&world), wanted, "{spec} {ready} {unready}");
        let status = world
            .get::<PodDisruptionBudget>("shop", "b")
            .status
            .clone()
            .unwrap();
        let condition = &status.conditions.unwrap()[0];
        assert_eq!(condition.status == "True", wanted.3 > 0);
        assert_eq!(status.observed_generation, Some(1));
        world.take_writes();
        world.sync(&Disruption, "shop", "b");
        assert!(
            world.writes.is_empty(),
            "nothing changed: {:?}",
            world.writes
        );
    }
}

#[test]
fn pods_that_nobody_controls_are_told_of_and_those_of_unknown_owners_stop_everything() {
    let mut world = World::default();
    pod(&mut world, "bare", true, false);
    budget(&mut world, json!({"maxUnavailable": 1}));
    world.sync(&Disruption, "shop", "b");
    assert_eq!(world.take_reasons(), ["UnmanagedPods"]);
    assert_eq!(counts(&world), (0, 0, 1, 0));
    pod(&mut world, "lost", true, true);
    world.sync(&Disruption, "shop", "b");
    let status = world
        .get::<PodDisruptionBudget>("shop", "b")
        .status
        .clone()
        .unwrap();
    let condition = &status.conditions.unwrap()[0];
    assert_eq!(condition.reason, "SyncFailed");
    assert_eq!(condition.message, "found no controllers for pod \"lost\"");
    assert_eq!(status.disruptions_allowed, Some(0));
}

/// A pod of an owner of a kind that only the server knows.
fn custom_pod(world: &mut World, name: &str) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": "web"}, "ownerReferences": [
            {"apiVersion": "x.io/v1", "kind": "Thing", "name": "t", "uid": "t-1", "controller": true}]},
        "spec": {"containers": [], "nodeName": "n"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }));
}

#[test]
fn owners_of_any_kind_are_asked_for_their_scale() {
    let scale = |uid: &str| json!({"metadata": {"uid": uid}, "spec": {"replicas": 4}});
    let failure = |code, message: &str| crate::Failure {
        code,
        message: message.to_owned(),
        ..crate::Failure::default()
    };
    let things = json!([{"name": "things", "kind": "Thing"}]);
    let scaled =
        json!([{"name": "things", "kind": "Thing"}, {"name": "things/scale", "kind": "Scale"}]);
    for (resources, answer, wanted) in [
        (scaled.clone(), Ok(scale("t-1")), Ok((4, 3, 2, 0))),
        (
            scaled.clone(),
            Ok(scale("t-2")),
            Err("found no controllers for pod \"a\""),
        ),
        (
            scaled.clone(),
            Err(failure(404, "not there")),
            Err("found no controllers for pod \"a\""),
        ),
        (scaled, Err(failure(500, "it broke")), Err("it broke")),
        (
            things,
            Err(failure(404, "")),
            Err("things.x.io does not implement the scale subresource"),
        ),
        (
            json!([]),
            Err(failure(404, "")),
            Err("no matches for kind \"Thing\" in version \"x.io/v1\""),
        ),
    ] {
        let mut world = World::default();
        world.serve("/apis/x.io/v1", Ok(json!({"resources": resources})));
        world.serve("/apis/x.io/v1/namespaces/shop/things/t/scale", answer);
        custom_pod(&mut world, "a");
        custom_pod(&mut world, "b");
        budget(&mut world, json!({"maxUnavailable": "25%"}));
        world.sync(&Disruption, "shop", "b");
        match wanted {
            Ok(wanted) => assert_eq!(counts(&world), wanted),
            Err(wanted) => {
                let budget = world.get::<PodDisruptionBudget>("shop", "b");
                let status = budget.status.clone().expect("a status");
                let condition = &status.conditions.expect("conditions")[0];
                assert_eq!(
                    (&*condition.reason, &*condition.message),
                    ("SyncFailed", wanted)
                );
                assert_eq!(status.disruptions_allowed, Some(0));
            }
        }
        // One owner is asked once, however many pods it has.
        assert!(world.reads.len() <= 2, "{:?}", world.reads);
    }
    // A budget in numbers needs no owners.
    let mut world = World::default();
    custom_pod(&mut world, "a");
    budget(&mut world, json!({"minAvailable": 1}));
    world.sync(&Disruption, "shop", "b");
    assert_eq!(counts(&world), (1, 1, 1, 0));
    assert!(world.reads.is_empty());
}

#[test]
fn a_granted_eviction_counts_for_two_minutes() {
    let mut world = World::default();
    set(&mut world, 3);
    for name in ["a", "b", "c"] {
        pod(&mut world, name, true, true);
    }
    budget(&mut world, json!({"minAvailable": 1}));
    let now = crate::common::time(world.now);
    world.change::<PodDisruptionBudget>("shop", "b", |budget| {
        let status = budget.status.get_or_insert_default();
        let disrupted = [("a".to_owned(), now.clone()), ("gone".to_owned(), now)];
        status.disrupted_pods = Some(disrupted.into());
    });
    let again = world.sync(&Disruption, "shop", "b");
    assert_eq!(counts(&world), (3, 1, 2, 1));
    assert_eq!(again, Some(Duration::from_secs(120)));
    let kept = |world: &World| {
        let status = world
            .get::<PodDisruptionBudget>("shop", "b")
            .status
            .clone()
            .unwrap();
        status
            .disrupted_pods
            .unwrap_or_default()
            .into_keys()
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&world), ["a"]);
    world.pass(Duration::from_secs(121));
    world.sync(&Disruption, "shop", "b");
    assert_eq!(counts(&world), (3, 1, 3, 2));
    assert!(kept(&world).is_empty());
    assert_eq!(world.take_reasons(), ["NotDeleted"]);
}

#[test]
fn pods_wake_the_budgets_that_select_them() {
    let mut world = World::default();
    set(&mut world, 2);
    budget(&mut world, json!({"minAvailable": 1}));
    world.join(0, &Disruption);
    world.settle(&[&Disruption], Duration::from_secs(1));
    pod(&mut world, "a", true, true);
    pod(&mut world, "b", true, true);
    world.settle(&[&Disruption], Duration::from_secs(1));
    assert_eq!(counts(&world), (2, 1, 2, 1));
    world.remove::<Pod>("shop", "a");
    world.settle(&[&Disruption], Duration::from_secs(1));
    assert_eq!(counts(&world), (1, 1, 1, 0));
}

#[test]
fn a_disruption_that_does_not_come_is_taken_back() {
    let mut world = World::default();
    pod(&mut world, "a", true, true);
    let now = crate::common::time(world.now);
    world.change::<Pod>("shop", "a", |pod| {
        let conditions = pod
            .status
            .get_or_insert_default()
            .conditions
            .get_or_insert_default();
        conditions.push(k8s_openapi::api::core::v1::PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(now),
            ..Default::default()
        });
    });
    world.join(0, &Disruption);
    world.settle(&[&Disruption], Duration::from_secs(119));
    let status = |world: &World| {
        let pod = world.get::<Pod>("shop", "a");
        pod_condition(&pod, "DisruptionTarget").map(|condition| condition.status.clone())
    };
    assert_eq!(status(&world).as_deref(), Some("True"));
    world.settle(&[&Disruption], Duration::from_secs(2));
    assert_eq!(status(&world).as_deref(), Some("False"));
    let pod = world.get::<Pod>("shop", "a");
    let condition = pod_condition(&pod, "DisruptionTarget");
    let seen = condition.and_then(|condition| condition.observed_generation);
    assert_eq!(seen, pod.metadata.generation);
}

/// Upstream's `TestMultiplePodDisruptionBudgets`: the pod is told, and all budgets are counted.
#[test]
fn a_pod_of_several_budgets_is_told() {
    let mut world = World::default();
    for name in ["a", "b"] {
        world.add_json::<PodDisruptionBudget>(json!({
            "metadata": {"namespace": "shop", "name": name, "generation": 1},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }));
    }
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": "p", "labels": {"app": "web"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }));
    world.join(0, &Disruption);
    world.settle(&[&Disruption], Duration::from_secs(1));
    let told: Vec<_> = world
        .events
        .iter()
        .map(|event| (event.reason, &*event.message))
        .collect();
    assert_eq!(
        told,
        [(
            "MultiplePodDisruptionBudgets",
            "Pod \"shop\"/\"p\" matches multiple PodDisruptionBudgets.  Chose \"a\" arbitrarily."
        )]
    );
    for name in ["a", "b"] {
        let status = world
            .get::<PodDisruptionBudget>("shop", name)
            .status
            .clone()
            .unwrap();
        assert_eq!(status.current_healthy, Some(1), "{name}");
    }
}
