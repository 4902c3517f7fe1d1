//! Rolling updates and revisions: upstream's `TestStatefulSetControlRollingUpdate` and others.

use super::*;

#[test]
fn pods_are_replaced_from_the_highest_ordinal() {
    for policy in ["OrderedReady", "Parallel"] {
        let mut world = world(3, json!({"podManagementPolicy": policy}));
        live(&mut world);
        let old = name(&*revisions(&world)[0]).to_owned();
        world.take_writes();
        set_image(&mut world, "two");
        settle(&mut world);
        assert_eq!(deletes(&mut world), ["web-2"]);
        assert_eq!(counts(&world), [3, 3, 3, 2, 0]);
        world.remove::<Pod>("shop", "web-2");
        settle(&mut world);
        assert_eq!(images(&world), ["one", "one", "two"]);
        assert_eq!(counts(&world), [3, 2, 2, 2, 1]);
        // The next one waits until this one is available.
        assert!(deletes(&mut world).is_empty());
        run(&mut world, "web-2");
        settle(&mut world);
        assert_eq!(deletes(&mut world), ["web-1"]);
        let set = world.get::<StatefulSet>("shop", "web");
        let status = set.status.clone().unwrap();
        assert_eq!(status.current_revision.as_deref(), Some(&*old));
        assert_ne!(status.update_revision.as_deref(), Some(&*old));
        live(&mut world);
        assert_eq!(images(&world), ["two", "two", "two"]);
        let set = world.get::<StatefulSet>("shop", "web");
        let status = set.status.clone().unwrap();
        assert_eq!(status.current_revision, status.update_revision);
        assert_eq!(counts(&world), [3, 3, 3, 3, 3]);
        assert_eq!(status.observed_generation, set.metadata.generation);
    }
}

/// Upstream's `TestStatefulSetControlRollingUpdateWithPartition`.
#[test]
fn pods_below_the_partition_keep_their_revision() {
    let mut world = world(3, json!({}));
    live(&mut world);
    let partition = |world: &mut World, partition: i32| {
        change_set(world, |spec| {
            spec["updateStrategy"]["rollingUpdate"]["partition"] = json!(partition);
        });
    };
    partition(&mut world, 2);
    set_image(&mut world, "two");
    live(&mut world);
    assert_eq!(images(&world), ["one", "one", "two"]);
    assert_eq!(counts(&world), [3, 3, 3, 2, 1]);
    // Even when they are made again.
    world.remove::<Pod>("shop", "web-1");
    live(&mut world);
    assert_eq!(images(&world), ["one", "one", "two"]);
    partition(&mut world, 0);
    live(&mut world);
    assert_eq!(images(&world), ["two", "two", "two"]);
    // A partition beyond all pods keeps them all, new ones as well.
    partition(&mut world, 9);
    set_image(&mut world, "three");
    set_replicas(&mut world, 4);
    live(&mut world);
    assert_eq!(images(&world), ["two", "two", "two", "two"]);
}

/// Upstream's `TestStatefulSetControlOnDeleteUpdate`.
#[test]
fn with_on_delete_only_pods_that_are_deleted_are_replaced() {
    let mut world = world(2, json!({"updateStrategy": {"type": "OnDelete"}}));
    live(&mut world);
    set_image(&mut world, "two");
    live(&mut world);
    assert_eq!(images(&world), ["one", "one"]);
    world.remove::<Pod>("shop", "web-0");
    live(&mut world);
    assert_eq!(images(&world), ["two", "one"]);
    let set = world.get::<StatefulSet>("shop", "web");
    let status = set.status.clone().unwrap();
    assert_ne!(status.current_revision, status.update_revision);
}

/// Upstream's `TestStatefulSetRollingUpdateRespectsMinReadySeconds`.
#[test]
fn an_update_waits_for_pods_to_be_available() {
    let mut world = world(2, json!({}));
    live(&mut world);
    change_set(&mut world, |spec| spec["minReadySeconds"] = json!(60));
    world.settle(&[&StatefulSets], LONG);
    set_image(&mut world, "two");
    settle(&mut world);
    world.remove::<Pod>("shop", "web-1");
    settle(&mut world);
    run(&mut world, "web-1");
    world.take_writes();
    world.settle(&[&StatefulSets], Duration::from_secs(59));
    assert!(deletes(&mut world).is_empty());
    world.settle(&[&StatefulSets], Duration::from_secs(2));
    assert_eq!(deletes(&mut world), ["web-0"]);
}

/// Upstream's `TestStatefulSetControlRollback` and `TestStatefulSetControl_getSetRevisions`.
#[test]
fn a_template_that_was_is_the_newest_revision_again() {
    let mut world = world(1, json!({}));
    live(&mut world);
    set_image(&mut world, "two");
    live(&mut world);
    let names = |world: &World| -> Vec<(String, i64)> {
        let all = revisions(world);
        let both = |of: &Arc<ControllerRevision>| (name(&**of).to_owned(), of.revision);
        all.iter().map(both).collect()
    };
    let before = names(&world);
    assert_eq!((before[0].1, before[1].1), (1, 2));
    set_image(&mut world, "one");
    live(&mut world);
    assert_eq!(images(&world), ["one"]);
    let expected = [before[1].clone(), (before[0].0.clone(), 3)];
    assert_eq!(names(&world), expected);
}

