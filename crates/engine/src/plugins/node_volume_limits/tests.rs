use super::*;
use crate::model::CsiMigration;
use crate::testing::World;
use stowplan_base::sym;

mod walked;

/// A cluster with node `n`, whose driver `csi` takes `limit` volumes.
fn limited(limit: i32) -> World {
    let mut world = World::default();
    let node = world.node("n", &[]);
    world.add_node(node);
    let csi_node = world.csi_node("n", &[("csi", Some(limit)), ("other", None)]);
    world.add(Object::CSINode(Arc::new(csi_node)));
    world
}

/// Adds a claim bound to a volume of `csi` with this handle.
fn add_bound(world: &mut World, claim: &str, handle: &str) {
    let mut volume = world.volume(&format!("pv-{handle}"), "");
    volume.csi = world.csi("csi", handle);
    world.add_volume(volume);
    let claim = world.bound_claim(claim, &format!("pv-{handle}"));
    world.add_claim(claim);
}

fn filter(world: &World, pod: &Pod) -> Fit {
    let PreFilterResult::Ready(state) = NodeVolumeLimits.pre_filter(world.cx(), pod) else {
        panic!("volumes expected");
    };
    NodeVolumeLimits.filter(world.cx(), &state, pod, &world.snapshot.nodes()[0])
}

fn exceeded() -> Fit {
    Err(Status::unschedulable(LIMIT_EXCEEDED))
}

#[test]
fn every_volume_counts_once() {
    let mut world = limited(2);
    for (claim, handle) in [("ns/a", "1"), ("ns/b", "2"), ("ns/c", "3"), ("ns/a2", "1")] {
        add_bound(&mut world, claim, handle);
    }
    let user = world.pod_with_claims("ns/user", &["a"]);
    world.add_pod(user, "n");
    let one_more = world.pod_with_claims("ns/p1", &["b"]);
    assert_eq!(filter(&world, &one_more), Ok(()));
    let two_more = world.pod_with_claims("ns/p2", &["b", "c"]);
    assert_eq!(filter(&world, &two_more), exceeded());
    let one_known = world.pod_with_claims("ns/p3", &["a2", "b"]);
    assert_eq!(filter(&world, &one_known), Ok(()));
}

#[test]
fn attachments_count_even_for_volumes_that_are_new() {
    let mut world = limited(2);
    add_bound(&mut world, "ns/a", "1");
    add_bound(&mut world, "ns/b", "2");
    for volume in ["pv-1", "pv-2", "pv-gone"] {
        let attachment = world.attachment("csi", "n", volume);
        world.add(Object::VolumeAttachment(Arc::new(attachment)));
    }
    let pod = world.pod_with_claims("ns/pod", &["a"]);
    assert_eq!(filter(&world, &pod), exceeded(), "attached, and new on top");
    let user = world.pod_with_claims("ns/user", &["a"]);
    world.add_pod(user, "n");
    assert_eq!(filter(&world, &pod), Ok(()), "in use already");
}

#[test]
fn unbound_claims_count_by_their_class() {
    let mut world = limited(0);
    let class = world.class("fast", "csi", true);
    world.add_class(class);
    let other = world.class("slow", "nfs", true);
    world.add_class(other);
    for (name, class) in [("ns/a", "fast"), ("ns/b", "slow"), ("ns/c", "missing")] {
        let claim = world.claim(name, class);
        world.add_claim(claim);
    }
    let mut lost = world.claim("ns/d", "fast");
    lost.volume_name = world.sym("pv-gone");
    world.add_claim(lost);
    for (claim, expected) in [
        ("a", exceeded()),
        ("b", Ok(())),
        ("c", Ok(())),
        ("d", exceeded()),
    ] {
        let pod = world.pod_with_claims("ns/pod", &[claim]);
        assert_eq!(filter(&world, &pod), expected, "{claim}");
    }
}

#[test]
fn without_a_limit_nothing_is_counted() {
    let mut world = World::default();
    let node = world.node("n", &[]);
    world.add_node(node);
    add_bound(&mut world, "ns/a", "1");
    let pod = world.pod_with_claims("ns/pod", &["a"]);
    assert_eq!(filter(&world, &pod), Ok(()));
    let csi_node = world.csi_node("n", &[("csi", None)]);
    world.add(Object::CSINode(Arc::new(csi_node)));
    assert_eq!(filter(&world, &pod), Ok(()));
}

#[test]
fn missing_claims_and_foreign_ephemeral_claims() {
    let mut world = limited(1);
    let pod = world.pod_with_claims("ns/pod", &["gone"]);
    let status = filter(&world, &pod).expect_err("the claim is missing");
    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
    assert_eq!(
        status.message(&world.snapshot),
        "looking up PVC ns/gone: persistentvolumeclaim \"gone\" not found"
    );

    let ephemeral = world.pod_with_ephemeral("ns/eph");
    let mut claim = world.claim("ns/eph-scratch", "");
    world.add_claim(claim.clone());
    let status = filter(&world, &ephemeral).expect_err("not the pod's claim");
    assert_eq!(status.code, Code::Error);
    assert_eq!(
        status.message(&world.snapshot),
        "PVC ns/eph-scratch was not created for pod ns/eph (pod is not owner)"
    );
    claim.controller_uid = Some(ephemeral.uid.clone());
    world.add_claim(claim);
    assert_eq!(filter(&world, &ephemeral), Ok(()));

    // What is wrong with pods on the node: missing claims do not count.
    world.add_pod(pod, "n");
    add_bound(&mut world, "ns/a", "1");
    let newcomer = world.pod_with_claims("ns/new", &["a"]);
    assert_eq!(filter(&world, &newcomer), Ok(()));
}

