//! Volumes that are in use, and nodes that can hold no more.

use super::{add_node, check, place};
use crate::model::{AccessMode, Object, Pod, VolumeSource};
use crate::testing::World;
use std::sync::Arc;
use stowplan_base::sym;

/// A bound claim `a/NAME` and its volume of the driver `csi`.
fn add_claim(world: &mut World, name: &str) {
    let mut volume = world.volume(name, "");
    volume.csi = world.csi("csi", name);
    world.add_volume(volume);
    let claim = world.bound_claim(&format!("a/{name}"), name);
    world.add_claim(claim);
}

fn pending(world: &mut World, claim: &str) -> Pod {
    let mut pod = world.pod_with_claims("a/pending", &[claim]);
    world.set_requests(&mut pod, &[("cpu", "1")]);
    pod
}

#[test]
fn whoever_holds_a_claim_for_one_pod_goes() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    add_node(&mut world, "n2", "4", |_, _| {});
    add_claim(&mut world, "data");
    let mut claim = world.bound_claim("a/data", "data");
    claim.access_modes = [AccessMode::ReadWriteOncePod].into();
    world.add_claim(claim);
    let holder = world.pod_with_claims("a/holder", &["data"]);
    world.add_pod(holder, "n2");
    let namesake = world.pod_with_claims("b/namesake", &["data"]);
    world.add_pod(namesake, "n1");
    let pod = pending(&mut world, "data");
    check(&world, &pod, &["evict * holder (2)"]);
}

#[test]
fn whoever_holds_a_disk_goes() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let disk = VolumeSource::AwsElasticBlockStore {
        id: world.sym("disk"),
    };
    let holder = world.pod_with_volumes("a/holder", [disk.clone()]);
    world.add_pod(holder, "n1");
    place(&mut world, "a/other", "1", 0, "n1");
    let mut pod = world.pod_with_volumes("a/pending", [disk]);
    world.set_requests(&mut pod, &[("cpu", "1")]);
    check(&world, &pod, &["evict n1 holder (1)", "add n1 (1)"]);
}

/// A node `n1` that can hold so many volumes, and holds three of three pods.
fn full_node(limit: i32) -> World {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let csi_node = world.csi_node("n1", &[("csi", Some(limit))]);
    world.add(Object::CSINode(Arc::new(csi_node)));
    for (name, priority) in [("high", 9), ("low", 0), ("middle", 5)] {
        add_claim(&mut world, name);
        let mut holder = world.pod_with_claims(&format!("a/{name}"), &[name]);
        holder.priority = priority;
        world.add_pod(holder, "n1");
        let attachment = world.attachment("csi", "n1", name);
        world.add(Object::VolumeAttachment(Arc::new(attachment)));
    }
    add_claim(&mut world, "new");
    world
}

#[test]
fn pods_go_with_their_volumes() {
    let mut world = full_node(3);
    let pod = pending(&mut world, "new");
    check(&world, &pod, &["evict n1 low (1)", "add n1 (1)"]);
    let mut world = full_node(2);
    let pod = pending(&mut world, "new");
    check(&world, &pod, &["evict n1 low middle (1)", "add n1 (1)"]);
}

#[test]
fn a_volume_that_another_pod_uses_stays() {
    let mut world = full_node(3);
    let mut sharer = world.pod_with_claims("a/sharer", &["low"]);
    sharer.priority = 1;
    world.add_pod(sharer, "n1");
    let pod = pending(&mut world, "new");
    check(&world, &pod, &["evict n1 low sharer (1)", "add n1 (1)"]);
}

#[test]
fn a_new_node_has_the_limits_of_its_model() {
    let mut world = full_node(0);
    let pod = pending(&mut world, "new");
    check(&world, &pod, &[]);
}

#[test]
fn a_volume_of_a_zone_gets_a_node_there() {
    let mut world = World::default();
    for zone in ["a", "b"] {
        add_node(&mut world, zone, "4", |world, node| {
            node.labels = world.labels(&[("topology.kubernetes.io/zone", zone)]);
        });
    }
    let mut volume = world.volume("data", "");
    volume.topology = [(sym::ZONE, [world.sym("b")].into())].into();
    world.add_volume(volume);
    let claim = world.bound_claim("a/data", "data");
    world.add_claim(claim);
    place(&mut world, "a/large", "4", 0, "b");
    let pod = pending(&mut world, "data");
    check(
        &world,
        &pod,
        &["free b cpu 1000 (1)", "evict b large (1)", "add b (1)"],
    );
}
