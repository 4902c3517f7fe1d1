//! Whose pods are whose, and writes that fail.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn orphans_are_adopted_and_strangers_released() {
    let mut world = world(1);
    let owner = crate::common::controller_ref(&*web(&world));
    world.add_json::<Pod>(bare_pod("orphan", "web"));
    settle(&mut world);
    // It was there in time, so that no other was made.
    assert_eq!(pods(&world).len(), 1);
    assert_eq!(controller_of(&*pods(&world)[0]), Some(&owner));
    assert_eq!(status(&world)["replicas"], 1);
    // A pod that does not match is released, and another one made.
    world.change::<Pod>("a", "orphan", |pod| {
        pod.metadata.labels = Some([("app".to_owned(), "other".to_owned())].into());
    });
    settle(&mut world);
    assert_eq!(controller_of(&*world.get::<Pod>("a", "orphan")), None);
    assert_eq!(pods(&world).len(), 2);
    // One that matches again is adopted again, and is one too many.
    world.change::<Pod>("a", "orphan", |pod| {
        pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    });
    settle(&mut world);
    assert_eq!(pods(&world).len(), 1);
}

#[test]
fn only_what_may_be_adopted_is() {
    let mut world = world(0);
    settle(&mut world);
    let stranger =
        json!([{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x", "controller": true}]);
    let mut other = bare_pod("of-other", "web");
    other["metadata"]["ownerReferences"] = stranger;
    let mut finished = bare_pod("finished", "web");
    finished["status"]["phase"] = json!("Succeeded");
    let mut deleting = bare_pod("deleting", "web");
    deleting["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:30Z");
    deleting["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    world.take_writes();
    for pod in [other, finished, deleting, bare_pod("unlike", "other")] {
        world.add_json::<Pod>(pod);
    }
    settle(&mut world);
    world.sync(&ReplicaSets, "a", "web");
    assert!(world.take_writes().is_empty());
}

#[test]
fn a_set_that_is_going_neither_adopts_nor_makes_pods() {
    let mut world = World::default();
    let mut going = set(2);
    going["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
    going["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    world.add_json::<ReplicaSet>(going);
    world.add_json::<Pod>(bare_pod("orphan", "web"));
    let own = owned_pod(&world, "own", "web");
    let released = owned_pod(&world, "unlike", "other");
    world.add_json::<Pod>(own);
    world.add_json::<Pod>(released);
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(
        world.take_writes(),
        ["PUT /apis/apps/v1/namespaces/a/replicasets/web/status"]
    );
    assert_eq!(status(&world)["replicas"], 1);
}

#[test]
fn nobody_adopts_for_a_set_that_has_changed_meanwhile() {
    let mut world = world(1);
    world.add_json::<Pod>(bare_pod("orphan", "web"));
    // The server knows a newer set than the controller.
    world.change_unseen::<ReplicaSet>("a", "web", |set| set.metadata.labels = Some([].into()));
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(
        world.take_writes(),
        ["PATCH /apis/apps/v1/namespaces/a/replicasets/web"]
    );
    assert_eq!(controller_of(&*world.get::<Pod>("a", "orphan")), None);
}

#[test]
fn a_failed_adoption_makes_no_pods() {
    let mut world = world(2);
    world.add_json::<Pod>(bare_pod("orphan", "web"));
    world.refuse(|write| (write.method == Method::Patch).then(|| refused(500, "no")));
    world.sync(&ReplicaSets, "a", "web");
    assert_eq!(pods(&world).len(), 1);
    assert_eq!(world.errors, ["no"]);
}

#[test]
fn sets_that_overlap_leave_each_other_alone() {
    let mut world = world(1);
    let mut other = set(2);
    other["metadata"]["name"] = json!("other");
    world.add_json::<ReplicaSet>(other);
    settle(&mut world);
    assert_eq!(pods(&world).len(), 3);
    assert_eq!(status(&world)["replicas"], 1);
}

#[test]
fn a_pod_of_a_namesake_that_is_gone_is_not_counted() {
    let mut world = world(1);
    let mut pod = owned_pod(&world, "old", "web");
    pod["metadata"]["ownerReferences"][0]["uid"] = json!("of-the-namesake");
    world.add_json::<Pod>(pod);
    settle(&mut world);
    assert_eq!(pods(&world).len(), 2);
}

#[test]
fn any_write_may_fail_once() {
    for code in [0, 409, 500] {
        for failing in 0..12 {
            let mut world = world(3);
            world.add_json::<Pod>(bare_pod("orphan", "web"));
            let own = owned_pod(&world, "unlike", "other");
            world.add_json::<Pod>(own);
            let count = Rc::new(Cell::new(0));
            world.refuse(move |_| {
                count.set(count.get() + 1);
                (count.get() == failing + 1).then(|| refused(code, "no"))
            });
            world.settle(&CONTROLLERS, Duration::from_secs(10));
            world.change::<ReplicaSet>("a", "web", |set| {
                set.spec.get_or_insert_default().replicas = Some(1);
            });
            world.settle(&CONTROLLERS, Duration::from_secs(10));
            assert_eq!(pods(&world).len(), 2, "write {failing} failed with {code}");
            let mut status = status(&world);
            // Depends on which pod is left: the orphan has fewer labels.
            status
                .as_object_mut()
                .expect("a status")
                .remove("fullyLabeledReplicas");
            assert_eq!(
                status,
                json!({"replicas": 1, "observedGeneration": 2, "terminatingReplicas": 0}),
                "write {failing} failed with {code}"
            );
        }
    }
}
