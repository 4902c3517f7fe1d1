use super::*;

/// What changes when the pod goes to node `a`: as assumed, and as written.
fn changes(world: &World, pod: &Pod) -> (Vec<Object>, Vec<Object>) {
    let claims = prepare(world, pod);
    let node = world.snapshot.nodes()[0].node.name;
    let assumed = plugin().reserve(world.cx(), Slot::Ready(&claims), pod, node);
    let effects = plugin().pre_bind(world.cx(), Slot::Ready(&claims), pod, node);
    let mut names = world.snapshot.names.clone();
    let mut steps = effects.expect("nothing can fail");
    if let Some(last) = steps.pop() {
        assert!(
            matches!(last, Step::Wait(_)),
            "the volumes have to be bound"
        );
    }
    let written = steps.into_iter().map(|step| match step {
        Step::Command(Command::Patch(patch)) => {
            let (kind, namespace, name) = patch.target.key;
            let object = world.snapshot.object(kind, namespace, name);
            let object = object.expect("the object is there");
            object.changed(&patch.changes, &mut names)
        }
        other => panic!("unexpected {other:?}"),
    });
    (assumed.expect("nothing can fail"), written.collect())
}

#[test]
fn a_found_volume_is_bound_to_its_claim() {
    let mut world = world();
    let volume = world.volume("pv", "local");
    world.add_volume(volume.clone());
    let claim = world.claim("ns/data", "local");
    let pod = pod_of(&mut world, vec![claim.clone()]);
    let (assumed, written) = changes(&world, &pod);
    let [Object::PersistentVolume(bound)] = &assumed[..] else {
        panic!("one volume expected, got {assumed:?}");
    };
    let mut expected = volume;
    expected.claim_ref = Some(ClaimRef {
        namespace: claim.namespace,
        name: claim.name,
        uid: claim.uid,
    });
    expected.annotations = Labels::new([(sym::BOUND_BY_CONTROLLER, sym::YES)]);
    assert_eq!(**bound, expected);
    assert_eq!(written.len(), 1);

    // Once assumed, the volume is no longer free for others.
    world.add_volume(expected);
    let other = world.claim("ns/other", "local");
    let pod = pod_of(&mut world, vec![other]);
    assert_eq!(reasons(&world, &pod)[0], [BIND_CONFLICT]);
}

#[test]
fn a_reserved_volume_gets_the_uid_but_stays_its_owners() {
    let mut world = world();
    let claim = world.claim("ns/data", "local");
    let mut volume = world.volume("pv", "local");
    volume.claim_ref = Some(ClaimRef {
        namespace: claim.namespace,
        name: claim.name,
        uid: "".into(),
    });
    world.add_volume(volume.clone());
    let pod = pod_of(&mut world, vec![claim.clone()]);
    let (assumed, written) = changes(&world, &pod);
    let [Object::PersistentVolume(bound)] = &assumed[..] else {
        panic!("one volume expected, got {assumed:?}");
    };
    assert!(bound.annotations.is_empty());
    assert_eq!(written.len(), 1);

    // With the uid in place nothing changes, yet the volume is written as upstream writes it.
    world.add_volume(PersistentVolume::clone(bound));
    let (assumed, written) = changes(&world, &pod);
    assert!(assumed.is_empty());
    assert_eq!(written.len(), 1);
}

#[test]
fn a_claim_to_be_provisioned_is_promised_to_the_node() {
    let mut world = world();
    let claim = world.claim("ns/data", "csi");
    let pod = pod_of(&mut world, vec![claim]);
    let (assumed, written) = changes(&world, &pod);
    for objects in [assumed, written] {
        let [Object::PersistentVolumeClaim(promised)] = &objects[..] else {
            panic!("one claim expected, got {objects:?}");
        };
        let node = world.snapshot.nodes()[0].node.name;
        assert_eq!(promised.annotations.get(sym::SELECTED_NODE), Some(node));
    }
}

#[test]
fn bound_claims_need_nothing() {
    let mut world = world();
    let volume = world.volume("pv", "");
    world.add_volume(volume);
    let claim = world.bound_claim("ns/data", "pv");
    let pod = pod_of(&mut world, vec![claim]);
    let (assumed, written) = changes(&world, &pod);
    assert!(assumed.is_empty() && written.is_empty());
    let node = world.snapshot.nodes()[0].node.name;
    let skipped = plugin().pre_bind(world.cx(), Slot::Skipped, &pod, node);
    assert!(skipped.expect("nothing to do").is_empty());
}
