//! Pauses: `backoff_utils_test.go`, `TestJobBackoff…`.

use super::super::backoff::{Record, finished_at, remaining};
use super::*;
use std::sync::Arc;

fn ended(phase: &str, minute: i32) -> Arc<Pod> {
    let at = format!("2026-03-01T11:{minute:02}:00Z");
    let pod = exited(pod("p", phase), 1, &at);
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

#[test]
fn failures_since_the_last_success() {
    let minute = |minute: i32| Some(at(&format!("2026-03-01T11:{minute:02}:00Z")));
    for (before, succeeded, failed, failures, last) in [
        (0, &[][..], &[][..], 0, None),
        (1, &[], &[], 1, minute(0)),
        (0, &[], &[5], 1, minute(5)),
        (1, &[], &[5, 3], 3, minute(5)),
        (3, &[4], &[], 0, None),
        (3, &[4], &[3], 0, None),
        (3, &[4], &[3, 5, 6], 2, minute(6)),
        (3, &[4, 9], &[3, 5, 6], 0, None),
        (3, &[4], &[4], 0, None),
    ] {
        let record = Record {
            failures: before,
            last_failure: (before > 0).then(|| at("2026-03-01T11:00:00Z")),
        };
        let pods = |minutes: &[i32]| -> Vec<Arc<Pod>> {
            minutes
                .iter()
                .map(|minute| ended("Failed", *minute))
                .collect()
        };
        let after = record.after(&pods(succeeded), &pods(failed));
        assert_eq!((after.failures, after.last_failure), (failures, last));
    }
}

#[test]
fn pauses_double_up_to_ten_minutes() {
    let now = at("2026-03-01T12:00:00Z");
    let ago = |seconds: i64| now - jiff::SignedDuration::from_secs(seconds);
    for (failures, seconds_ago, left) in [
        (0, 0, 0),
        (1, 0, 10),
        (1, 4, 6),
        (1, 10, 0),
        (1, 100, 0),
        (2, 0, 20),
        (3, 5, 35),
        (6, 0, 320),
        (7, 0, 600),
        (9, 100, 500),
        (i32::MAX, 0, 600),
    ] {
        let found = remaining(failures, ago(seconds_ago), now);
        assert_eq!(found, Duration::from_secs(left), "{failures} {seconds_ago}");
    }
}

/// `TestGetFinishedTime`.
#[test]
fn when_a_pod_ended() {
    let time = |minute: i32| format!("2026-03-01T11:{minute:02}:00Z");
    let container = |name: &str, minute: Option<i32>| {
        let state = match minute {
            Some(minute) => json!({"terminated": {"exitCode": 1, "finishedAt": time(minute)}}),
            None => json!({"running": {}}),
        };
        json!({
            "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": state,
        })
    };
    let not_ready = json!([{"type": "Ready", "status": "False", "lastTransitionTime": time(20)}]);
    let base = json!({
        "metadata": {"name": "p", "creationTimestamp": time(1)},
        "spec": {"containers": [], "initContainers": [
            {"name": "sidecar", "restartPolicy": "Always"}, {"name": "init"},
        ]},
        "status": {},
    });
    let with = |status: Value, deleted: bool| {
        let mut pod = base.clone();
        pod["status"] = status;
        if deleted {
            pod["metadata"]["deletionTimestamp"] = json!(time(30));
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(300);
        }
        pod
    };
    for (pod, minute) in [
        (with(json!({}), false), 1),
        (with(json!({}), true), 25),
        (with(json!({"conditions": not_ready}), true), 20),
        (
            with(
                json!({"containerStatuses": [container("a", Some(3)), container("b", Some(5))]}),
                true,
            ),
            5,
        ),
        (
            with(
                json!({"containerStatuses": [container("a", Some(3)), container("b", None)], "conditions": not_ready}),
                false,
            ),
            20,
        ),
        (
            with(
                json!({"containerStatuses": [container("a", Some(3))], "initContainerStatuses": [container("sidecar", Some(7)), container("init", Some(9))]}),
                false,
            ),
            7,
        ),
        (
            with(
                json!({"containerStatuses": [container("a", Some(3))], "initContainerStatuses": [container("sidecar", None)]}),
                false,
            ),
            1,
        ),
    ] {
        let what = pod.to_string();
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        assert_eq!(finished_at(&pod), at(&time(minute)), "{what}");
    }
}

#[test]
fn pods_are_made_again_after_a_pause_that_grows() {
    let mut world = world(job(json!({"completions": 1, "backoffLimit": 6})), []);
    let controller = Jobs::default();
    for (failures, pause) in [(1, 10), (2, 20), (3, 40)] {
        world.sync(&controller, "shop", NAME);
        let now = world.now.to_string();
        let running = pods(&world)
            .into_iter()
            .find(|pod| crate::common::is_pod_active(pod));
        let name = running
            .expect("a pod")
            .metadata
            .name
            .clone()
            .expect("a name");
        world.change::<Pod>("shop", &name, |pod| {
            let ended = exited(super::pod("x", "Failed"), 1, &now);
            let ended: Pod = serde_json::from_value(ended).expect("a pod");
            pod.status = ended.status;
        });
        let again = world.sync(&controller, "shop", NAME);
        assert_eq!(again, Some(Duration::from_secs(pause)), "{failures}");
        let seen = status(&world);
        assert_eq!((seen.failed, seen.active), (Some(failures), None));
        // Looked at again too early, it waits.
        world.pass(Duration::from_secs(4));
        let again = world.sync(&controller, "shop", NAME);
        assert_eq!(again, Some(Duration::from_secs(pause - 4)));
        world.pass(Duration::from_secs(pause - 4));
    }
    assert_eq!(pods(&world).len(), 3);
}

#[test]
fn the_pause_is_no_shorter_than_a_second() {
    let failed = exited(pod("a", "Failed"), 1, "2026-03-01T11:59:51Z");
    let mut world = world(job(json!({"completions": 1})), [failed]);
    world.now = at("2026-03-01T12:00:00.5Z");
    assert_eq!(sync(&mut world), Some(Duration::from_secs(1)));
    assert_eq!(count(&world, Method::Post, "/pods"), 0);
}

#[test]
fn running_pods_count_while_others_wait() {
    let failed = exited(pod("a", "Failed"), 1, "2026-03-01T11:59:59Z");
    let running = ready(pod("b", "Running"));
    let mut world = world(
        job(json!({"completions": 2, "parallelism": 2})),
        [failed, running],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!((seen.active, seen.ready), (Some(1), Some(1)));
}

/// `TestJobBackoffForOnFailure`.
#[test]
fn restarts_in_place_count() {
    for (limit, restarts, phase, fails) in [
        (0, &[1][..], "Running", true),
        (0, &[0], "Running", false),
        (1, &[0], "Running", false),
        (1, &[1], "Running", true),
        (1, &[1], "Pending", true),
        (3, &[1, 1], "Running", false),
        (3, &[1, 2], "Running", true),
        (6, &[3, 2], "Running", false),
    ] {
        let mut given = job(json!({"completions": 5, "parallelism": 2, "backoffLimit": limit}));
        given["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
        let pods = restarts.iter().enumerate().map(|(n, restarts)| {
            let mut pod = pod(&format!("p{n}"), phase);
            pod["status"]["containerStatuses"] = json!([{
                "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": restarts,
            }]);
            pod
        });
        let mut world = world(given, pods);
        sync(&mut world);
        let expected: &[&str] = if fails { &["FailureTarget"] } else { &[] };
        assert_eq!(conditions(&world), expected, "{limit} {restarts:?}");
        if fails {
            assert_eq!(last_condition(&world).0, "BackoffLimitExceeded");
        }
    }
}

#[test]
fn what_fails_is_tried_again_after_a_second_at_first() {
    let pauses = Jobs::default().pauses();
    let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
    assert_eq!(pauses, Some((first, longest)));
}