/// Upstream's `TestStatefulSetControlLimitsHistory` and `TestStatefulSetHonorRevisionHistoryLimit`.
#[test]
fn so_many_old_revisions_are_kept() {
    for (limit, kept) in [(0, 1), (2, 3), (-1, 6)] {
        let mut world = world(1, json!({"revisionHistoryLimit": limit}));
        for image in ["a", "b", "c", "d", "e"] {
            live(&mut world);
            set_image(&mut world, image);
        }
        live(&mut world);
        assert_eq!(revisions(&world).len(), kept, "{limit}");
        assert_eq!(revisions(&world).last().unwrap().revision, 6);
    }
    // One that a pod still has stays.
    let mut world = world(
        1,
        json!({"revisionHistoryLimit": 0, "updateStrategy": {"type": "OnDelete"}}),
    );
    live(&mut world);
    for image in ["a", "b"] {
        set_image(&mut world, image);
        live(&mut world);
    }
    let numbers: Vec<_> = revisions(&world).iter().map(|of| of.revision).collect();
    assert_eq!(numbers, [1, 3]);
}

/// Upstream's `TestRealHistory_CreateControllerRevision`.
#[test]
fn names_of_revisions_may_collide() {
    let mut world = world(1, json!({}));
    let set = world.get::<StatefulSet>("shop", "web");
    let template = &set.spec.as_ref().unwrap().template;
    let mut other = history::new_revision(&*set, template, 1, 0);
    // Somebody else's, of the same name but with other data.
    other.data = None;
    other.metadata.owner_references = None;
    other.metadata.labels = None;
    let taken = name(&other).to_owned();
    world.add(other);
    live(&mut world);
    let set = world.get::<StatefulSet>("shop", "web");
    let status = set.status.clone().unwrap();
    assert_eq!(status.collision_count, Some(1));
    assert_eq!(revisions(&world).len(), 2);
    assert_ne!(status.update_revision.as_deref(), Some(&*taken));
    assert_eq!(counts(&world), [1, 1, 1, 1, 1]);
    // With the same data it is taken as it is.
    let mut world = super::world(1, json!({}));
    let set = world.get::<StatefulSet>("shop", "web");
    let mut same = history::new_revision(&*set, &set.spec.as_ref().unwrap().template, 1, 0);
    same.metadata.labels = None;
    same.metadata.owner_references = None;
    world.add(same);
    live(&mut world);
    assert_eq!(revisions(&world).len(), 1);
    assert_eq!(counts(&world), [1, 1, 1, 1, 1]);
}

#[test]
fn a_pod_that_lost_its_labels_gets_them_back() {
    let mut world = world(1, json!({}));
    live(&mut world);
    world.take_reasons();
    let label = "statefulset.kubernetes.io/pod-name";
    world.change::<Pod>("shop", "web-0", |pod| {
        pod.metadata.labels.get_or_insert_default().remove(label);
    });
    settle(&mut world);
    assert_eq!(
        world
            .get::<Pod>("shop", "web-0")
            .metadata
            .labels
            .as_ref()
            .unwrap()[label],
        "web-0"
    );
    assert_eq!(world.take_reasons(), ["SuccessfulUpdate"]);
}

fn roll_with(policy: &str, max_unavailable: Value, partition: i32) -> World {
    let mut world = world(
        5,
        json!({
            "podManagementPolicy": policy,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {
                "partition": partition, "maxUnavailable": max_unavailable}},
        }),
    );
    live(&mut world);
    world.take_writes();
    set_image(&mut world, "two");
    settle(&mut world);
    world
}

/// Upstream's `TestStatefulSetControlRollingUpdateWithMaxUnavailable` and
/// `TestGetStatefulSetMaxUnavailable`.
#[test]
fn as_many_pods_are_replaced_at_once_as_may_be_unavailable() {
    for policy in ["OrderedReady", "Parallel"] {
        for (max, partition, first) in [
            (json!(1), 0, vec!["web-4"]),
            (json!(2), 0, vec!["web-4", "web-3"]),
            (json!("40%"), 0, vec!["web-4", "web-3"]),
            // Rounded down, but never to nothing.
            (json!("59%"), 0, vec!["web-4", "web-3"]),
            (json!("10%"), 0, vec!["web-4"]),
            (json!(3), 3, vec!["web-4", "web-3"]),
            (
                json!("100%"),
                0,
                vec!["web-4", "web-3", "web-2", "web-1", "web-0"],
            ),
        ] {
            let mut world = roll_with(policy, max.clone(), partition);
            assert_eq!(deletes(&mut world), first, "{policy} {max}");
            live(&mut world);
            let updated = images(&world)
                .iter()
                .filter(|image| *image == "two")
                .count();
            assert_eq!(
                updated,
                5 - usize::try_from(partition).unwrap(),
                "{policy} {max}"
            );
        }
    }
}

/// A pod that is down counts, wherever it is; the pods that are deleted are still those of the highest
/// ordinals.
#[test]
fn pods_that_are_down_count_against_max_unavailable() {
    let mut world = roll_with("Parallel", json!(2), 0);
    assert_eq!(deletes(&mut world), ["web-4", "web-3"]);
    world.remove::<Pod>("shop", "web-4");
    settle(&mut world);
    // One is still deleted, the other new: neither is available.
    assert!(deletes(&mut world).is_empty());
    run(&mut world, "web-4");
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-2"]);
    world.remove::<Pod>("shop", "web-3");
    world.remove::<Pod>("shop", "web-2");
    settle(&mut world);
    run(&mut world, "web-3");
    run(&mut world, "web-2");
    set_state(&mut world, "web-0", "Running", false);
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-1"]);
}
