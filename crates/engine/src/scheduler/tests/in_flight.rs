//! Pods in flight and what they miss.

use super::Rig;
use crate::framework::ClusterEvent;
use crate::scheduler::Failure;

#[test]
fn semantic_25_interesting_events_are_remembered_and_replayed() {
    let mut rig = Rig::new();
    rig.popped("a", |_, _| {});
    rig.node("n1", |_, _| {});
    rig.popped("b", |_, _| {});
    rig.node("n2", |_, _| {});
    assert_eq!(rig.in_flight(), ["pod a", "NodeAdd", "pod b", "NodeAdd"]);
    rig.popped("c", |_, _| {});
    rig.reject("c", &["NodeName"]);
    assert_eq!(rig.place("c"), "unschedulable", "it missed nothing");
    rig.scheduler.done("default/a");
    assert_eq!(rig.in_flight(), ["pod b", "NodeAdd"]);
    rig.reject("b", &["NodeName"]);
    assert_eq!(rig.place("b"), "backoff");
    assert!(rig.in_flight().is_empty());
}

#[test]
fn semantic_25_events_between_others_stay_when_a_later_pod_is_done() {
    let mut rig = Rig::new();
    rig.popped("a", |_, _| {});
    rig.popped("b", |_, _| {});
    rig.node("n", |_, _| {});
    rig.scheduler.done("default/b");
    assert_eq!(rig.in_flight(), ["pod a", "NodeAdd"]);
}

#[test]
fn semantic_26_updates_of_a_pod_in_flight_are_replayed_by_others_too() {
    let mut rig = Rig::new();
    rig.popped("a", |world, pod| {
        pod.spread_constraints = Box::default();
        pod.labels = world.labels(&[("app", "web")]);
    });
    rig.popped("b", |_, _| {});
    rig.update("a", |_, pod| {
        pod.scheduling_gates = Box::default();
        pod.terminating = true;
    });
    assert_eq!(
        rig.in_flight(),
        ["pod a", "pod b", "UnschedulablePodUpdate"]
    );
    rig.scheduler.queue.start_trace();
    rig.reject("b", &["NodeDeclaredFeatures"]);
    let trace = rig.scheduler.queue.take_trace().expect("started");
    assert_eq!(trace.hints.len(), 1);
    assert_eq!(trace.hints[0].event, ClusterEvent::UNSCHEDULED_POD_UPDATE);
}

#[test]
fn semantic_27_wildcards_send_every_pod_in_flight_to_backoff() {
    for event in [
        ClusterEvent::UNSCHEDULABLE_TIMEOUT,
        ClusterEvent::FORCE_ACTIVATE,
    ] {
        let mut rig = Rig::new();
        rig.popped("p", |_, _| {});
        rig.scheduler.move_all(event, rig.now);
        rig.reject("p", &["NodeName"]);
        assert_eq!(rig.place("p"), "backoff");
    }
}

#[test]
fn semantic_27_the_leftover_flush_is_remembered_only_if_it_woke_somebody() {
    let mut rig = Rig::new();
    rig.at(1_000).unschedulable("old", &["NodeName"], |_, _| {});
    rig.popped("p", |_, _| {});
    rig.at(300_934);
    assert_eq!(rig.in_flight(), ["pod p"]);
    rig.at(330_934);
    assert_eq!(rig.in_flight(), ["pod p", "UnschedulableTimeout"]);
    rig.reject("p", &["NodeName"]);
    assert_eq!(rig.place("p"), "backoff");
}

#[test]
fn semantic_27_activation_in_flight_is_remembered_for_that_pod_only() {
    let mut rig = Rig::new();
    rig.popped("a", |_, _| {});
    rig.popped("b", |_, _| {});
    rig.activate("a");
    assert_eq!(rig.in_flight(), ["pod a", "pod b", "ForceActivate"]);
    rig.reject("b", &["NodeName"]);
    assert_eq!(rig.place("b"), "unschedulable");
    rig.reject("a", &["NodeName"]);
    assert_eq!(rig.place("a"), "backoff");
}

#[test]
fn semantic_28_a_pod_that_is_gone_bound_or_another_is_dropped() {
    let mut rig = Rig::new();
    for name in ["gone", "bound", "other"] {
        rig.popped(name, |_, _| {});
    }
    rig.delete_pod("gone");
    rig.update("bound", |world, pod| pod.node_name = Some(world.sym("n")));
    rig.delete_pod("other");
    rig.create("other", |_, pod| pod.uid = "new".into());
    for name in ["gone", "bound", "other"] {
        rig.reject(name, &["NodeName"]);
    }
    assert!(rig.in_flight().is_empty(), "all are done");
    assert_eq!(rig.place("gone"), "nowhere");
    assert_eq!(rig.place("bound"), "nowhere");
    assert_eq!(rig.place("other"), "active", "the new one");
    assert_eq!(&*rig.queued("other").pod.uid, "new");
}