/// A pod with an in-tree EBS volume.
fn ebs_pod(world: &mut World, name: &str, handle: Result<&str, &str>) -> Pod {
    let id = world.sym("vol-1");
    let mut pod = world.pod_with_volumes(
        name,
        [crate::model::VolumeSource::AwsElasticBlockStore { id }],
    );
    pod.volumes[0].migration = Some(CsiMigration {
        plugin: sym::AWS_EBS_PLUGIN,
        handle: handle.map(|handle| world.sym(handle)).map_err(Into::into),
    });
    pod
}

#[test]
fn in_tree_volumes_count_where_there_is_a_csi_node() {
    let mut world = World::default();
    let node = world.node("n", &[]);
    world.add_node(node);
    let pod = ebs_pod(&mut world, "ns/pod", Ok("vol-1"));
    let broken = ebs_pod(&mut world, "ns/broken", Err("bad id"));
    assert_eq!(filter(&world, &pod), Ok(()));
    assert_eq!(filter(&world, &broken), Ok(()), "nobody translates it");
    let csi_node = world.csi_node("n", &[("ebs.csi.aws.com", Some(0))]);
    world.add(Object::CSINode(Arc::new(csi_node)));
    assert_eq!(filter(&world, &pod), exceeded());
    let status = filter(&world, &broken).expect_err("cannot be translated");
    assert_eq!(status.code, Code::Error);
    assert_eq!(
        status.message(&world.snapshot),
        "converting volume(v0) from inline to csi: bad id"
    );
}

#[test]
fn pods_without_attachable_volumes_are_skipped() {
    let mut world = World::default();
    let pod = world.pod_with_volumes("ns/pod", [crate::model::VolumeSource::Other]);
    assert!(matches!(
        NodeVolumeLimits.pre_filter(world.cx(), &pod),
        PreFilterResult::Skip
    ));
}

#[test]
fn hints_of_pods_and_claims() {
    let mut world = World::default();
    let pod = world.pod_with_ephemeral("ns/pod");
    let event = ClusterEvent::new(EventResource::AssignedPod, Action::DELETE);
    let deleted = |world: &World, deleted: Pod| {
        let deleted = Object::Pod(Arc::new(deleted));
        NodeVolumeLimits.hint(world.cx(), &event, &pod, Some(&deleted), None)
    };
    let mut user = world.pod_with_claims("elsewhere/user", &["a"]);
    assert_eq!(deleted(&world, user.clone()), Hint::Skip, "it held nothing");
    user.nominated_node_name = Some(world.sym("n"));
    assert_eq!(deleted(&world, user.clone()), Hint::Queue);
    user.volumes = Box::default();
    assert_eq!(deleted(&world, user), Hint::Skip);

    // Queue semantic 22: claims of generic ephemeral volumes are known here.
    for (name, expected) in [
        ("ns/pod-scratch", Hint::Queue),
        ("ns/more", Hint::Skip),
        ("elsewhere/pod-scratch", Hint::Skip),
    ] {
        let claim = Object::PersistentVolumeClaim(Arc::new(world.claim(name, "")));
        let event = ClusterEvent::new(EventResource::PersistentVolumeClaim, Action::ADD);
        let hint = NodeVolumeLimits.hint(world.cx(), &event, &pod, None, Some(&claim));
        assert_eq!(hint, expected, "{name}");
    }
}

#[test]
fn hints_of_attachments_and_limits() {
    let mut world = World::default();
    let attachment = world.attachment("ebs.csi.aws.com", "n", "pv");
    let attachment = Object::VolumeAttachment(Arc::new(attachment));
    let detached = |world: &World, pod: &Pod| {
        let event = ClusterEvent::new(EventResource::VolumeAttachment, Action::DELETE);
        NodeVolumeLimits.hint(world.cx(), &event, pod, Some(&attachment), None)
    };
    let claims = world.pod_with_claims("ns/a", &["a"]);
    assert_eq!(detached(&world, &claims), Hint::Queue);
    let ephemeral = world.pod_with_ephemeral("ns/b");
    assert_eq!(detached(&world, &ephemeral), Hint::Skip);
    let ebs = ebs_pod(&mut world, "ns/c", Ok("vol-1"));
    assert_eq!(detached(&world, &ebs), Hint::Queue);
    let broken = ebs_pod(&mut world, "ns/d", Err("bad id"));
    assert!(matches!(detached(&world, &broken), Hint::Error(_)));

    let mut node = |drivers: &[(&str, Option<i32>)]| world.csi_node("n", drivers);
    let one = node(&[("csi", Some(1))]);
    let two = node(&[("csi", Some(2))]);
    let unlimited = node(&[("csi", None)]);
    let more = node(&[("csi", Some(1)), ("other", Some(1))]);
    assert!(raises_a_limit(&one, &two));
    assert!(!raises_a_limit(&two, &one));
    assert!(!raises_a_limit(&one, &unlimited), "no limit counts as 0");
    assert!(raises_a_limit(&unlimited, &one));
    assert!(raises_a_limit(&one, &more));
}
