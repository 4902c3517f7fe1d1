use super::*;
use crate::Controller;
use crate::common::{annotation, finalizers, is_deleting};
use crate::testing::World;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::{Value, json};
use std::time::Duration;

fn claim(world: &mut World, name: &str, spec: Value) {
    let mut whole =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}});
    for (key, value) in spec.as_object().expect("a spec") {
        whole[key] = value.clone();
    }
    world.add_json::<PersistentVolumeClaim>(json!({
        "metadata": {"namespace": "shop", "name": name}, "spec": whole,
    }));
}

fn volume(world: &mut World, name: &str, size: &str, spec: Value) {
    let mut whole = json!({
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size},
        "persistentVolumeReclaimPolicy": "Retain",
    });
    for (key, value) in spec.as_object().expect("a spec") {
        whole[key] = value.clone();
    }
    world.add_json::<PersistentVolume>(json!({"metadata": {"name": name}, "spec": whole}));
}

fn class(world: &mut World, name: &str, mode: &str, provisioner: &str) {
    world.add_json::<StorageClass>(json!({
        "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode,
        "reclaimPolicy": "Delete",
    }));
}

fn settle(world: &mut World) {
    let controllers: [&dyn Controller; 4] =
        [&Binder, &Provisioner, &ClaimProtection, &VolumeProtection];
    for (number, controller) in controllers.iter().enumerate() {
        world.join(number, *controller);
    }
    world.settle(&controllers, Duration::from_secs(5));
}

fn bound(world: &World, name: &str) -> (String, String) {
    let claim = world.get::<PersistentVolumeClaim>("shop", name);
    (
        claim_phase(&claim).to_owned(),
        volume_name(&claim).to_owned(),
    )
}

#[test]
fn the_smallest_volume_that_suits_is_bound() {
    let mut world = World::default();
    volume(&mut world, "small", "1Gi", json!({}));
    volume(&mut world, "large", "50Gi", json!({}));
    volume(&mut world, "right", "10Gi", json!({}));
    volume(&mut world, "block", "6Gi", json!({"volumeMode": "Block"}));
    volume(&mut world, "other", "6Gi", json!({"storageClassName": "x"}));
    claim(&mut world, "c", json!({"storageClassName": ""}));
    settle(&mut world);
    assert_eq!(bound(&world, "c"), ("Bound".into(), "right".into()));
    let right = world.get::<PersistentVolume>("", "right");
    assert_eq!(volume_phase(&right), "Bound");
    assert_eq!(annotation(&*right, BOUND_BY_CONTROLLER), Some("yes"));
    let made = world.get::<PersistentVolumeClaim>("shop", "c");
    let capacity = made
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref());
    assert_eq!(capacity.expect("a capacity")["storage"].0, "10Gi");
    assert_eq!(
        volume_phase(&world.get::<PersistentVolume>("", "small")),
        "Available"
    );
}

#[test]
fn a_binding_that_breaks_at_any_write_is_gone_on_with() {
    for broken in 0..10 {
        let mut world = World::default();
        volume(&mut world, "v", "10Gi", json!({}));
        claim(&mut world, "c", json!({"storageClassName": ""}));
        let mut at = 0;
        world.refuse(move |_| {
            at += 1;
            (at == broken + 1).then(crate::Failure::default)
        });
        settle(&mut world);
        assert_eq!(
            bound(&world, "c"),
            ("Bound".into(), "v".into()),
            "write {broken}"
        );
    }
}

#[test]
fn a_claim_waits_for_its_consumer_and_gets_a_volume_in_its_zone() {
    let mut world = World::default();
    class(&mut world, "lazy", "WaitForFirstConsumer", PROVISIONER);
    claim(&mut world, "c", json!({"storageClassName": "lazy"}));
    let zone = json!({"topology.kubernetes.io/zone": "b"});
    world.add_json::<Node>(json!({"metadata": {"name": "n", "labels": zone}}));
    settle(&mut world);
    assert_eq!(bound(&world, "c"), ("Pending".into(), String::new()));
    assert!(world.take_reasons().contains(&"WaitForFirstConsumer"));
    world.change::<PersistentVolumeClaim>("shop", "c", |claim| {
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.insert(SELECTED_NODE.to_owned(), "n".to_owned());
    });
    let controllers: [&dyn Controller; 4] =
        [&Binder, &Provisioner, &ClaimProtection, &VolumeProtection];
    world.settle(&controllers, Duration::from_secs(5));
    let (phase, name) = bound(&world, "c");
    assert_eq!(phase, "Bound");
    let volume = world.get::<PersistentVolume>("", &name);
    let text = serde_json::to_string(&volume.spec.as_ref().unwrap().node_affinity).unwrap();
    assert!(text.contains("\"values\":[\"b\"]"), "{text}");
    // The claim goes, and the volume with it.
    world.change::<PersistentVolumeClaim>("shop", "c", |claim| {
        claim.metadata.deletion_timestamp = claim.metadata.creation_timestamp.clone();
    });
    world.settle(&controllers, Duration::from_secs(30));
    assert!(
        world
            .cluster
            .get::<PersistentVolumeClaim>("shop", "c")
            .is_none()
    );
    assert!(world.cluster.get::<PersistentVolume>("", &name).is_none());
}

