//! Pods that come and go: upstream's `daemon_controller_test.go`.

use super::*;

#[test]
fn each_node_gets_a_pod() {
    let mut case = Case::new(3, json!({}));
    case.settle();
    assert_eq!(case.nodes(), ["n0", "n1", "n2"]);
    assert_eq!(case.counts(), [3, 3, 0, 0, 3, 3, 0]);
    assert_eq!(case.world.take_reasons(), ["SuccessfulCreate"; 3]);
    let revision = case.revisions()[0].clone();
    let pod = case.world.get::<Pod>("shop", &case.pod_on("n0"));
    assert_eq!(label(&*pod, HASH_LABEL), label(&*revision, HASH_LABEL));
    assert_eq!(pod.spec.as_ref().unwrap().node_name, None);
    assert_eq!(pod.metadata.generate_name.as_deref(), Some("agent-"));
    case.live();
    assert_eq!(case.counts(), [3, 3, 3, 3, 0, 3, 0]);
    let set = case.world.get::<DaemonSet>("shop", "agent");
    assert_eq!(set.status.as_ref().unwrap().observed_generation, Some(1));
    // Nothing is written when nothing has to be, and nodes that come get one.
    case.world.take_writes();
    case.world.sync(&case.sets, "shop", "agent");
    assert!(case.world.take_writes().is_empty());
    case.add_node("n3", json!({}));
    case.settle();
    assert_eq!(case.nodes(), ["n0", "n1", "n2", "n3"]);
}

/// Upstream's `TestNoScheduleTaintedDoesntEvicitRunningIntolerantPod` and `TestUpdateNode`.
#[test]
fn taints_keep_pods_off_or_drive_them_away() {
    let mut case = Case::new(2, json!({}));
    case.live();
    case.taint("n0", "NoSchedule");
    case.settle();
    assert_eq!(case.nodes(), ["n0", "n1"]);
    case.world.sync(&case.sets, "shop", "agent");
    assert_eq!(case.counts(), [1, 1, 1, 1, 0, 1, 1]);
    // Once it is welcome again, the status says so.
    case.taint("n0", "");
    case.settle();
    assert_eq!(case.counts(), [2, 2, 2, 2, 0, 2, 0]);
    case.taint("n1", "NoExecute");
    case.live();
    assert_eq!(case.nodes(), ["n0"]);
}

#[test]
fn a_label_of_a_node_may_change() {
    let mut case = Case::new(2, json!({}));
    case.change(|spec| spec["template"]["spec"]["nodeSelector"] = json!({"name": "n1"}));
    case.live();
    assert_eq!(case.nodes(), ["n1"]);
    case.world.change::<Node>("", "n0", |node| {
        node.metadata
            .labels
            .get_or_insert_default()
            .insert("name".to_owned(), "n1".to_owned());
    });
    case.world
        .change::<Node>("", "n1", |node| node.metadata.labels = None);
    case.live();
    assert_eq!(case.nodes(), ["n0"]);
}

/// Upstream's `TestDaemonKillFailedPods`.
#[test]
fn finished_pods_are_replaced() {
    for (phase, reason) in [
        ("Failed", "FailedDaemonPod"),
        ("Succeeded", "SucceededDaemonPod"),
    ] {
        let mut case = Case::new(1, json!({}));
        case.live();
        case.world.take_reasons();
        let pod = case.pod_on("n0");
        case.set_state(&pod, phase, false);
        case.settle();
        // The node still has to let it go, but that is no reason to wait.
        assert_eq!(
            case.world.take_reasons(),
            [reason, "SuccessfulDelete", "SuccessfulCreate"]
        );
        case.live();
        assert_ne!(case.pod_on("n0"), pod);
    }
}

/// Upstream's `TestDaemonKillFailedPodsBackoff`.
#[test]
fn pods_that_fail_again_are_left_for_a_while() {
    let mut case = Case::new(1, json!({}));
    case.live();
    for wait in [0, 1, 2, 4, 8] {
        let pod = case.pod_on("n0");
        case.set_state(&pod, "Failed", false);
        case.settle();
        if wait > 0 {
            assert_eq!(case.pod_on("n0"), pod);
            let again = case.world.sync(&case.sets, "shop", "agent");
            assert_eq!(again, Some(Duration::from_secs(wait)));
            case.settle_for(wait);
        }
        case.settle();
        assert_ne!(case.pod_on("n0"), pod);
    }
}

