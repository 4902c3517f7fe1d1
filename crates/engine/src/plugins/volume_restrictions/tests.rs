use super::*;
use crate::testing::World;

fn gce(world: &mut World, name: &str, read_only: bool) -> VolumeSource {
    VolumeSource::GcePersistentDisk {
        name: world.sym(name),
        read_only,
    }
}

fn rbd(world: &mut World, monitors: &[&str], image: &str, read_only: bool) -> VolumeSource {
    VolumeSource::Rbd {
        monitors: monitors.iter().map(|m| world.sym(m)).collect(),
        pool: world.sym("pool"),
        image: world.sym(image),
        read_only,
    }
}

#[test]
fn a_disk_is_shared_only_by_readers() {
    let mut world = World::default();
    let w = &mut world;
    let (disk, other_disk, read) = (gce(w, "d", false), gce(w, "e", false), gce(w, "d", true));
    assert!(sources_conflict(&disk, &disk));
    assert!(sources_conflict(&disk, &read));
    assert!(!sources_conflict(&read, &read));
    assert!(!sources_conflict(&disk, &other_disk));

    let id = w.sym("d");
    let ebs = VolumeSource::AwsElasticBlockStore { id };
    assert!(sources_conflict(&ebs, &ebs), "whoever reads or writes");
    assert!(!sources_conflict(&ebs, &disk), "another kind of disk");

    let iqn = w.sym("iqn");
    let iscsi = |read_only| VolumeSource::Iscsi { iqn, read_only };
    assert!(sources_conflict(&iscsi(true), &iscsi(false)));
    assert!(!sources_conflict(&iscsi(true), &iscsi(true)));

    let a = rbd(w, &["m1", "m2"], "i", false);
    let b = rbd(w, &["m2"], "i", true);
    let elsewhere = rbd(w, &["m3"], "i", false);
    let other_image = rbd(w, &["m1"], "j", false);
    assert!(sources_conflict(&a, &b));
    assert!(!sources_conflict(&b, &b));
    assert!(!sources_conflict(&a, &elsewhere));
    assert!(!sources_conflict(&a, &other_image));
}

#[test]
fn a_disk_in_use_keeps_the_pod_away_from_its_node_alone() {
    let mut world = World::default();
    for name in ["n1", "n2"] {
        let node = world.node(name, &[]);
        world.add_node(node);
    }
    let disk = gce(&mut world, "d", false);
    let user = world.pod_with_volumes("elsewhere/user", [disk.clone()]);
    world.add_pod(user, "n1");
    let pod = world.pod_with_volumes("ns/pod", [disk]);
    let PreFilterResult::Ready(state) = VolumeRestrictions.pre_filter(world.cx(), &pod) else {
        panic!("a disk must be checked");
    };
    let [n1, n2] = world.snapshot.nodes() else {
        panic!("two nodes expected");
    };
    let filter = |node| VolumeRestrictions.filter(world.cx(), &state, &pod, node);
    assert_eq!(filter(n1), Err(Status::unschedulable(DISK_CONFLICT)));
    assert_eq!(filter(n2), Ok(()));
    // Without PreFilter the disks are checked all the same, the claims are not.
    let state = VolumeRestrictions
        .pre_filter_disabled(world.cx(), &pod)
        .expect("never fails");
    let filter = |node| VolumeRestrictions.filter(world.cx(), &state, &pod, node);
    assert_eq!(filter(n1), Err(Status::unschedulable(DISK_CONFLICT)));
    assert_eq!(filter(n2).map_err(|status| status.code), Err(Code::Error));
}

/// Semantic 31.
#[test]
fn semantic_31_a_missing_claim_is_reported_here() {
    let mut world = World::default();
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let PreFilterResult::Rejected(status) = VolumeRestrictions.pre_filter(world.cx(), &pod) else {
        panic!("a rejection expected");
    };
    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
    assert_eq!(
        status.message(&world.snapshot),
        "persistentvolumeclaim \"data\" not found"
    );
    let ephemeral = world.pod_with_ephemeral("ns/other");
    assert!(matches!(
        VolumeRestrictions.pre_filter(world.cx(), &ephemeral),
        PreFilterResult::Skip
    ));
}