#[test]
fn claims_without_a_class_get_the_default_one_and_those_of_outsiders_wait() {
    let mut world = World::default();
    claim(&mut world, "c", json!({}));
    settle(&mut world);
    assert!(world.take_reasons().contains(&"FailedBinding"));
    world.add_json::<StorageClass>(json!({
        "metadata": {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "example.com/disk", "volumeBindingMode": "Immediate",
    }));
    let controllers: [&dyn Controller; 4] =
        [&Binder, &Provisioner, &ClaimProtection, &VolumeProtection];
    world.settle(&controllers, Duration::from_secs(5));
    let made = world.get::<PersistentVolumeClaim>("shop", "c");
    assert_eq!(classes::of_claim(&made), "d");
    assert_eq!(
        annotation(&*made, STORAGE_PROVISIONER),
        Some("example.com/disk")
    );
    assert!(world.take_reasons().contains(&"ExternalProvisioning"));
}

#[test]
fn a_volume_whose_claim_is_gone_is_released_and_a_claim_without_its_volume_is_lost() {
    let mut world = World::default();
    volume(&mut world, "v", "10Gi", json!({}));
    volume(&mut world, "w", "20Gi", json!({}));
    claim(
        &mut world,
        "a",
        json!({"storageClassName": "", "volumeName": "v"}),
    );
    claim(
        &mut world,
        "b",
        json!({"storageClassName": "", "volumeName": "w"}),
    );
    settle(&mut world);
    assert_eq!(bound(&world, "a"), ("Bound".into(), "v".into()));
    world.remove::<PersistentVolumeClaim>("shop", "a");
    world.remove::<PersistentVolume>("", "w");
    let controllers: [&dyn Controller; 4] =
        [&Binder, &Provisioner, &ClaimProtection, &VolumeProtection];
    world.settle(&controllers, Duration::from_secs(5));
    assert_eq!(
        volume_phase(&world.get::<PersistentVolume>("", "v")),
        "Released"
    );
    assert_eq!(bound(&world, "b").0, "Lost");
}

#[test]
fn what_is_in_use_is_not_deleted() {
    let mut world = World::default();
    claim(&mut world, "c", json!({"storageClassName": ""}));
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": "p"},
        "spec": {"nodeName": "n", "containers": [],
                 "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
    }));
    settle(&mut world);
    let made = world.get::<PersistentVolumeClaim>("shop", "c");
    assert_eq!(finalizers(&*made), ["kubernetes.io/pvc-protection"]);
    world.change::<PersistentVolumeClaim>("shop", "c", |claim| {
        claim.metadata.deletion_timestamp = claim.metadata.creation_timestamp.clone();
    });
    let controllers: [&dyn Controller; 4] =
        [&Binder, &Provisioner, &ClaimProtection, &VolumeProtection];
    world.settle(&controllers, Duration::from_secs(5));
    assert!(is_deleting(
        &*world.get::<PersistentVolumeClaim>("shop", "c")
    ));
    world.remove::<Pod>("shop", "p");
    world.settle(&controllers, Duration::from_secs(5));
    assert!(
        world
            .cluster
            .get::<PersistentVolumeClaim>("shop", "c")
            .is_none()
    );
}

/// What the claim asks for, has, and is allocated; what its volume has.
fn sizes(world: &World) -> [String; 3] {
    let claim = world.get::<PersistentVolumeClaim>("shop", "data");
    let status = claim.status.clone().unwrap_or_default();
    let text = |amounts: Option<&std::collections::BTreeMap<String, _>>| {
        let found: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> =
            amounts.and_then(|amounts| amounts.get("storage"));
        found.map(|found| found.0.clone()).unwrap_or_default()
    };
    let volume = world.get::<PersistentVolume>("", volume_name(&claim));
    let spec = volume.spec.clone().unwrap_or_default();
    [
        text(status.capacity.as_ref()),
        text(status.allocated_resources.as_ref()),
        text(spec.capacity.as_ref()),
    ]
}

fn ask_for(world: &mut World, size: &str) {
    world.change::<PersistentVolumeClaim>("shop", "data", |claim| {
        let resources = &mut claim.spec.get_or_insert_default().resources;
        let requests = resources
            .get_or_insert_default()
            .requests
            .get_or_insert_default();
        let size = k8s_openapi::apimachinery::pkg::api::resource::Quantity(size.to_owned());
        requests.insert("storage".to_owned(), size);
    });
}

