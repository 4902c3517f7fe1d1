//! Upstream's `TestStatefulSetControl`, `TestParallelScale` and others of `stateful_set_control_test.go`.

use super::*;

#[test]
fn pods_are_made_one_after_the_other() {
    let mut world = world(3, json!({}));
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0"]);
    assert_eq!(counts(&world), [1, 0, 0, 1, 1]);
    assert_eq!(
        world.take_reasons(),
        ["SuccessfulCreate", "SuccessfulCreate"]
    );
    let root = "/api/v1/namespaces/shop";
    let writes = world.take_writes();
    let at = |path: &str| {
        writes
            .iter()
            .position(|write| *write == format!("POST {root}/{path}"))
    };
    assert!(at("persistentvolumeclaims") < at("pods"), "{writes:?}");
    // Running is not enough.
    set_state(&mut world, "web-0", "Running", false);
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0"]);
    run(&mut world, "web-0");
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1"]);
    live(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1", "web-2"]);
    assert_eq!(counts(&world), [3, 3, 3, 3, 3]);
    // Nothing is written when nothing has to be.
    world.take_writes();
    world.sync(&StatefulSets, "shop", "web");
    assert!(world.take_writes().is_empty());
    let messages: Vec<_> = world
        .events
        .iter()
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(
        messages[..2],
        [
            "Create Claim data-web-1 Pod web-1 in StatefulSet web success",
            "Create Pod web-1 in StatefulSet web successful",
        ]
    );
}

#[test]
fn pods_of_a_parallel_set_are_made_at_once() {
    let mut world = world(5, json!({"podManagementPolicy": "Parallel"}));
    settle(&mut world);
    assert_eq!(pods(&world).len(), 5);
    set_replicas(&mut world, 2);
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1"]);
}

#[test]
fn the_highest_goes_first_and_the_next_waits_for_its_end() {
    let mut world = world(3, json!({}));
    live(&mut world);
    world.take_writes();
    set_replicas(&mut world, 0);
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-2"]);
    assert_eq!(counts(&world), [3, 3, 3, 2, 2]);
    settle(&mut world);
    assert!(deletes(&mut world).is_empty());
    world.remove::<Pod>("shop", "web-2");
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-1"]);
    live(&mut world);
    assert_eq!(counts(&world), [0, 0, 0, 0, 0]);
    // Claims stay.
    assert_eq!(world.cluster.all::<PersistentVolumeClaim>().len(), 3);
}

/// Of condemned pods that are not ready only the lowest may go.
#[test]
fn an_unhealthy_pod_holds_up_scaling_down() {
    let mut world = world(3, json!({}));
    live(&mut world);
    world.take_writes();
    set_state(&mut world, "web-1", "Running", false);
    set_state(&mut world, "web-2", "Running", false);
    set_replicas(&mut world, 1);
    settle(&mut world);
    assert!(deletes(&mut world).is_empty());
    run(&mut world, "web-1");
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-2"]);
}

#[test]
fn a_replica_that_is_not_ready_holds_up_everything() {
    let mut world = world(2, json!({}));
    live(&mut world);
    set_state(&mut world, "web-0", "Running", false);
    settle(&mut world);
    world.take_writes();
    set_replicas(&mut world, 1);
    settle(&mut world);
    assert!(deletes(&mut world).is_empty());
    world.remove::<Pod>("shop", "web-0");
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1"]);
    run(&mut world, "web-0");
    settle(&mut world);
    assert_eq!(deletes(&mut world), ["web-1"]);
}

#[test]
fn a_finished_pod_is_made_again() {
    for phase in ["Failed", "Succeeded"] {
        for policy in ["OrderedReady", "Parallel"] {
            let mut world = world(2, json!({"podManagementPolicy": policy}));
            live(&mut world);
            let before = world.get::<Pod>("shop", "web-0").metadata.uid.clone();
            world.take_writes();
            set_state(&mut world, "web-0", phase, false);
            settle(&mut world);
            assert_eq!(deletes(&mut world), ["web-0"]);
            assert!(world.take_reasons().contains(&"SuccessfulDelete"));
            world.remove::<Pod>("shop", "web-0");
            live(&mut world);
            assert_ne!(world.get::<Pod>("shop", "web-0").metadata.uid, before);
        }
    }
}

/// Upstream's `TestStatefulSetControllerRespectsTermination`.
#[test]
fn a_pod_that_is_deleted_is_made_again_when_it_is_gone() {
    let mut world = world(2, json!({}));
    live(&mut world);
    let now = world.now;
    world.change::<Pod>("shop", "web-0", |pod| {
        pod.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
        pod.metadata.deletion_grace_period_seconds = Some(30);
    });
    world.take_writes();
    settle(&mut world);
    assert_eq!(counts(&world), [2, 2, 2, 1, 1]);
    set_replicas(&mut world, 3);
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1"]);
    world.remove::<Pod>("shop", "web-0");
    live(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1", "web-2"]);
}

/// Upstream's `TestStatefulSetControlWithStartOrdinal`.
#[test]
fn ordinals_may_start_anywhere() {
    let mut world = world(2, json!({}));
    live(&mut world);
    change_set(&mut world, |spec| spec["ordinals"] = json!({"start": 1}));
    live(&mut world);
    assert_eq!(pods(&world), ["web-1", "web-2"]);
}

/// Upstream's `TestStatefulSetAvailability` and `TestStatefulSetAvailabilityCheck`.
#[test]
fn a_pod_counts_once_it_has_been_ready_for_a_while() {
    let mut world = world(2, json!({"minReadySeconds": 30}));
    settle(&mut world);
    run(&mut world, "web-0");
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0"]);
    assert_eq!(counts(&world), [1, 1, 0, 1, 1]);
    world.settle(&[&StatefulSets], Duration::from_secs(10));
    let again = world.sync(&StatefulSets, "shop", "web");
    assert_eq!(again, Some(Duration::from_secs(20)));
    assert_eq!(pods(&world), ["web-0"]);
    world.settle(&[&StatefulSets], Duration::from_secs(21));
    assert_eq!(pods(&world), ["web-0", "web-1"]);
    assert_eq!(counts(&world)[2], 1);
}

/// Upstream's `TestStatefulSetScaleDownRespectsMinReadySeconds`.
#[test]
fn scaling_down_waits_for_pods_to_be_available() {
    let mut world = world(3, json!({}));
    live(&mut world);
    change_set(&mut world, |spec| {
        spec["minReadySeconds"] = json!(60);
        spec["replicas"] = json!(1);
    });
    world.take_writes();
    settle(&mut world);
    assert!(deletes(&mut world).is_empty());
    world.settle(&[&StatefulSets], Duration::from_secs(61));
    assert_eq!(deletes(&mut world), ["web-2"]);
}

#[test]
fn a_set_that_is_deleted_only_has_a_status() {
    let mut world = world(2, json!({}));
    live(&mut world);
    let now = world.now;
    world.change::<StatefulSet>("shop", "web", |set| {
        set.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
        set.metadata.finalizers = Some(vec!["foregroundDeletion".to_owned()]);
    });
    world.take_writes();
    world.remove::<Pod>("shop", "web-1");
    settle(&mut world);
    assert_eq!(
        world.take_writes(),
        ["PUT /apis/apps/v1/namespaces/shop/statefulsets/web/status"]
    );
    assert_eq!(counts(&world), [1, 1, 1, 1, 1]);
    // Nor does it come back to what the garbage collector has set free.
    world.change::<Pod>("shop", "web-0", |pod| pod.metadata.owner_references = None);
    let revision = name(&*revisions(&world)[0]).to_owned();
    world.change::<ControllerRevision>("shop", &revision, |of| of.metadata.owner_references = None);
    settle(&mut world);
    assert!(
        world
            .take_writes()
            .iter()
            .all(|write| !write.starts_with("PATCH"))
    );
}

/// Upstream's `TestGetPodsForStatefulSetAdopt`, `TestGetPodsForStatefulSetRelease` and
/// `TestAdoptOrphanRevisions`.
#[test]
fn pods_and_revisions_are_adopted_and_released() {
    let mut world = world(2, json!({}));
    live(&mut world);
    let revision = name(&*revisions(&world)[0]).to_owned();
    world.change::<ControllerRevision>("shop", &revision, |of| of.metadata.owner_references = None);
    world.change::<Pod>("shop", "web-0", |pod| pod.metadata.owner_references = None);
    let bare = |name: &str, app: &str| json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": app}}});
    world.add_json::<Pod>(bare("other", "web"));
    world.add_json::<Pod>(bare("web-9", "db"));
    settle(&mut world);
    let owner = |world: &World, pod: &str| {
        let pod = world.get::<Pod>("shop", pod);
        controller_of(&*pod).map(|owner| owner.name.clone())
    };
    assert_eq!(owner(&world, "web-0").as_deref(), Some("web"));
    assert_eq!(owner(&world, "other"), None);
    assert_eq!(owner(&world, "web-9"), None);
    assert!(controller_of(&*revisions(&world)[0]).is_some());
    // One that is not selected any more is let go.
    world.change::<Pod>("shop", "web-1", |pod| {
        pod.metadata.labels.get_or_insert_default().remove("app");
    });
    settle(&mut world);
    assert_eq!(owner(&world, "web-1"), None);
}

/// Upstream's `TestStatefulPodControlCreatePodFailed`, `TestStatefulPodControlCreatePodExists` and
/// `TestStatefulPodControlDeleteFailure`.
#[test]
fn what_fails_is_told_of() {
    let mut world = world(1, json!({"volumeClaimTemplates": []}));
    world.refuse(|write| (write.kind.name == "Pod").then(|| failing(500)));
    settle(&mut world);
    let told = "Create Pod web-0 in StatefulSet web failed error: no";
    assert_eq!(world.events[0].message, told);
    world.refuse(|_| None);
    world.settle(&[&StatefulSets], LONG);
    live(&mut world);
    world.take_reasons();
    world.refuse(|write| (write.method == crate::Method::Delete).then(|| failing(500)));
    set_replicas(&mut world, 0);
    settle(&mut world);
    assert!(world.take_reasons().contains(&"FailedDelete"));
    // That a pod of this name is there which is not ours is no news.
    let mut world = super::world(1, json!({"volumeClaimTemplates": []}));
    world.add_json::<Pod>(json!({"metadata": {"name": "web-0", "namespace": "shop"}}));
    settle(&mut world);
    assert!(world.take_reasons().is_empty());
    assert!(!world.errors.is_empty());
    world.remove::<Pod>("shop", "web-0");
    world.settle(&[&StatefulSets], LONG);
    assert_eq!(pods(&world), ["web-0"]);
    assert_eq!(world.take_reasons(), ["SuccessfulCreate"]);
}

#[test]
fn a_set_that_has_changed_meanwhile_adopts_nothing() {
    let mut world = world(2, json!({}));
    live(&mut world);
    world.change::<Pod>("shop", "web-0", |pod| pod.metadata.owner_references = None);
    world.change_unseen::<StatefulSet>("shop", "web", |set| {
        set.metadata.labels = Some([("new".to_owned(), "yes".to_owned())].into());
    });
    world.sync(&StatefulSets, "shop", "web");
    assert!(controller_of(&*world.get::<Pod>("shop", "web-0")).is_none());
}
