use super::*;

fn rejection(world: &World, pod: &Pod) -> (Code, String) {
    match plugin().pre_filter(world.cx(), pod) {
        PreFilterResult::Rejected(status) => (status.code, status.message(&world.snapshot)),
        _ => panic!("a rejection expected"),
    }
}

#[test]
fn pods_without_claims_are_skipped() {
    let mut world = world();
    let pod = world.pod_with_volumes("ns/pod", [VolumeSource::Other]);
    assert!(matches!(
        plugin().pre_filter(world.cx(), &pod),
        PreFilterResult::Skip
    ));
    assert!(matches!(
        plugin().pre_score(world.cx(), &pod, &[]),
        PreScoreResult::Skip
    ));
}

/// Semantic 31.
#[test]
fn semantic_31_claims_that_cannot_be_used_reject_the_pod() {
    let mut world = world();
    let missing = world.pod_with_claims("ns/pod", &["data"]);
    let ephemeral = world.pod_with_ephemeral("ns/eph");
    let unresolvable = |text: &str| (Code::UnschedulableAndUnresolvable, text.to_owned());
    assert_eq!(
        rejection(&world, &missing),
        unresolvable("persistentvolumeclaim \"data\" not found")
    );
    assert_eq!(
        rejection(&world, &ephemeral),
        unresolvable(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"eph-scratch\""
        )
    );

    let foreign = world.claim("ns/eph-scratch", "local");
    world.add_claim(foreign);
    assert_eq!(
        rejection(&world, &ephemeral),
        unresolvable("PVC ns/eph-scratch was not created for pod ns/eph (pod is not owner)")
    );

    let mut claim = world.bound_claim("ns/data", "pv");
    claim.terminating = true;
    let pod = pod_of(&mut world, vec![claim.clone()]);
    assert_eq!(
        rejection(&world, &pod),
        unresolvable("persistentvolumeclaim \"data\" is being deleted")
    );
    claim.phase = sym::LOST;
    let pod = pod_of(&mut world, vec![claim]);
    assert_eq!(
        rejection(&world, &pod),
        unresolvable(
            "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\""
        )
    );
}

#[test]
fn claims_that_do_not_wait_must_be_bound_already() {
    let mut world = world();
    let immediate = world.class("now", "csi", false);
    world.add_class(immediate);
    let unbound = |world: &World, pod: &Pod| {
        let (code, text) = rejection(world, pod);
        assert_eq!(code, Code::UnschedulableAndUnresolvable);
        assert_eq!(text, "pod has unbound immediate PersistentVolumeClaims");
    };
    for class in ["", "missing", "now"] {
        let claim = world.claim("ns/data", class);
        let pod = pod_of(&mut world, vec![claim]);
        unbound(&world, &pod);
    }
    let mut prebound = world.claim("ns/data", "local");
    prebound.volume_name = world.sym("pv");
    let pod = pod_of(&mut world, vec![prebound]);
    unbound(&world, &pod);

    let mut class = world.class("now", "csi", false);
    class.binding_mode = None;
    world.add_class(class);
    let claim = world.claim("ns/data", "now");
    let pod = pod_of(&mut world, vec![claim]);
    assert_eq!(
        rejection(&world, &pod),
        (
            Code::Error,
            "VolumeBindingMode not set for StorageClass \"now\"".to_owned()
        )
    );
}

#[test]
fn filter_fails_when_pre_filter_is_disabled() {
    let mut world = world();
    let pod = world.pod("ns/pod", &[]);
    let status = plugin()
        .pre_filter_disabled(world.cx(), &pod)
        .expect_err("nothing to work with");
    assert_eq!(status, Status::error("not found"));
    let slot = Slot::Absent;
    let node = world.sym("a");
    assert!(plugin().reserve(world.cx(), slot, &pod, node).is_err());
}