#[test]
fn semantic_29_a_deleted_pod_stays_in_flight_and_an_unknown_one_enters_anew() {
    let mut rig = Rig::new();
    rig.popped("p", |_, _| {});
    rig.delete_pod("p");
    assert_eq!(rig.in_flight(), ["pod p"]);

    let mut rig = Rig::new();
    rig.at(1_000).popped("p", |_, _| {});
    rig.scheduler.done("default/p");
    assert_eq!(rig.place("p"), "nowhere");
    rig.at(5_000).update("p", |world, pod| {
        pod.labels = world.labels(&[("a", "b")]);
    });
    assert_eq!(rig.place("p"), "active");
    assert_eq!(rig.queued("p").attempts, 0);
    assert_eq!(rig.queued("p").timestamp.as_millis(), 5_000);
    assert_eq!(
        rig.incoming("active/UnschedulablePodUpdate"),
        1,
        "whatever changed"
    );
}

fn assumed() -> Rig {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.popped("p", |_, _| {});
    rig.assume("p", "n");
    rig
}

#[test]
fn semantic_30_assumed_pods_notice_only_their_deletion() {
    let mut rig = assumed();
    let ignored = rig.events(|rig| {
        rig.update("p", |world, pod| pod.labels = world.labels(&[("a", "b")]));
    });
    assert!(ignored.is_empty());
    let deleting = rig.events(|rig| rig.update("p", |_, pod| pod.terminating = true));
    assert_eq!(deleting, ["AssignedPodDelete"]);
    let node = rig.sym("n");
    let pods = |rig: &Rig| rig.scheduler.cluster.node(node).map_or(0, |n| n.pods.len());
    assert_eq!(pods(&rig), 0, "what was kept for it is free");
    let failed = rig.events(|rig| {
        let error = Failure::Error("conflict".into());
        rig.scheduler.bind_failed("default/p", error, rig.now);
    });
    assert_eq!(failed, ["AssignedPodDelete"], "once more");

    let mut rig = assumed();
    let deleted = rig.events(|rig| rig.delete_pod("p"));
    assert_eq!(deleted, ["AssignedPodDelete"]);
    assert_eq!(pods(&rig), 0);
}

#[test]
fn semantic_31_a_failed_binding_frees_its_place_before_or_after_the_requeueing() {
    // An error: the pod itself finds the event among those that it missed.
    let mut rig = assumed();
    rig.unschedulable("q", &["NodeResourcesFit"], |_, _| {});
    let error = Failure::Error("conflict".into());
    rig.scheduler.bind_failed("default/p", error, rig.now);
    assert_eq!(rig.place("p"), "error_backoff");
    assert_eq!(rig.place("q"), "backoff");

    // A rejection: it does not, and is not woken either.
    let mut rig = assumed();
    rig.unschedulable("q", &["NodeResourcesFit"], |_, _| {});
    let failure = rig.rejected(&["NodeResourcesFit"], &[]);
    rig.scheduler.bind_failed("default/p", failure, rig.now);
    assert_eq!(rig.place("p"), "unschedulable");
    assert_eq!(rig.place("q"), "backoff");

    // Past Permit it is not known what the pod missed.
    let mut rig = assumed();
    rig.scheduler.done("default/p");
    let failure = rig.rejected(&["NodeResourcesFit"], &[]);
    rig.scheduler.bind_failed("default/p", failure, rig.now);
    assert_eq!(rig.place("p"), "backoff");
}

#[test]
fn a_binding_that_the_api_has_seen_frees_nothing() {
    let mut rig = assumed();
    rig.update("p", |world, pod| pod.node_name = Some(world.sym("n")));
    let late = rig.events(|rig| {
        let error = Failure::Error("timeout".into());
        rig.scheduler.bind_failed("default/p", error, rig.now);
    });
    assert!(late.is_empty());
    assert_eq!(rig.place("p"), "nowhere");
    let node = rig.sym("n");
    let info = rig.scheduler.cluster.node(node).expect("the node is there");
    assert_eq!(info.pods.len(), 1);
}

#[test]
fn an_update_of_the_status_alone_wakes_nobody_but_is_remembered() {
    let mut rig = Rig::new();
    rig.popped("p", |_, _| {});
    rig.update("p", |_, _| {});
    assert_eq!(rig.in_flight(), ["pod p", "UnschedulablePodUpdate"]);
}

#[test]
fn a_resync_is_no_update() {
    let mut rig = Rig::new();
    rig.popped("p", |_, _| {});
    let same = crate::model::Object::Pod(rig.listed("p"));
    let events = rig.events(|rig| rig.upsert(same));
    assert!(events.is_empty());
    assert_eq!(rig.in_flight(), ["pod p"]);
}