/// Upstream's `TestDealsWithExistingPods`.
#[test]
fn of_several_pods_on_a_node_the_oldest_stays() {
    let mut case = Case::new(1, json!({}));
    case.live();
    let oldest = case.pod_on("n0");
    for number in 0..2 {
        let mut pod = Pod::clone(&case.world.get::<Pod>("shop", &oldest));
        pod.metadata.name = Some(format!("other-{number}"));
        pod.metadata.uid = None;
        pod.metadata.creation_timestamp = None;
        case.world.pass(Duration::from_secs(5));
        case.world.add(pod);
    }
    case.live();
    assert_eq!(case.nodes(), ["n0"]);
    assert_eq!(case.pod_on("n0"), oldest);
}

/// Upstream's `TestDeleteUnscheduledPodForNotExistingNode`.
#[test]
fn a_pod_that_waits_for_a_node_that_is_gone_is_deleted() {
    let mut case = Case::new(2, json!({}));
    case.settle();
    case.world.remove::<Node>("", "n1");
    case.settle();
    assert_eq!(case.nodes(), ["n0"]);
    assert_eq!(case.counts()[0], 1);
}

/// Upstream's `TestDontDoAnythingIfBeingDeleted` and `TestPodIsNotDeletedByDaemonsetWithEmptyLabelSelector`.
#[test]
fn some_sets_are_left_alone() {
    let mut case = Case::new(2, json!({"selector": {}}));
    case.settle();
    assert!(case.world.take_writes().is_empty());
    assert_eq!(case.world.take_reasons(), ["SelectingAll"]);
    let mut case = Case::new(0, json!({}));
    case.settle();
    let now = case.world.now;
    case.world.change::<DaemonSet>("shop", "agent", |set| {
        set.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
        set.metadata.finalizers = Some(vec!["orphan".to_owned()]);
    });
    case.world.take_writes();
    case.add_node("n0", json!({}));
    case.settle();
    assert!(case.world.take_writes().is_empty());
}

/// Upstream's `TestSimpleDaemonSetPodCreateErrors`.
#[test]
fn pods_that_cannot_be_made_are_not_all_tried() {
    let mut case = Case::new(10, json!({}));
    case.world
        .refuse(|write| (write.kind.name == "Pod").then(|| failing(403)));
    case.world.sync(&case.sets, "shop", "agent");
    assert_eq!(case.world.take_reasons(), ["FailedCreate"]);
    assert_eq!(case.counts(), [10, 0, 0, 0, 10, 0, 0]);
    case.world.refuse(|_| None);
    case.live();
    assert_eq!(case.nodes().len(), 10);
}

#[test]
fn no_more_than_so_many_pods_are_made_at_once() {
    let mut case = Case::new(300, json!({}));
    case.world.sync(&case.sets, "shop", "agent");
    assert_eq!(case.nodes().len(), 250);
    case.settle();
    assert_eq!(case.nodes().len(), 300);
}

#[test]
fn pods_are_adopted_and_released() {
    let mut case = Case::new(1, json!({}));
    case.live();
    let pod = case.pod_on("n0");
    case.world
        .change::<Pod>("shop", &pod, |pod| pod.metadata.owner_references = None);
    case.settle();
    let owner = |case: &Case, pod: &str| {
        let pod = case.world.get::<Pod>("shop", pod);
        controller_of(&*pod).map(|owner| owner.name.clone())
    };
    assert_eq!(owner(&case, &pod).as_deref(), Some("agent"));
    assert_eq!(case.nodes().len(), 1);
    case.world.change::<Pod>("shop", &pod, |pod| {
        pod.metadata
            .labels
            .get_or_insert_default()
            .insert("app".to_owned(), "other".to_owned());
    });
    case.settle();
    assert_eq!(owner(&case, &pod), None);
    assert_eq!(case.nodes(), ["n0", "n0"]);
}

#[test]
fn a_pod_counts_once_it_has_been_ready_for_a_while() {
    let mut case = Case::new(1, json!({"minReadySeconds": 30}));
    case.settle();
    let pod = case.pod_on("n0");
    case.run(&pod);
    case.settle();
    assert_eq!(case.counts(), [1, 1, 1, 0, 1, 1, 0]);
    case.settle_for(31);
    assert_eq!(case.counts(), [1, 1, 1, 1, 0, 1, 0]);
}
