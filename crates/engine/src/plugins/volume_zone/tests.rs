use super::*;
use crate::model::PersistentVolume;
use crate::testing::World;

/// A pod with a claim bound to a volume with these topology labels.
fn zoned(world: &mut World, topology: &[(Sym, &[&str])]) -> Pod {
    let volume = zoned_volume(world, topology);
    world.add_volume(volume);
    let claim = world.bound_claim("ns/data", "pv");
    world.add_claim(claim);
    world.pod_with_claims("ns/pod", &["data"])
}

fn zoned_volume(world: &mut World, topology: &[(Sym, &[&str])]) -> PersistentVolume {
    let mut volume = world.volume("pv", "");
    volume.topology = topology
        .iter()
        .map(|(key, zones)| (*key, zones.iter().map(|zone| world.sym(zone)).collect()))
        .collect();
    volume
}

/// Whether a pod whose volume has the labels fits on a node with the others.
fn fits(topology: &[(Sym, &[&str])], node_labels: &[(Sym, &str)]) -> bool {
    let mut world = World::default();
    let pod = zoned(&mut world, topology);
    let mut node = world.node("n", &[]);
    node.labels = Labels::new(
        node_labels
            .iter()
            .map(|(key, value)| (*key, world.sym(value)))
            .collect::<Vec<_>>(),
    );
    world.add_node(node);
    let PreFilterResult::Ready(state) = VolumeZone.pre_filter(world.cx(), &pod) else {
        panic!("topologies expected");
    };
    let fit = VolumeZone.filter(world.cx(), &state, &pod, &world.snapshot.nodes()[0]);
    if let Err(status) = &fit {
        assert_eq!(*status, Status::unresolvable(CONFLICT));
    }
    fit.is_ok()
}

/// Semantic 32.
#[test]
fn semantic_32_zone_sets_beta_labels_and_nodes_without_labels() {
    let a_or_b: &[(Sym, &[&str])] = &[(sym::ZONE, &["a", "b"])];
    assert!(fits(a_or_b, &[(sym::ZONE, "b")]));
    assert!(!fits(a_or_b, &[(sym::ZONE, "c")]));
    assert!(fits(a_or_b, &[]), "no topology label at all");
    assert!(!fits(a_or_b, &[(sym::REGION, "r")]), "another label");

    let beta: &[(Sym, &[&str])] = &[(sym::ZONE_BETA, &["a"])];
    assert!(fits(beta, &[(sym::ZONE, "a")]), "GA label of the node");
    assert!(fits(beta, &[(sym::ZONE_BETA, "a"), (sym::ZONE, "b")]));
    assert!(!fits(beta, &[(sym::ZONE_BETA, "b"), (sym::ZONE, "a")]));
    let ga: &[(Sym, &[&str])] = &[(sym::ZONE, &["a"])];
    assert!(!fits(ga, &[(sym::ZONE_BETA, "a")]), "not the other way");
}

fn rejection(world: &World, pod: &Pod) -> Option<String> {
    match VolumeZone.pre_filter(world.cx(), pod) {
        PreFilterResult::Rejected(status) => {
            assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
            Some(status.message(&world.snapshot))
        }
        _ => None,
    }
}

#[test]
fn unbound_claims_must_wait_for_their_pod() {
    let mut world = World::default();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let text = "persistentvolumeclaim \"data\" not found";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));

    let claim = world.claim("ns/data", "");
    world.add_claim(claim);
    let text = "PersistentVolumeClaim had no pv name and storageClass name";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));

    let claim = world.claim("ns/data", "fast");
    world.add_claim(claim);
    let text = "storageclass.storage.k8s.io \"fast\" not found";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));

    let mut class = world.class("fast", "p", false);
    world.add_class(class.clone());
    let text = "PersistentVolume had no name";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));

    class.binding_mode = None;
    world.add_class(class);
    let text = "VolumeBindingMode not set for StorageClass \"fast\"";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));

    let class = world.class("fast", "p", true);
    world.add_class(class);
    assert!(matches!(
        VolumeZone.pre_filter(world.cx(), &pod),
        PreFilterResult::Skip
    ));

    let claim = world.bound_claim("ns/data", "pv");
    world.add_claim(claim);
    let text = "persistentvolume \"pv\" not found";
    assert_eq!(rejection(&world, &pod).as_deref(), Some(text));
}

#[test]
fn volumes_without_topology_and_ephemeral_volumes_are_skipped() {
    let mut world = World::default();
    let pod = zoned(&mut world, &[]);
    let state = VolumeZone.pre_filter(world.cx(), &pod);
    assert!(matches!(state, PreFilterResult::Skip));
    let ephemeral = world.pod_with_ephemeral("ns/other");
    let state = VolumeZone.pre_filter(world.cx(), &ephemeral);
    assert!(
        matches!(state, PreFilterResult::Skip),
        "its claim is missing"
    );
}

#[test]
fn hints() {
    let mut world = World::default();
    let pod = zoned(&mut world, &[]);
    let ephemeral = world.pod_with_ephemeral("ns/other");
    let event = ClusterEvent::new(EventResource::PersistentVolume, Action::UPDATE);
    let hint = |world: &World, pod: &Pod, old: Option<&Object>, new: &Object| {
        VolumeZone.hint(world.cx(), &event, pod, old, Some(new))
    };

    let in_a = zoned_volume(&mut world, &[(sym::ZONE, &["a"])]);
    let in_b = zoned_volume(&mut world, &[(sym::ZONE, &["b"])]);
    let (in_a, in_b) = (
        Object::PersistentVolume(Arc::new(in_a)),
        Object::PersistentVolume(Arc::new(in_b)),
    );
    assert_eq!(hint(&world, &pod, None, &in_a), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&in_a), &in_b), Hint::Queue);
    assert_eq!(hint(&world, &pod, Some(&in_a), &in_a), Hint::Skip);

    for (waits, expected) in [(true, Hint::Queue), (false, Hint::Skip)] {
        let class = Object::StorageClass(Arc::new(world.class("c", "p", waits)));
        assert_eq!(hint(&world, &pod, None, &class), expected);
    }

    for (name, expected) in [
        ("ns/data", Hint::Queue),
        ("ns/more", Hint::Skip),
        ("elsewhere/data", Hint::Skip),
    ] {
        let claim = Object::PersistentVolumeClaim(Arc::new(world.claim(name, "")));
        assert_eq!(hint(&world, &pod, None, &claim), expected, "{name}");
    }
    // Queue semantic 22: claims of generic ephemeral volumes are unknown here.
    let claim = Object::PersistentVolumeClaim(Arc::new(world.claim("ns/other-scratch", "")));
    assert_eq!(hint(&world, &ephemeral, None, &claim), Hint::Skip);
}
