//! What upstream's `replica_set_test.go` and `replica_set_utils_test.go` check.

mod adoption;

use super::*;
use crate::common::{controller_of, is_deleting, name};
use crate::testing::World;
use crate::{EventType, Failure, Method};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CONTROLLERS: [&dyn Controller; 1] = [&ReplicaSets];

fn set(replicas: i32) -> Value {
    json!({
        "metadata": {"namespace": "a", "name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "front"}, "annotations": {"note": "x"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })
}

fn world(replicas: i32) -> World {
    let mut world = World::default();
    world.join(0, &ReplicaSets);
    world.add_json::<ReplicaSet>(set(replicas));
    world
}

fn settle(world: &mut World) {
    world.settle(&CONTROLLERS, Duration::from_secs(1));
}

fn pods(world: &World) -> Vec<Arc<Pod>> {
    world.cluster.namespace::<Pod>("a")
}

fn web(world: &World) -> Arc<ReplicaSet> {
    world.get::<ReplicaSet>("a", "web")
}

fn status(world: &World) -> Value {
    serde_json::to_value(&web(world).status).expect("a status")
}

/// Makes a pod run on a node, ready since now.
fn run(world: &mut World, pod: &str) {
    let since = world.now.to_string();
    world.change::<Pod>("a", pod, |pod| {
        pod.spec.get_or_insert_default().node_name = Some("n1".to_owned());
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
        let status = json!({"phase": "Running", "conditions": [ready]});
        pod.status = serde_json::from_value(status).expect("a status");
    });
}

fn run_all(world: &mut World) {
    for pod in pods(world) {
        run(world, name(&*pod));
    }
}

fn bare_pod(name: &str, label: &str) -> Value {
    json!({
        "metadata": {"namespace": "a", "name": name, "labels": {"app": label}},
        "spec": {"containers": []}, "status": {"phase": "Running"},
    })
}

fn owned_pod(world: &World, name: &str, label: &str) -> Value {
    let mut pod = bare_pod(name, label);
    let owner = crate::common::controller_ref(&*web(world));
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod
}

fn refused(code: u16, message: &str) -> Failure {
    Failure {
        code,
        message: message.to_owned(),
        ..Failure::default()
    }
}

#[test]
fn missing_pods_are_made_from_the_template() {
    let mut world = world(2);
    settle(&mut world);
    let made = pods(&world);
    assert_eq!(made.len(), 2);
    let meta = &made[0].metadata;
    assert_eq!(meta.generate_name.as_deref(), Some("web-"));
    assert_eq!(crate::common::label(&*made[0], "tier"), Some("front"));
    assert_eq!(crate::common::annotation(&*made[0], "note"), Some("x"));
    let owner = controller_of(&*made[0]).expect("an owner");
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str()),
        ("ReplicaSet", "web")
    );
    assert_eq!(owner.block_owner_deletion, Some(true));
    let told: Vec<&str> = world
        .events
        .iter()
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(told[0], format!("Created pod: {}", name(&*made[0])));
    assert_eq!(world.take_reasons(), ["SuccessfulCreate"; 2]);
    assert_eq!(
        status(&world),
        json!({"replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1, "terminatingReplicas": 0})
    );
    // All is as it should be: nothing is written.
    world.take_writes();
    world.sync(&ReplicaSets, "a", "web");
    assert!(world.take_writes().is_empty());
}

#[test]
fn pods_that_become_ready_are_counted() {
    let mut world = world(2);
    settle(&mut world);
    let first = name(&*pods(&world)[0]).to_owned();
    run(&mut world, &first);
    // Another label than the template's: it is not fully labeled.
    world.change::<Pod>("a", &first, |pod| {
        pod.metadata
            .labels
            .get_or_insert_default()
            .insert("tier".to_owned(), "back".to_owned());
    });
    settle(&mut world);
    assert_eq!(
        status(&world),
        json!({"replicas": 2, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "observedGeneration": 1, "terminatingReplicas": 0})
    );
}

#[test]
fn finished_and_terminating_pods_are_replaced() {
    let mut world = world(2);
    settle(&mut world);
    run_all(&mut world);
    settle(&mut world);
    let names: Vec<String> = pods(&world)
        .iter()
        .map(|pod| name(&**pod).to_owned())
        .collect();
    world.change::<Pod>("a", &names[0], |pod| {
        pod.status.get_or_insert_default().phase = Some("Failed".to_owned());
    });
    let pod = world.get::<Pod>("a", &names[1]);
    let mut going = serde_json::to_value(&*pod).expect("a pod");
    going["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:30Z");
    going["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    world.add_json::<Pod>(going);
    settle(&mut world);
    assert_eq!(pods(&world).len(), 4);
    assert_eq!(status(&world)["replicas"], 2);
    assert_eq!(status(&world)["terminatingReplicas"], 1);
    world.remove::<Pod>("a", &names[1]);
    settle(&mut world);
    assert_eq!(status(&world)["terminatingReplicas"], 0);
}

#[test]
fn excess_pods_are_deleted_worst_first() {
    let mut world = world(3);
    settle(&mut world);
    let names: Vec<String> = pods(&world)
        .iter()
        .map(|pod| name(&**pod).to_owned())
        .collect();
    run(&mut world, &names[1]);
    world.change::<ReplicaSet>("a", "web", |set| {
        set.spec.get_or_insert_default().replicas = Some(1);
    });
    world.take_reasons();
    settle(&mut world);
    let left = pods(&world);
    assert_eq!(left.len(), 1);
    assert_eq!(name(&*left[0]), names[1]);
    assert_eq!(
        world.events[0].message,
        format!("Deleted pod: {}", names[0])
    );
    assert_eq!(world.take_reasons(), ["SuccessfulDelete"; 2]);
    assert_eq!(status(&world)["observedGeneration"], 2);
}

#[test]
fn pods_next_to_pods_of_the_same_deployment_go_first() {
    let mut world = World::default();
    world.join(0, &ReplicaSets);
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": true}]);
    for (name, label) in [("old", "old"), ("web", "web")] {
        let mut set = set(0);
        set["metadata"] = json!({"namespace": "a", "name": name, "ownerReferences": owner});
        set["spec"]["selector"]["matchLabels"]["app"] = json!(label);
        set["spec"]["replicas"] = json!(if name == "old" { 1 } else { 2 });
        world.add_json::<ReplicaSet>(set);
    }
    let mut add = |name: &str, set: &str, label: &str, node: &str| {
        let mut pod = bare_pod(name, label);
        let set = world.get::<ReplicaSet>("a", set);
        pod["metadata"]["ownerReferences"] = json!([crate::common::controller_ref(&*set)]);
        pod["metadata"]["creationTimestamp"] = json!("2026-03-01T10:00:00Z");
        pod["spec"]["nodeName"] = json!(node);
        world.add_json::<Pod>(pod);
    };
    add("p1", "web", "web", "n1");
    add("p2", "web", "web", "n2");
    add("q", "old", "old", "n2");
    settle(&mut world);
    world.change::<ReplicaSet>("a", "web", |set| {
        set.spec.get_or_insert_default().replicas = Some(1);
    });
    settle(&mut world);
    assert!(is_deleting(&*world.get::<Pod>("a", "p2")));
    assert!(!is_deleting(&*world.get::<Pod>("a", "p1")));
}

#[test]
fn no_more_than_a_burst_is_made_or_deleted_at_a_time() {
    let mut world = world(1200);
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(pods(&world).len(), 500);
    assert_eq!(status(&world)["replicas"], 500);
    settle(&mut world);
    assert_eq!(pods(&world).len(), 1200);
    world.change::<ReplicaSet>("a", "web", |set| {
        set.spec.get_or_insert_default().replicas = Some(0);
    });
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(pods(&world).len(), 700);
    settle(&mut world);
    assert_eq!(status(&world)["replicas"], 0);
}

#[test]
fn what_a_quota_forbids_is_told_and_tried_slowly() {
    let mut world = world(10);
    world.refuse(|write| (write.method == Method::Post).then(|| refused(403, "exceeded quota: q")));
    world.sync(&ReplicaSets, "a", "web");
    // One pod was tried, not ten.
    let writes = world.take_writes();
    assert_eq!(
        writes
            .iter()
            .filter(|write| write.starts_with("POST"))
            .count(),
        1
    );
    assert_eq!(world.events[0].message, "Error creating: exceeded quota: q");
    assert_eq!(world.events[0].event_type, EventType::Warning);
    assert_eq!(world.take_reasons(), ["FailedCreate"]);
    let condition = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "exceeded quota: q", "lastTransitionTime": "2026-03-01T12:00:00Z"});
    assert_eq!(status(&world)["conditions"], json!([condition]));
    // The condition stays as it is while the trouble lasts, and goes with it.
    world.pass(Duration::from_secs(60));
    world.refuse(|write| (write.method == Method::Post).then(|| refused(403, "something else")));
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(status(&world)["conditions"], json!([condition]));
    world.refuse(|_| None);
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(status(&world).get("conditions"), None);
}

#[test]
fn nothing_is_told_when_the_namespace_goes_away() {
    let mut world = world(2);
    world.refuse(|write| {
        let causes = vec!["NamespaceTerminating".to_owned()];
        let failure = Failure {
            causes,
            ..refused(403, "no")
        };
        (write.method == Method::Post).then_some(failure)
    });
    world.sync(&ReplicaSets, "a", "web");
    assert!(world.take_reasons().is_empty());
    assert_eq!(status(&world).get("conditions"), None);
}

#[test]
fn a_pod_that_cannot_be_deleted_is_told() {
    let mut world = world(2);
    settle(&mut world);
    world.change::<ReplicaSet>("a", "web", |set| {
        set.spec.get_or_insert_default().replicas = Some(1);
    });
    world.take_reasons();
    world.refuse(|write| (write.method == Method::Delete).then(|| refused(500, "no")));
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(world.events[0].message, "Error deleting: no");
    assert_eq!(world.take_reasons(), ["FailedDelete"]);
    let condition = &status(&world)["conditions"][0];
    assert_eq!(condition["reason"], "FailedDelete");
    assert_eq!(condition["message"], "unable to delete pods: no");
    // That it is gone is as good, and nothing to tell.
    world.refuse(|write| (write.method == Method::Delete).then(|| refused(404, "gone")));
    world.sync(&ReplicaSets, "a", "web");
    assert!(world.take_reasons().is_empty());
    assert_eq!(status(&world).get("conditions"), None);
}

#[test]
fn pods_become_available_after_a_while() {
    let mut world = world(2);
    world.change::<ReplicaSet>("a", "web", |set| {
        set.spec.get_or_insert_default().min_ready_seconds = Some(60);
    });
    settle(&mut world);
    let names: Vec<String> = pods(&world)
        .iter()
        .map(|pod| name(&**pod).to_owned())
        .collect();
    run(&mut world, &names[0]);
    let again = world.sync(&ReplicaSets, "a", "web");
    assert_eq!(again, Some(Duration::from_secs(60)));
    assert_eq!(status(&world).get("availableReplicas"), None);
    world.pass(Duration::from_secs(20));
    run(&mut world, &names[1]);
    assert_eq!(
        world.sync(&ReplicaSets, "a", "web"),
        Some(Duration::from_secs(40))
    );
    world.pass(Duration::from_secs(40));
    assert_eq!(
        world.sync(&ReplicaSets, "a", "web"),
        Some(Duration::from_secs(20))
    );
    assert_eq!(status(&world)["availableReplicas"], 1);
    assert_eq!(status(&world)["readyReplicas"], 2);
    world.pass(Duration::from_secs(20));
    assert_eq!(world.sync(&ReplicaSets, "a", "web"), None);
    assert_eq!(status(&world)["availableReplicas"], 2);
    // A pod that does not say since when it is ready is looked at in time.
    world.change::<Pod>("a", &names[0], |pod| {
        let status = pod.status.get_or_insert_default();
        for condition in status.conditions.iter_mut().flatten() {
            condition.last_transition_time = None;
        }
    });
    assert_eq!(
        world.sync(&ReplicaSets, "a", "web"),
        Some(Duration::from_secs(60))
    );
}

#[test]
fn conditions_of_others_stay() {
    let mut world = world(1);
    world.change::<ReplicaSet>("a", "web", |set| {
        let status =
            json!({"replicas": 9, "conditions": [{"type": "StatusUpdate", "status": "True"}]});
        set.status = serde_json::from_value(status).expect("a status");
    });
    settle(&mut world);
    assert_eq!(status(&world)["conditions"][0]["type"], "StatusUpdate");
    assert_eq!(status(&world)["replicas"], 1);
}

#[test]
fn large_sets_are_counted_less_often() {
    for (replicas, millis) in [(0, 0), (49, 0), (50, 50), (300, 300), (5_000, 500)] {
        let world = world(replicas);
        let key = Key::new("a", "web");
        let pace = ReplicaSets.pace(&world.cluster, &key);
        assert_eq!(pace, Duration::from_millis(millis), "{replicas}");
    }
}

#[test]
fn a_namespace_that_goes_away_is_no_trouble() {
    let mut world = world(3);
    world.refuse(|write| {
        (write.method == Method::Post).then(|| Failure {
            code: 403,
            causes: vec!["NamespaceTerminating".to_owned()],
            ..Failure::default()
        })
    });
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(world.errors, Vec::<String>::new());
    assert_eq!(world.take_reasons(), Vec::<&str>::new());
    assert_eq!(status(&world)["conditions"], Value::Null);
}
