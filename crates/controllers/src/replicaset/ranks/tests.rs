//! Rows of upstream's `TestSortingActivePodsWithRanks` and `TestGetPodsToDelete`.

use super::*;
use jiff::SignedDuration;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

fn hours_ago(hours: i64) -> Value {
    json!((now() - SignedDuration::from_hours(hours)).to_string())
}

/// A pod that is running and ready on a node; `change` is merged into it, by JSON pointers.
fn pod(name: &str, changes: &[(&str, Value)]) -> Arc<Pod> {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "a", "uid": name, "annotations": {}},
        "spec": {
            "nodeName": "n1", "containers": [],
            "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}, {"name": "init"}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 0}],
            "initContainerStatuses": [
                {"name": "sidecar", "image": "", "imageID": "", "ready": true, "restartCount": 0},
                {"name": "init", "image": "", "imageID": "", "ready": true, "restartCount": 0},
            ],
        },
    });
    for (place, value) in changes {
        let (parent, field) = place.rsplit_once('/').expect("a pointer");
        pod.pointer_mut(parent).expect("a parent")[field] = value.clone();
    }
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

const NODE: &str = "/spec/nodeName";
const PHASE: &str = "/status/phase";
const READY: &str = "/status/conditions/0/status";
const SINCE: &str = "/status/conditions/0/lastTransitionTime";
const CREATED: &str = "/metadata/creationTimestamp";
const RESTARTS: &str = "/status/containerStatuses/0/restartCount";
const SIDECAR: &str = "/status/initContainerStatuses/0/restartCount";
const INIT: &str = "/status/initContainerStatuses/1/restartCount";
const UID: &str = "/metadata/uid";

fn cost(text: &str) -> (&'static str, Value) {
    ("/metadata/annotations", json!({DELETION_COST: text}))
}

/// Compares both ways: whether the first goes before the second, and the second before the first.
fn compare(one: (&[(&str, Value)], usize), two: (&[(&str, Value)], usize)) -> (bool, bool) {
    let (first, second) = (pod("p", one.0), pod("p", two.0));
    let (first, second) = (
        Candidate::new(&first, one.1),
        Candidate::new(&second, two.1),
    );
    (
        first.goes_before(&second, now()),
        second.goes_before(&first, now()),
    )
}

