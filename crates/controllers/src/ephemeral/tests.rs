use super::*;
use crate::Failure;
use crate::testing::World;
use serde_json::{Value, json};
use std::time::Duration;

fn world() -> World {
    let mut world = World::default();
    world.join(0, &EphemeralVolumes);
    world
}

fn pod(more: Value) -> Value {
    let template = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"storageClassName": "fast"}});
    let mut metadata = json!({"name": "p", "namespace": "shop", "uid": "u"});
    for (field, value) in more.as_object().expect("fields") {
        metadata[field] = value.clone();
    }
    json!({"metadata": metadata, "spec": {"containers": [], "volumes": [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "other", "emptyDir": {}},
    ]}})
}

fn settle(world: &mut World, seconds: u64) {
    world.settle(&[&EphemeralVolumes], Duration::from_secs(seconds));
}

/// Upstream's `TestSyncHandler`.
#[test]
fn a_volume_gets_a_claim_that_belongs_to_the_pod() {
    let mut world = world();
    world.add_json::<Pod>(pod(json!({})));
    settle(&mut world, 0);
    let claim = world.get::<PersistentVolumeClaim>("shop", "p-scratch");
    let value = serde_json::to_value(&*claim).unwrap();
    assert_eq!(value["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(value["metadata"]["annotations"], json!({"c": "d"}));
    assert_eq!(value["spec"]["storageClassName"], "fast");
    assert_eq!(
        value["metadata"]["ownerReferences"],
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(world.take_writes().len(), 1);
    // It is made again if somebody deletes it.
    world.remove::<PersistentVolumeClaim>("shop", "p-scratch");
    settle(&mut world, 0);
    assert_eq!(world.take_writes().len(), 1);
}

#[test]
fn nothing_is_done_about_a_pod_that_is_deleted() {
    let mut world = world();
    let deleted =
        json!({"deletionTimestamp": "2026-03-01T12:00:00Z", "deletionGracePeriodSeconds": 30});
    world.add_json::<Pod>(pod(deleted));
    settle(&mut world, 0);
    world.sync(&EphemeralVolumes, "shop", "p");
    assert!(world.take_writes().is_empty());
}

#[test]
fn a_claim_of_somebody_else_is_told_of() {
    let mut world = world();
    let claim = json!({"metadata": {"name": "p-scratch", "namespace": "shop"}});
    world.add_json::<PersistentVolumeClaim>(claim);
    world.add_json::<Pod>(pod(json!({})));
    world.sync(&EphemeralVolumes, "shop", "p");
    assert!(world.take_writes().is_empty());
    let why = "PVC shop/p-scratch was not created for pod shop/p (pod is not owner)";
    assert_eq!(world.events[0].reason, "FailedBinding");
    assert_eq!(
        world.events[0].message,
        format!("ephemeral volume scratch: {why}")
    );
    assert_eq!(world.errors, [why]);
}

#[test]
fn a_failure_is_told_of_and_tried_again() {
    let mut world = world();
    let mut is_first = true;
    world.refuse(move |_| {
        std::mem::take(&mut is_first).then(|| Failure {
            code: 500,
            message: "no".to_owned(),
            ..Failure::default()
        })
    });
    world.add_json::<Pod>(pod(json!({})));
    settle(&mut world, 5);
    assert_eq!(world.events.len(), 1);
    assert_eq!(
        world.events[0].message,
        "ephemeral volume scratch: create PVC p-scratch: no"
    );
    assert_eq!(world.cluster.all::<PersistentVolumeClaim>().len(), 1);
}

#[test]
fn events_come_from_the_component_that_upstream_names() {
    let component = EphemeralVolumes.component();
    assert_eq!(component, Some("ephemeral_volume"));
}
