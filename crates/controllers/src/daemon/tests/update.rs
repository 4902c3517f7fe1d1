//! Rolling updates and revisions: upstream's `update_test.go`.

use super::*;

fn strings(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

/// Upstream's `TestDaemonSetUpdatesPods`.
#[test]
fn so_many_pods_may_be_unavailable() {
    let mut case = Case::new(5, json!({}));
    case.set_rolling(json!(2), json!(0));
    case.live();
    case.set_image("two");
    for updated in [2, 4, 5] {
        case.settle();
        let (pods, going) = case.pods();
        let new = pods.iter().filter(|pod| pod.ends_with("two")).count();
        assert!(pods.len() >= 3, "{pods:?}");
        assert!(going <= 2);
        // Those that go are there until their nodes say so; then there are new ones.
        case.turn();
        case.settle();
        let (pods, _) = case.pods();
        assert_eq!(
            pods.iter().filter(|pod| pod.ends_with("two")).count(),
            updated,
            "{new} {pods:?}"
        );
        case.turn();
    }
    case.live();
    assert_eq!(case.counts(), [5, 5, 5, 5, 0, 5, 0]);
}

/// Upstream's `TestDaemonSetUpdatesWhenNewPodIsNotReady`.
#[test]
fn new_pods_that_are_not_ready_hold_up_the_others() {
    let mut case = Case::new(5, json!({}));
    case.set_rolling(json!("60%"), json!(0));
    case.live();
    case.set_image("two");
    case.settle();
    for pod in case.world.cluster.all::<Pod>() {
        if is_deleting(&*pod) {
            case.world.remove::<Pod>("shop", name(&*pod));
        }
    }
    case.settle_for(600);
    let (pods, going) = case.pods();
    assert_eq!(
        pods,
        strings(&["n0 two", "n1 two", "n2 two", "n3 one", "n4 one"])
    );
    assert_eq!(going, 0);
}

/// Upstream's `TestDaemonSetUpdatesSaveOldHealthyPods` and `TestDaemonSetUpdatesAllOldPodsNotReady`.
#[test]
fn old_pods_that_are_not_ready_go_first() {
    let mut case = Case::new(5, json!({}));
    case.live();
    for node in ["n2", "n4"] {
        let pod = case.pod_on(node);
        case.set_state(&pod, "Running", false);
    }
    case.set_image("two");
    case.settle();
    let (pods, going) = case.pods();
    assert_eq!(pods, strings(&["n0 one", "n1 one", "n3 one"]));
    assert_eq!(going, 2);
}

/// Upstream's `TestDaemonSetUpdatesPodsWithMaxSurge`.
#[test]
fn with_a_surge_old_pods_stay_until_new_ones_are_available() {
    let mut case = Case::new(3, json!({"minReadySeconds": 10}));
    case.set_rolling(json!(0), json!(1));
    case.live();
    case.settle_for(20);
    case.set_image("two");
    case.settle();
    assert_eq!(
        case.pods().0,
        strings(&["n0 one", "n0 two", "n1 one", "n2 one"])
    );
    case.turn();
    case.settle_for(9);
    assert_eq!(case.pods().0.len(), 4);
    case.settle_for(2);
    assert_eq!(
        case.pods(),
        (strings(&["n0 two", "n1 one", "n1 two", "n2 one"]), 1)
    );
    for _ in 0..10 {
        case.live();
        case.settle_for(20);
    }
    assert_eq!(case.pods(), (strings(&["n0 two", "n1 two", "n2 two"]), 0));
}

/// Upstream's `TestSurgeDeletesUnreadyOldPods` and
/// `TestSurgeCreatesNewPodWhenAtMaxSurgeAndOldPodDeleted`.
#[test]
fn with_a_surge_a_pod_that_is_of_no_use_is_replaced_at_once() {
    let mut case = Case::new(3, json!({}));
    case.set_rolling(json!(0), json!(1));
    case.live();
    let pod = case.pod_on("n2");
    case.set_state(&pod, "Running", false);
    case.set_image("two");
    case.settle();
    // One more than the surge, and the old one goes as soon as there is another.
    assert_eq!(
        case.pods(),
        (strings(&["n0 one", "n0 two", "n1 one", "n2 two"]), 1)
    );
    // One whose old pod somebody deletes gets a new one beyond the surge.
    let old = case.pod_on("n1");
    case.world.remove::<Pod>("shop", &old);
    case.settle();
    assert_eq!(
        case.pods().0,
        strings(&["n0 one", "n0 two", "n1 two", "n2 two"])
    );
}

/// Upstream's `TestDaemonSetUpdatesPodsNotMatchTainstWithMaxSurge`.
#[test]
fn with_a_surge_a_node_is_left_when_others_are_served() {
    let mut case = Case::new(2, json!({}));
    case.set_rolling(json!(0), json!(1));
    case.live();
    case.taint("n0", "NoSchedule");
    case.set_image("two");
    case.settle();
    // The pod of the tainted node goes: one that is available is enough.
    assert_eq!(case.pods(), (strings(&["n1 one", "n1 two"]), 1));
    case.live();
    assert_eq!(case.pods(), (strings(&["n1 two"]), 0));
}

#[test]
fn with_on_delete_only_pods_that_are_deleted_are_replaced() {
    let mut case = Case::new(2, json!({"updateStrategy": {"type": "OnDelete"}}));
    case.live();
    case.set_image("two");
    case.live();
    assert_eq!(case.pods().0, strings(&["n0 one", "n1 one"]));
    assert_eq!(case.counts(), [2, 2, 2, 2, 0, 0, 0]);
    let pod = case.pod_on("n0");
    case.world.remove::<Pod>("shop", &pod);
    case.live();
    assert_eq!(case.pods().0, strings(&["n0 two", "n1 one"]));
}

#[test]
fn a_template_that_was_is_the_newest_revision_again() {
    let mut case = Case::new(1, json!({}));
    case.live();
    case.set_image("two");
    case.live();
    case.set_image("one");
    case.live();
    let numbers: Vec<_> = case.revisions().iter().map(|of| of.revision).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(case.pods().0, strings(&["n0 one"]));
    assert_eq!(case.counts()[5], 1);
}

#[test]
fn so_many_old_revisions_are_kept() {
    let mut case = Case::new(1, json!({"revisionHistoryLimit": 1}));
    for image in ["a", "b", "c"] {
        case.live();
        case.set_image(image);
    }
    case.live();
    let numbers: Vec<_> = case.revisions().iter().map(|of| of.revision).collect();
    assert_eq!(numbers, [3, 4]);
}

#[test]
fn names_of_revisions_may_collide() {
    let mut case = Case::new(1, json!({}));
    let set = case.world.get::<DaemonSet>("shop", "agent");
    let hash = crate::common::template_hash(&set.spec.as_ref().unwrap().template, None);
    let other =
        json!({"metadata": {"name": format!("agent-{hash}"), "namespace": "shop"}, "revision": 1});
    case.world.add_json::<ControllerRevision>(other);
    case.live();
    let set = case.world.get::<DaemonSet>("shop", "agent");
    assert_eq!(set.status.as_ref().unwrap().collision_count, Some(1));
    assert_eq!(case.revisions().len(), 2);
    assert_eq!(case.counts(), [1, 1, 1, 1, 0, 1, 0]);
}

/// Of two revisions with the same template the newer one stays, and pods get its label. One that comes does
/// not matter by itself: upstream's lifecycle of a ControllerRevision counts on it.
#[test]
fn two_revisions_with_one_template_become_one() {
    let mut case = Case::new(1, json!({}));
    case.live();
    let mut twin = ControllerRevision::clone(&case.revisions()[0]);
    twin.metadata.name = Some("agent-twin".to_owned());
    twin.metadata.uid = None;
    twin.metadata
        .labels
        .get_or_insert_default()
        .insert(HASH_LABEL.to_owned(), "twin".to_owned());
    twin.revision = 2;
    case.world.add(twin);
    case.settle();
    assert_eq!(case.revisions().len(), 2);
    case.world.sync(&case.sets, "shop", "agent");
    case.live();
    let left = case.revisions();
    assert_eq!(
        (left.len(), name(&*left[0]), left[0].revision),
        (1, "agent-twin", 2)
    );
    let pod = case.world.get::<Pod>("shop", &case.pod_on("n0"));
    assert_eq!(label(&*pod, HASH_LABEL), Some("twin"));
    assert_eq!(case.counts(), [1, 1, 1, 1, 0, 1, 0]);
}

#[test]
fn a_revision_without_a_label_gets_its_name() {
    let mut case = Case::new(0, json!({}));
    case.settle();
    let revision = name(&*case.revisions()[0]).to_owned();
    case.world
        .change::<ControllerRevision>("shop", &revision, |of| {
            of.metadata
                .labels
                .get_or_insert_default()
                .remove(HASH_LABEL);
        });
    case.settle();
    assert_eq!(label(&*case.revisions()[0], HASH_LABEL), Some(&*revision));
    // One that is not selected any more is let go. As nobody else has its name or its data, it still counts.
    case.world
        .change::<ControllerRevision>("shop", &revision, |of| of.metadata.labels = None);
    case.settle();
    let left = case.revisions();
    assert_eq!(left.len(), 1);
    assert_eq!(controller_of(&*left[0]), None);
    case.add_node("n0", json!({}));
    case.live();
    assert_eq!(case.counts(), [1, 1, 1, 1, 0, 1, 0]);
}

/// Upstream's `TestIsPodUpdated` and `TestCreatePodTemplate`.
#[test]
fn the_generation_of_the_template_counts_too() {
    let mut case = Case::new(1, json!({}));
    case.world.change::<DaemonSet>("shop", "agent", |set| {
        let annotations = set.metadata.annotations.get_or_insert_default();
        annotations.insert(
            "deprecated.daemonset.template.generation".to_owned(),
            "7".to_owned(),
        );
    });
    case.live();
    let pod = case.pod_on("n0");
    assert_eq!(
        label(
            &*case.world.get::<Pod>("shop", &pod),
            "pod-template-generation"
        ),
        Some("7")
    );
    case.world.change::<Pod>("shop", &pod, |pod| {
        pod.metadata
            .labels
            .get_or_insert_default()
            .remove(HASH_LABEL);
    });
    case.live();
    assert_eq!(case.pod_on("n0"), pod);
    assert_eq!(case.counts()[5], 1);
}
