use super::*;

fn hint(world: &World, pod: &Pod, old: Option<&Object>, new: &Object) -> Hint {
    let event = ClusterEvent::new(EventResource::WildCard, Action::UPDATE);
    plugin().hint(world.cx(), &event, pod, old, Some(new))
}

#[test]
fn claims_of_the_pod_help() {
    let mut world = world();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let ephemeral = world.pod_with_ephemeral("ns/eph");
    // Queue semantic 22: claims of generic ephemeral volumes are known here.
    for (pod, name, expected) in [
        (&pod, "ns/data", Hint::Queue),
        (&pod, "ns/more", Hint::Skip),
        (&pod, "elsewhere/data", Hint::Skip),
        (&ephemeral, "ns/eph-scratch", Hint::Queue),
    ] {
        let claim = Object::PersistentVolumeClaim(Arc::new(world.claim(name, "")));
        assert_eq!(hint(&world, pod, Some(&claim), &claim), expected, "{name}");
    }
}

#[test]
fn classes_help_when_new_or_moved() {
    let mut world = world();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let class = world.class("csi", "csi", true);
    let mut moved = class.clone();
    moved.allowed_topologies = world.node_selector("zone", "a").terms;
    let [class, moved] = [class, moved].map(|class| Object::StorageClass(Arc::new(class)));
    assert_eq!(hint(&world, &pod, None, &class), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&class), &moved), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&class), &class), Hint::Skip);
}

#[test]
fn csi_nodes_help_when_new_or_migrated() {
    let mut world = world();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let node = world.csi_node("a", &[("csi", Some(1))]);
    let mut migrated = node.clone();
    migrated.migrated_plugins = [sym::AWS_EBS_PLUGIN].into();
    let [node, migrated] = [node, migrated].map(|node| Object::CSINode(Arc::new(node)));
    assert_eq!(hint(&world, &pod, None, &node), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&node), &migrated), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&node), &node), Hint::Skip);
}

#[test]
fn a_driver_helps_inline_volumes_when_it_stops_publishing_capacity() {
    let mut world = world();
    let driver = world.sym("csi");
    let inline = world.pod_with_volumes("ns/inline", [VolumeSource::Csi { driver }]);
    let claims = world.pod_with_claims("ns/claims", &["data"]);
    let [on, off] =
        [true, false].map(|on| Object::CSIDriver(Arc::new(world.csi_driver("csi", on))));
    assert_eq!(hint(&world, &inline, Some(&on), &off), Hint::Queue);
    assert_eq!(hint(&world, &inline, Some(&off), &on), Hint::Skip);
    assert_eq!(hint(&world, &claims, Some(&on), &off), Hint::Skip);
}

#[test]
fn capacities_help_when_new_or_larger() {
    let mut world = world();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let small = world.capacity("c", "csi", "a", 1);
    let large = world.capacity("c", "csi", "a", 2);
    let mut capped = large.clone();
    capped.maximum_volume_size = small.capacity;
    let mut unknown = large.clone();
    unknown.capacity = None;
    let [small, large, capped, unknown] = [small, large, capped, unknown]
        .map(|capacity| Object::CSIStorageCapacity(Arc::new(capacity)));
    assert_eq!(hint(&world, &pod, None, &small), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&small), &large), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&large), &small), Hint::Skip);
    assert_eq!(hint(&world, &pod, Some(&small), &capped), Hint::Skip);
    assert_eq!(hint(&world, &pod, Some(&unknown), &small), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&small), &unknown), Hint::Skip);
}