#[test]
fn the_first_of_each_row_goes_first() {
    let (just_now, month) = (hours_ago(0), hours_ago(24 * 30));
    let pending = [(PHASE, json!("Pending")), (READY, json!("False"))];
    let unscheduled = [pending[0].clone(), pending[1].clone(), (NODE, json!(""))];
    let unknown = [(PHASE, json!("Unknown")), (READY, json!("False"))];
    let not_ready = [(READY, json!("False"))];
    let ready_now = [(SINCE, just_now.clone()), (CREATED, just_now.clone())];
    let ready_then = [(SINCE, month.clone()), (CREATED, month.clone())];
    let created_then = [(SINCE, just_now.clone()), (CREATED, month.clone())];
    let restarted = [
        ready_now[0].clone(),
        ready_now[1].clone(),
        (RESTARTS, json!(9001)),
    ];
    let sidecar = [
        ready_now[0].clone(),
        ready_now[1].clone(),
        (RESTARTS, json!(9001)),
        (SIDECAR, json!(9001)),
    ];
    type Side<'a> = (&'a [(&'a str, Value)], usize);
    let rows: &[(Side<'_>, Side<'_>)] = &[
        ((&unscheduled, 1), (&pending, 2)),
        ((&unscheduled, 2), (&pending, 1)),
        ((&pending, 1), (&unknown, 2)),
        ((&unknown, 1), (&not_ready, 2)),
        ((&not_ready, 1), (&[], 1)),
        // No time of readiness goes before any; the rank before that.
        ((&[], 1), (&ready_now, 1)),
        ((&ready_now, 2), (&[], 1)),
        ((&ready_now, 1), (&ready_then, 1)),
        ((&ready_now, 2), (&ready_then, 1)),
        ((&restarted, 1), (&ready_now, 1)),
        ((&sidecar, 1), (&restarted, 1)),
        ((&ready_now, 2), (&restarted, 1)),
        ((&ready_now, 1), (&created_then, 1)),
        ((&created_then, 2), (&ready_now, 1)),
        // The cost counts more than the rank.
        ((&[cost("10")], 1), (&[cost("100")], 2)),
        ((&[cost("-1")], 1), (&[], 1)),
        ((&[], 1), (&[cost("1")], 1)),
        ((&[(SINCE, hours_ago(2))], 1), (&[(SINCE, hours_ago(5))], 1)),
        // Five and eight hours are of the same magnitude: the uid tells.
        (
            (&[(SINCE, hours_ago(8)), (UID, json!("a"))], 1),
            (&[(SINCE, hours_ago(5)), (UID, json!("b"))], 1),
        ),
    ];
    for (row, (lesser, greater)) in rows.iter().enumerate() {
        assert_eq!(compare(*lesser, *greater), (true, false), "row {row}");
    }
}

#[test]
fn pods_that_are_alike_go_in_any_order() {
    let rows: [[&[(&str, Value)]; 2]; 7] = [
        [&[], &[]],
        [&[(SINCE, hours_ago(5))], &[(SINCE, hours_ago(8))]],
        [&[(CREATED, hours_ago(5))], &[(CREATED, hours_ago(8))]],
        [&[cost("+10")], &[]],
        [&[cost("010")], &[cost("a lot")]],
        [&[cost("99999999999")], &[cost("")]],
        [&[(INIT, json!(7))], &[]],
    ];
    for (row, [one, two]) in rows.into_iter().enumerate() {
        assert_eq!(compare((one, 1), (two, 1)), (false, false), "row {row}");
    }
}

#[test]
fn as_many_are_chosen_as_are_asked_for() {
    let unscheduled = pod(
        "unscheduled",
        &[
            (PHASE, json!("Pending")),
            (READY, json!("False")),
            (NODE, json!("")),
        ],
    );
    let pending = pod(
        "pending",
        &[(PHASE, json!("Pending")), (READY, json!("False"))],
    );
    let not_ready = pod("not-ready", &[(READY, json!("False"))]);
    let on_node1 = pod("on-node1", &[]);
    let on_node2 = pod("on-node2", &[(NODE, json!("n2"))]);
    let all = [&on_node1, &on_node2, &not_ready, &pending, &unscheduled].map(Clone::clone);
    let choose = |pods: &[&Arc<Pod>], related: &[&Arc<Pod>], count| {
        let own = |pods: &[&Arc<Pod>]| pods.iter().map(|pod| (*pod).clone()).collect::<Vec<_>>();
        let chosen = pods_to_delete(own(pods), &own(related), count, now());
        let names = chosen
            .iter()
            .map(|pod| crate::common::name(&**pod).to_owned());
        names.collect::<Vec<_>>()
    };
    assert!(choose(&[], &[], 0).is_empty());
    // All in the order in which they are.
    assert_eq!(
        choose(&[&on_node1, &pending], &[], 2),
        ["on-node1", "pending"]
    );
    assert_eq!(choose(&[&on_node1, &not_ready], &[], 1), ["not-ready"]);
    let refs: Vec<&Arc<Pod>> = all.iter().collect();
    assert_eq!(
        choose(&refs, &refs, 3),
        ["unscheduled", "pending", "not-ready"]
    );
    // Pods of other sets of the same Deployment count; finished ones do not.
    let other = pod("other", &[(NODE, json!("n2"))]);
    let finished = pod("finished", &[(PHASE, json!("Failed"))]);
    let related = [&on_node1, &on_node2, &other, &finished, &finished];
    assert_eq!(choose(&[&on_node1, &on_node2], &related, 1), ["on-node2"]);
}
