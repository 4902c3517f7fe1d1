use super::*;
use crate::framework::Code;
use crate::model::{
    AccessMode, ClaimRef, CsiMigration, Labels, MigratedVolume, NodeSelectorTerm, Op,
    PersistentVolume, PersistentVolumeClaim, Requirement, VolumeMode,
};
use crate::testing::World;
use crate::testing::storage::gib;
use stowplan_base::sym;

mod found;
mod hints;
mod pre_filter;
mod reserve;

const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
const VOLUME_MISSING: &str =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

fn plugin() -> VolumeBinding {
    VolumeBinding::new(VolumeBindingArgs::default())
}

/// Nodes `a` and `b` in zones of their names, and classes that wait: `local` has no provisioner,
/// `csi` is served by the driver `csi`.
fn world() -> World {
    let mut world = World::default();
    for zone in ["a", "b"] {
        let node = world.node(zone, &[("zone", zone)]);
        world.add_node(node);
    }
    for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("csi", "csi")] {
        let class = world.class(name, provisioner, true);
        world.add_class(class);
    }
    world
}

/// A pod that names these claims, which are added first.
fn pod_of(world: &mut World, claims: Vec<PersistentVolumeClaim>) -> Pod {
    let names: Vec<String> = claims
        .iter()
        .map(|claim| world.snapshot.names.text(claim.name).to_owned())
        .collect();
    for claim in claims {
        world.add_claim(claim);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    world.pod_with_claims("ns/pod", &names)
}

fn volume_in(world: &mut World, name: &str, class: &str, zone: &str) -> PersistentVolume {
    let mut volume = world.volume(name, class);
    volume.node_affinity = Some(world.node_selector("zone", zone));
    volume
}

fn prepare(world: &World, pod: &Pod) -> Arc<PodClaims> {
    match plugin().pre_filter(world.cx(), pod) {
        PreFilterResult::Ready(claims) => claims,
        PreFilterResult::Rejected(status) => {
            panic!("rejected: {}", status.message(&world.snapshot))
        }
        _ => panic!("claims expected"),
    }
}

/// The reasons against node `a` and against node `b`.
fn reasons(world: &World, pod: &Pod) -> [Vec<String>; 2] {
    let claims = prepare(world, pod);
    let [a, b] = world.snapshot.nodes() else {
        panic!("two nodes expected");
    };
    [a, b].map(
        |node| match plugin().filter(world.cx(), &claims, pod, node) {
            Ok(()) => Vec::new(),
            Err(status) => {
                assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
                let reasons = status.reasons().iter();
                reasons.map(|r| r.render(&world.snapshot)).collect()
            }
        },
    )
}

/// The names of the volumes that the pod's claims get on node `a`, smallest claim first.
fn bindings(world: &World, pod: &Pod) -> Vec<String> {
    let claims = prepare(world, pod);
    let node = &world.snapshot.nodes()[0];
    find::find_pod_volumes(&world.snapshot, &claims, node)
        .map(|volumes| volumes.bindings)
        .unwrap_or_default()
        .iter()
        .map(|(volume, _)| world.snapshot.names.text(volume.name).to_owned())
        .collect()
}

#[test]
fn bound_volumes_must_be_in_reach() {
    let mut world = world();
    let volume = volume_in(&mut world, "pv", "", "a");
    world.add_volume(volume);
    let claim = world.bound_claim("ns/data", "pv");
    let gone = world.bound_claim("ns/gone", "pv-gone");
    let pod = pod_of(&mut world, vec![claim, gone.clone()]);
    assert_eq!(
        reasons(&world, &pod),
        [vec![VOLUME_MISSING], vec![NODE_CONFLICT]],
        "the first bad claim decides"
    );
    let pod = pod_of(&mut world, vec![gone]);
    assert_eq!(
        reasons(&world, &pod),
        [vec![VOLUME_MISSING], vec![VOLUME_MISSING]]
    );
}

#[test]
fn a_volume_ignores_conditions_on_node_fields() {
    let mut world = world();
    let other_node = world.sym("c");
    let mut volume = world.volume("pv", "");
    let term = NodeSelectorTerm {
        fields: [Requirement {
            key: sym::METADATA_NAME,
            op: Op::In,
            values: [other_node].into(),
        }]
        .into(),
        ..NodeSelectorTerm::default()
    };
    let affinity = volume.node_affinity.insert(Default::default());
    affinity.terms = [term].into();
    world.add_volume(volume.clone());
    let claim = world.bound_claim("ns/data", "pv");
    let pod = pod_of(&mut world, vec![claim]);
    let none: [Vec<String>; 2] = Default::default();
    assert_eq!(reasons(&world, &pod), none);
    // An empty term, though, matches nothing.
    volume.node_affinity = Some(Default::default());
    world.add_volume(volume);
    assert_eq!(
        reasons(&world, &pod),
        [vec![NODE_CONFLICT], vec![NODE_CONFLICT]]
    );
}

#[test]
fn reasons_come_in_upstreams_order() {
    let mut world = world();
    let volume = volume_in(&mut world, "pv", "", "b");
    world.add_volume(volume);
    let bound = world.bound_claim("ns/bound", "pv");
    let unbound = world.claim("ns/unbound", "local");
    let pod = pod_of(&mut world, vec![bound.clone(), unbound.clone()]);
    assert_eq!(
        reasons(&world, &pod),
        [vec![NODE_CONFLICT, BIND_CONFLICT], vec![BIND_CONFLICT]]
    );
    let gone = world.bound_claim("ns/gone", "pv-gone");
    let pod = pod_of(&mut world, vec![gone, unbound]);
    assert_eq!(reasons(&world, &pod)[0], [BIND_CONFLICT, VOLUME_MISSING]);
    let driver = world.csi_driver("csi", true);
    world.add(Object::CSIDriver(Arc::new(driver)));
    let dynamic = world.claim("ns/dynamic", "csi");
    let pod = pod_of(&mut world, vec![dynamic, bound]);
    assert_eq!(reasons(&world, &pod)[0], [NODE_CONFLICT, NOT_ENOUGH_SPACE]);
}

#[test]
fn the_smallest_volume_that_fits_is_chosen() {
    let mut world = world();
    for (name, size) in [("big", 50), ("small", 1), ("right", 6), ("fair", 7)] {
        let mut volume = world.volume(name, "local");
        volume.capacity = gib(size);
        world.add_volume(volume);
    }
    let mut large = world.claim("ns/large", "local");
    large.request = Some(gib(6));
    let modest = world.claim("ns/modest", "local");
    let pod = pod_of(&mut world, vec![large, modest]);
    // The smaller claim chooses first; what it takes is gone.
    assert_eq!(bindings(&world, &pod), ["right", "fair"]);
}

#[test]
fn unfit_volumes_are_passed_over() {
    let mut world = world();
    type Spoil = fn(&mut PersistentVolume);
    let unfit: [(&str, Spoil); 7] = [
        ("small", |v| v.capacity = gib(4)),
        ("block", |v| v.volume_mode = VolumeMode::Block),
        ("gold", |v| v.attributes_class = sym::YES),
        ("leaving", |v| v.terminating = true),
        ("released", |v| v.phase = sym::BOUND),
        ("shared", |v| {
            v.access_modes = [AccessMode::ReadOnlyMany].into()
        }),
        ("taken", |v| {
            v.claim_ref = Some(ClaimRef {
                namespace: sym::DEFAULT_NAMESPACE,
                name: sym::YES,
                uid: "".into(),
            });
        }),
    ];
    for (name, spoil) in unfit {
        let mut volume = world.volume(name, "local");
        spoil(&mut volume);
        world.add_volume(volume);
    }
    let elsewhere = volume_in(&mut world, "elsewhere", "local", "b");
    world.add_volume(elsewhere);
    let other_class = world.volume("other-class", "other");
    world.add_volume(other_class);
    let claim = world.claim("ns/data", "local");
    let pod = pod_of(&mut world, vec![claim.clone()]);
    assert_eq!(reasons(&world, &pod), [vec![BIND_CONFLICT], vec![]]);

    let mut labelled = world.volume("labelled", "local");
    labelled.labels = world.labels(&[("disk", "ssd")]);
    world.add_volume(labelled);
    let mut picky = claim;
    for (value, expected) in [("ssd", vec!["labelled"]), ("hdd", vec![])] {
        picky.selector = Some(Ok(world.selector(&[("disk", value)])));
        let pod = pod_of(&mut world, vec![picky.clone()]);
        assert_eq!(bindings(&world, &pod), expected);
    }
    picky.selector = Some(Err("no such operator".into()));
    let pod = pod_of(&mut world, vec![picky]);
    let claims = prepare(&world, &pod);
    let node = &world.snapshot.nodes()[0];
    let status = plugin().filter(world.cx(), &claims, &pod, node);
    assert_eq!(status.map_err(|status| status.code), Err(Code::Error));
}

#[test]
fn a_volume_reserved_for_the_claim_comes_first_or_nothing_does() {
    let mut world = world();
    let claim = world.claim("ns/data", "local");
    let mut reserved = volume_in(&mut world, "reserved", "local", "a");
    reserved.phase = sym::BOUND;
    reserved.claim_ref = Some(ClaimRef {
        namespace: claim.namespace,
        name: claim.name,
        uid: "".into(),
    });
    world.add_volume(reserved.clone());
    let mut free = world.volume("free", "local");
    free.capacity = gib(5);
    world.add_volume(free);
    let pod = pod_of(&mut world, vec![claim]);
    assert_eq!(bindings(&world, &pod), ["reserved"]);
    assert_eq!(reasons(&world, &pod), [vec![], vec![BIND_CONFLICT]]);

    let stranger = reserved.claim_ref.as_mut().expect("just set");
    stranger.uid = "another".into();
    world.add_volume(reserved);
    assert_eq!(bindings(&world, &pod), ["free"]);
}

#[test]
fn volumes_are_made_where_the_class_allows() {
    let mut world = world();
    let mut class = world.class("csi", "csi", true);
    class.allowed_topologies = world.node_selector("zone", "a").terms;
    world.add_class(class.clone());
    let claim = world.claim("ns/data", "csi");
    let pod = pod_of(&mut world, vec![claim.clone()]);
    assert_eq!(reasons(&world, &pod), [vec![], vec![BIND_CONFLICT]]);

    class.allowed_topologies = [NodeSelectorTerm::default()].into();
    world.add_class(class);
    assert_eq!(
        reasons(&world, &pod),
        [vec![BIND_CONFLICT], vec![BIND_CONFLICT]],
        "an empty term allows nothing"
    );
}

#[test]
fn room_is_asked_of_drivers_that_publish_it() {
    let mut world = world();
    for (name, zone, size) in [("c1", "a", 4), ("c2", "b", 5)] {
        let capacity = world.capacity(name, "csi", zone, size);
        world.add(Object::CSIStorageCapacity(Arc::new(capacity)));
    }
    let claim = world.claim("ns/data", "csi");
    let pod = pod_of(&mut world, vec![claim.clone()]);
    let none: [Vec<String>; 2] = Default::default();
    assert_eq!(reasons(&world, &pod), none, "no CSIDriver");
    let driver = world.csi_driver("csi", false);
    world.add(Object::CSIDriver(Arc::new(driver)));
    assert_eq!(reasons(&world, &pod), none, "it publishes nothing");
    let driver = world.csi_driver("csi", true);
    world.add(Object::CSIDriver(Arc::new(driver)));
    assert_eq!(reasons(&world, &pod), [vec![NOT_ENOUGH_SPACE], vec![]]);

    let mut capped = world.capacity("c2", "csi", "b", 100);
    capped.maximum_volume_size = Some(gib(1));
    world.add(Object::CSIStorageCapacity(Arc::new(capped)));
    assert_eq!(
        reasons(&world, &pod),
        [vec![NOT_ENOUGH_SPACE], vec![NOT_ENOUGH_SPACE]]
    );
    let mut sizeless = claim;
    sizeless.request = None;
    let pod = pod_of(&mut world, vec![sizeless]);
    assert_eq!(reasons(&world, &pod), none, "nothing to ask for");
}

#[test]
fn a_claim_promised_to_a_node_stays_there() {
    let mut world = world();
    let free = world.volume("free", "csi");
    world.add_volume(free);
    let mut claim = world.claim("ns/data", "csi");
    claim.annotations = Labels::new([(sym::SELECTED_NODE, world.sym("a"))]);
    let pod = pod_of(&mut world, vec![claim]);
    assert_eq!(reasons(&world, &pod), [vec![], vec![BIND_CONFLICT]]);
    let none: [String; 0] = [];
    assert_eq!(bindings(&world, &pod), none, "it is made, not found");
}

#[test]
fn a_migrated_volume_is_placed_by_its_drivers_zones() {
    let mut world = world();
    let mut volume = volume_in(&mut world, "pv", "", "b");
    volume.migrated = Some(MigratedVolume {
        migration: CsiMigration {
            plugin: sym::AWS_EBS_PLUGIN,
            handle: Ok(world.sym("vol-1")),
        },
        node_affinity: Some(world.node_selector("zone", "a")),
    });
    world.add_volume(volume.clone());
    let claim = world.bound_claim("ns/data", "pv");
    let pod = pod_of(&mut world, vec![claim]);
    for name in ["a", "b"] {
        let node = world.csi_node(name, &[]);
        world.add(Object::CSINode(Arc::new(node)));
    }
    assert_eq!(reasons(&world, &pod), [vec![NODE_CONFLICT], vec![]]);
    // Only a node that says so has been migrated.
    let mut migrated = world.csi_node("a", &[]);
    migrated.migrated_plugins = [sym::AWS_EBS_PLUGIN].into();
    world.add(Object::CSINode(Arc::new(migrated)));
    let none: [Vec<String>; 2] = Default::default();
    assert_eq!(reasons(&world, &pod), none);
}