#[test]
fn simulated_volumes_grow_with_their_claims() {
    // Each of the writes fails once, then none.
    for at in 0..4 {
        let mut world = World::default();
        class(&mut world, "fast", "Immediate", PROVISIONER);
        claim(&mut world, "data", json!({"storageClassName": "fast"}));
        settle(&mut world);
        assert_eq!(bound(&world, "data").0, "Bound");
        assert_eq!(sizes(&world), ["5Gi", "", "5Gi"]);
        world.take_reasons();
        ask_for(&mut world, "8Gi");
        let mut count = 0;
        world.refuse(move |_| {
            count += 1;
            let failure = crate::Failure {
                code: 500,
                message: "it broke".to_owned(),
                ..crate::Failure::default()
            };
            (count == at + 1).then_some(failure)
        });
        for _ in 0..3 {
            world.sync(&Provisioner, "shop", "data");
        }
        assert_eq!(sizes(&world), ["8Gi", "8Gi", "8Gi"], "{at}");
        let claim = world.get::<PersistentVolumeClaim>("shop", "data");
        let status = claim.status.clone().unwrap_or_default();
        assert_eq!(status.conditions, None, "{at}");
        let reasons = world.take_reasons();
        assert_eq!(reasons.last(), Some(&"VolumeResizeSuccessful"), "{at}");
        world.take_writes();
        world.sync(&Provisioner, "shop", "data");
        assert!(world.take_writes().is_empty());
    }
}

#[test]
fn volumes_of_others_do_not_grow() {
    let mut world = World::default();
    volume(&mut world, "large", "6Gi", json!({}));
    claim(&mut world, "data", json!({"storageClassName": ""}));
    settle(&mut world);
    assert_eq!(bound(&world, "data").0, "Bound");
    ask_for(&mut world, "8Gi");
    world.take_writes();
    world.sync(&Provisioner, "shop", "data");
    assert!(world.take_writes().is_empty());
}

/// Upstream's `TestPVCProtectionController`: a pod that has ended still holds its claim, and one that is not
/// known here yet does so, too.
#[test]
fn a_claim_is_held_by_pods_that_have_ended_and_by_those_not_known_yet() {
    let is_there = |world: &World| !world.on_server::<PersistentVolumeClaim>().is_empty();
    let delete = |world: &mut World| {
        world.change::<PersistentVolumeClaim>("shop", "c", |claim| {
            claim.metadata.deletion_timestamp = claim.metadata.creation_timestamp.clone();
        });
        world.settle(&[&ClaimProtection], Duration::from_secs(1));
    };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "shop", "name": "p"},
        "spec": {"nodeName": "n", "containers": [],
                 "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        "status": {"phase": "Succeeded"},
    });
    let mut world = World::default();
    claim(&mut world, "c", json!({}));
    world.add_json::<Pod>(pod.clone());
    world.join(0, &ClaimProtection);
    world.settle(&[&ClaimProtection], Duration::from_secs(1));
    delete(&mut world);
    assert!(is_there(&world));
    world.remove::<Pod>("shop", "p");
    world.settle(&[&ClaimProtection], Duration::from_secs(1));
    assert!(!is_there(&world));
    // The server knows of a pod that the controller has not heard of.
    let mut world = World::default();
    claim(&mut world, "c", json!({}));
    world.join(0, &ClaimProtection);
    world.settle(&[&ClaimProtection], Duration::from_secs(1));
    world.serve("/api/v1/namespaces/shop/pods", Ok(json!({"items": [pod]})));
    delete(&mut world);
    assert!(is_there(&world));
}

/// Upstream's `TestVACProtectionController`.
#[test]
fn a_class_of_attributes_stays_as_long_as_a_claim_or_a_volume_has_it() {
    use k8s_openapi::api::storage::v1::VolumeAttributesClass;
    let mut world = World::default();
    world.add_json::<VolumeAttributesClass>(json!({
        "metadata": {"name": "gold"}, "driverName": "d", "parameters": {"a": "b"},
    }));
    claim(
        &mut world,
        "c",
        json!({"volumeAttributesClassName": "gold"}),
    );
    volume(
        &mut world,
        "v",
        "1Gi",
        json!({"volumeAttributesClassName": "gold"}),
    );
    world.join(0, &ClassProtection);
    world.settle(&[&ClassProtection], Duration::from_secs(1));
    let made = world.get::<VolumeAttributesClass>("", "gold");
    assert_eq!(finalizers(&*made), ["kubernetes.io/vac-protection"]);
    world.change::<VolumeAttributesClass>("", "gold", |class| {
        class.metadata.deletion_timestamp = class.metadata.creation_timestamp.clone();
    });
    world.settle(&[&ClassProtection], Duration::from_secs(1));
    world.remove::<PersistentVolumeClaim>("shop", "c");
    world.settle(&[&ClassProtection], Duration::from_secs(1));
    assert_eq!(world.on_server::<VolumeAttributesClass>().len(), 1);
    world.change::<PersistentVolume>("", "v", |volume| {
        volume
            .spec
            .get_or_insert_default()
            .volume_attributes_class_name = None;
    });
    world.settle(&[&ClassProtection], Duration::from_secs(1));
    assert!(world.on_server::<VolumeAttributesClass>().is_empty());
}