/// A cluster whose claim `data` only one pod may use, with these users on node `n`.
fn exclusive(users: &[&str]) -> World {
    let mut world = World::default();
    let node = world.node("n", &[]);
    world.add_node(node);
    let mut claim = world.claim("ns/data", "");
    claim.access_modes = [AccessMode::ReadWriteOncePod].into();
    world.add_claim(claim);
    for user in users {
        let user = world.pod_with_claims(user, &["data"]);
        world.add_pod(user, "n");
    }
    world
}

#[test]
fn an_exclusive_claim_in_use_rejects_every_node() {
    let mut world = exclusive(&["ns/user"]);
    let pod = world.pod_with_claims("ns/pod", &["data", "data"]);
    let PreFilterResult::Ready(mut state) = VolumeRestrictions.pre_filter(world.cx(), &pod) else {
        panic!("the claim is in use");
    };
    assert_eq!(state.conflicts, 1, "the claim counts once");
    let node = &world.snapshot.nodes()[0];
    let filter = |state: &_| VolumeRestrictions.filter(world.cx(), state, &pod, node);
    let conflict = Err(Status::unschedulable(READ_WRITE_ONCE_POD_CONFLICT));
    assert_eq!(filter(&state), conflict);
    let user = node.pods[0].clone();
    let cx = world.cx();
    VolumeRestrictions.remove_pod(cx, &mut state, &pod, &user, node);
    VolumeRestrictions.add_pod(cx, &mut state, &pod, &user, node);
    assert_eq!(filter(&state), conflict);
    VolumeRestrictions.remove_pod(cx, &mut state, &pod, &user, node);
    assert_eq!(filter(&state), Ok(()));
}

#[test]
fn a_free_exclusive_claim_is_skipped() {
    let mut world = exclusive(&["elsewhere/user"]);
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    assert!(matches!(
        VolumeRestrictions.pre_filter(world.cx(), &pod),
        PreFilterResult::Skip
    ));
}

/// Upstream's dry runs look at claim names alone.
#[test]
fn dry_run_count_every_reference_whatever_its_namespace() {
    let mut world = exclusive(&["ns/user"]);
    let pod = world.pod_with_claims("ns/pod", &["data"]);
    let foreigner = world.pod_with_claims("elsewhere/pod", &["data", "data"]);
    let PreFilterResult::Ready(mut state) = VolumeRestrictions.pre_filter(world.cx(), &pod) else {
        panic!("the claim is in use");
    };
    let node = &world.snapshot.nodes()[0];
    let cx = world.cx();
    VolumeRestrictions.remove_pod(cx, &mut state, &pod, &foreigner, node);
    assert_eq!(state.conflicts, -1);
}

#[test]
fn hints() {
    let mut world = World::default();
    let disk = gce(&mut world, "d", false);
    let claim = world.sym("data");
    let pod = world.pod_with_volumes("ns/pod", [disk.clone(), VolumeSource::Claim { claim }]);
    let event = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);
    let deleted = |world: &World, deleted: Pod| {
        let deleted = Object::Pod(Arc::new(deleted));
        VolumeRestrictions.hint(world.cx(), &event, &pod, Some(&deleted), None)
    };
    let with_disk = world.pod_with_volumes("ns/a", [disk.clone()]);
    assert_eq!(deleted(&world, with_disk), Hint::Queue);
    let with_claim = world.pod_with_claims("ns/b", &["data"]);
    assert_eq!(deleted(&world, with_claim), Hint::Queue);
    let foreigner = world.pod_with_volumes("elsewhere/a", [disk]);
    assert_eq!(deleted(&world, foreigner), Hint::Skip);
    let other = world.pod_with_claims("ns/c", &["more"]);
    assert_eq!(deleted(&world, other), Hint::Skip);

    let event = ClusterEvent::new(EventResource::PersistentVolumeClaim, Action::ADD);
    let added = |world: &World, pod: &Pod, claim| {
        let claim = Object::PersistentVolumeClaim(Arc::new(claim));
        VolumeRestrictions.hint(world.cx(), &event, pod, None, Some(&claim))
    };
    let own = world.claim("ns/data", "");
    assert_eq!(added(&world, &pod, own), Hint::Queue);
    let foreign = world.claim("elsewhere/data", "");
    assert_eq!(added(&world, &pod, foreign), Hint::Skip);
    // Queue semantic 22: claims of generic ephemeral volumes are unknown here.
    let ephemeral = world.pod_with_ephemeral("ns/other");
    let own = world.claim("ns/other-scratch", "");
    assert_eq!(added(&world, &ephemeral, own), Hint::Skip);
}
