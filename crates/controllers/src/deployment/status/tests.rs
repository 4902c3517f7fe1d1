//! Rows of upstream's `progress_test.go` and of `deployment_util_test.go`.

use super::super::tests::{deployment, set as replica_set};
use super::*;
use serde_json::{Value, json};

const THEN: &str = "2026-03-01T11:59:00Z";

fn now() -> Timestamp {
    "2026-03-01T12:10:00Z".parse().expect("a time")
}

fn at(time: &str) -> Timestamp {
    time.parse().expect("a time")
}

/// Wanted, present, updated and available, as the status says.
fn current(
    deadline: Option<i32>,
    [wanted, present, updated, available]: [i32; 4],
    conditions: Value,
) -> Deployment {
    let limits = json!({"maxSurge": 0, "maxUnavailable": 1});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
    let mut deployment = deployment(json!({"replicas": wanted, "strategy": strategy}));
    deployment
        .spec
        .get_or_insert_default()
        .progress_deadline_seconds = deadline;
    let status = json!({"replicas": present, "updatedReplicas": updated, "availableReplicas": available,
        "conditions": conditions});
    deployment.status = serde_json::from_value(status).expect("a status");
    deployment
}

fn progressing(status: &str, reason: &str) -> Value {
    json!([{"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": THEN, "lastTransitionTime": THEN}])
}

fn sized(name: &str, size: i32, present: i32, available: i32) -> Arc<ReplicaSet> {
    let mut set = ReplicaSet::clone(&replica_set(name, json!({"replicas": size})));
    let status = set.status.get_or_insert_default();
    (status.replicas, status.available_replicas) = (present, Some(available));
    Arc::new(set)
}

/// The condition `Progressing` after a look: status, reason, whether it was updated and has changed.
fn told(deployment: &Deployment, sets: &Sets) -> Option<(String, String, String, bool, bool)> {
    let cluster = crate::Cluster::default();
    let cx = Cx {
        cluster: &cluster,
        now: now(),
        random: &|| 0,
    };
    let mut plan = rollout(&cx, deployment, sets);
    let changed: Deployment = match plan.writes.pop() {
        Some(write) => serde_json::from_slice(&write.body).expect("a deployment"),
        None => deployment.clone(),
    };
    let found = of(&changed, PROGRESSING)?.clone();
    let is_new = |time: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.is_some_and(|time| time.0 == now())
    };
    Some((
        found.status,
        found.reason.unwrap_or_default(),
        found.message.unwrap_or_default(),
        is_new(found.last_update_time),
        is_new(found.last_transition_time),
    ))
}

#[test]
fn progress_is_told() {
    let updated = progressing("True", "ReplicaSetUpdated");
    let available = progressing("True", "NewReplicaSetAvailable");
    let failed = progressing("False", "ProgressDeadlineExceeded");
    let none = json!([]);
    let deadline = Some(60);
    // An old set has gained a pod, which counts as new ones do if it becomes available.
    let rolling = |name: &str| Sets {
        old: vec![sized("bar", 0, 1, 1)],
        new: Some(sized(name, 3, 2, 2)),
    };
    let done = || Sets {
        old: vec![],
        new: Some(sized("foo", 3, 3, 3)),
    };
    let still = || Sets {
        old: vec![],
        new: Some(sized("foo", 3, 2, 2)),
    };
    let only_old = |size| Sets {
        old: vec![sized("bar", size, size, size)],
        new: None,
    };
    let two = [3, 2, 2, 2];
    let rows = [
        (current(None, two, updated.clone()), rolling("foo"), None),
        (
            current(deadline, [3, 3, 3, 3], available.clone()),
            only_old(3),
            // All is over, and has been told.
            Some(("True", "NewReplicaSetAvailable", "", false, false)),
        ),
        (
            current(deadline, two, updated.clone()),
            rolling("foo"),
            Some((
                "True",
                "ReplicaSetUpdated",
                "ReplicaSet \"foo\" is progressing.",
                true,
                false,
            )),
        ),
        (
            current(deadline, two, failed.clone()),
            rolling("foo"),
            Some((
                "True",
                "ReplicaSetUpdated",
                "ReplicaSet \"foo\" is progressing.",
                true,
                true,
            )),
        ),
        (
            current(deadline, two, none.clone()),
            rolling("foo"),
            Some((
                "True",
                "ReplicaSetUpdated",
                "ReplicaSet \"foo\" is progressing.",
                true,
                true,
            )),
        ),
        (
            current(deadline, [3, 3, 3, 3], updated.clone()),
            done(),
            Some((
                "True",
                "NewReplicaSetAvailable",
                "ReplicaSet \"foo\" has successfully progressed.",
                true,
                false,
            )),
        ),
        (
            current(deadline, [3, 3, 3, 3], failed.clone()),
            done(),
            Some((
                "True",
                "NewReplicaSetAvailable",
                "ReplicaSet \"foo\" has successfully progressed.",
                true,
                true,
            )),
        ),
        (
            current(deadline, [3, 3, 3, 3], none.clone()),
            done(),
            Some((
                "True",
                "NewReplicaSetAvailable",
                "ReplicaSet \"foo\" has successfully progressed.",
                true,
                true,
            )),
        ),
        (
            current(deadline, [0, 3, 3, 3], updated.clone()),
            only_old(0),
            Some((
                "True",
                "NewReplicaSetAvailable",
                "Deployment \"web\" has successfully progressed.",
                true,
                false,
            )),
        ),
        (
            current(deadline, two, updated.clone()),
            still(),
            Some((
                "False",
                "ProgressDeadlineExceeded",
                "ReplicaSet \"foo\" has timed out progressing.",
                true,
                true,
            )),
        ),
        (
            current(deadline, two, failed.clone()),
            still(),
            Some(("False", "ProgressDeadlineExceeded", "", false, false)),
        ),
        // There is time left.
        (
            current(Some(661), two, updated.clone()),
            still(),
            Some(("True", "ReplicaSetUpdated", "", false, false)),
        ),
        // A roll-out that was over has just begun anew: nothing can have timed out.
        (
            current(deadline, [3, 3, 2, 2], available),
            Sets {
                old: vec![sized("bar", 1, 1, 0)],
                new: Some(sized("foo", 2, 2, 2)),
            },
            Some(("True", "NewReplicaSetAvailable", "", false, false)),
        ),
    ];
    for (row, (deployment, sets, expected)) in rows.into_iter().enumerate() {
        let told = told(&deployment, &sets);
        let told = told
            .as_ref()
            .map(|(status, reason, message, is_updated, is_changed)| {
                (
                    status.as_str(),
                    reason.as_str(),
                    message.as_str(),
                    *is_updated,
                    *is_changed,
                )
            });
        assert_eq!(told, expected, "row {row}");
    }
}

#[test]
fn who_may_be_stuck_is_looked_at_again() {
    let stuck = progressing("True", "ReplicaSetUpdated");
    let failed = progressing("False", "ProgressDeadlineExceeded");
    let paused = progressing("Unknown", "DeploymentPaused");
    let over = progressing("True", "NewReplicaSetAvailable");
    let s = Duration::from_secs;
    let half = "2026-03-01T11:59:30Z";
    for (deadline, counts, conditions, now, expected) in [
        (None, [4, 3, 3, 2], json!([]), half, None),
        (Some(i32::MAX), [4, 3, 3, 2], stuck.clone(), half, None),
        (Some(60), [4, 3, 3, 2], json!([]), half, None),
        (Some(60), [3, 3, 3, 3], stuck.clone(), half, None),
        (Some(60), [3, 3, 3, 0], failed, half, None),
        (Some(60), [3, 3, 3, 2], over, half, None),
        (Some(60), [3, 3, 3, 1], stuck.clone(), half, Some(s(31))),
        (Some(60), [3, 3, 3, 1], paused, half, Some(s(31))),
        (
            Some(60),
            [3, 3, 3, 1],
            stuck.clone(),
            "2026-03-01T11:59:59Z",
            Some(s(2)),
        ),
        (
            Some(60),
            [3, 3, 3, 1],
            stuck.clone(),
            "2026-03-01T12:00:00Z",
            Some(s(1)),
        ),
        (
            Some(60),
            [3, 3, 3, 1],
            stuck,
            "2026-03-01T12:01:00Z",
            Some(s(1)),
        ),
    ] {
        let mut deployment = current(deadline, counts, conditions.clone());
        let status = deployment.status.get_or_insert_default();
        status.observed_generation = deployment.metadata.generation;
        let status = status.clone();
        let after = stuck_check(at(now), &deployment, &status);
        assert_eq!(after, expected, "{conditions} at {now}");
    }
}

#[test]
fn a_deployment_is_complete_when_all_is_new_and_available() {
    for (counts, expected) in [
        ([5, 5, 5, 5], true),
        ([5, 5, 4, 5], false),
        ([5, 6, 5, 5], false),
        ([5, 5, 5, 4], false),
        ([1, 5, 1, 1], false),
        ([0, 0, 0, 0], true),
    ] {
        let mut deployment = current(None, counts, json!([]));
        deployment.metadata.generation = Some(2);
        deployment
            .status
            .get_or_insert_default()
            .observed_generation = Some(2);
        assert_eq!(is_complete(&deployment), expected, "{counts:?}");
        deployment
            .status
            .get_or_insert_default()
            .observed_generation = Some(1);
        assert!(!is_complete(&deployment));
    }
}

#[test]
fn any_step_forward_is_progress() {
    // Present, updated, ready, available, before and after. Upstream's `TestDeploymentProgressing`.
    for (before, after, expected) in [
        ([10, 4, 4, 4], [10, 6, 4, 4], true),
        ([10, 4, 4, 4], [10, 4, 4, 4], false),
        ([10, 4, 0, 4], [8, 4, 0, 4], true),
        ([10, 4, 0, 4], [8, 2, 0, 4], false),
        ([10, 7, 0, 1], [7, 3, 0, 1], false),
        ([10, 7, 0, 1], [10, 8, 0, 1], true),
        ([10, 10, 8, 8], [10, 10, 9, 8], true),
        ([10, 10, 9, 8], [10, 10, 9, 9], true),
        ([10, 10, 9, 9], [10, 10, 8, 8], false),
    ] {
        let status = |[replicas, updated, ready, available]: [i32; 4]| DeploymentStatus {
            replicas: Some(replicas),
            updated_replicas: Some(updated),
            ready_replicas: Some(ready),
            available_replicas: Some(available),
            ..DeploymentStatus::default()
        };
        let mut deployment = deployment(json!({"replicas": 10}));
        deployment.status = Some(status(before));
        let is_progress = is_progressing(&deployment, &status(after));
        assert_eq!(is_progress, expected, "{before:?} {after:?}");
    }
}

#[test]
fn counts_are_those_of_all_sets() {
    let mut deployment = current(None, [3, 0, 0, 0], json!([]));
    deployment.metadata.generation = Some(4);
    deployment.status.get_or_insert_default().collision_count = Some(2);
    let mut old = ReplicaSet::clone(&sized("bar", 1, 2, 2));
    old.status.get_or_insert_default().ready_replicas = Some(2);
    old.status.get_or_insert_default().terminating_replicas = Some(3);
    let sets = Sets {
        old: vec![Arc::new(old)],
        new: Some(sized("foo", 4, 3, 0)),
    };
    let status = calculate(&deployment, &sets, now());
    let available = json!([{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
        "message": "Deployment has minimum availability.",
        "lastUpdateTime": "2026-03-01T12:10:00Z", "lastTransitionTime": "2026-03-01T12:10:00Z"}]);
    assert_eq!(
        serde_json::to_value(&status).expect("a status"),
        json!({"observedGeneration": 4, "replicas": 5, "updatedReplicas": 3, "readyReplicas": 2,
            "availableReplicas": 2, "unavailableReplicas": 3, "terminatingReplicas": 3, "collisionCount": 2,
            "conditions": available})
    );
    // A set that has been looked at but does not say how many are terminating: nobody knows.
    let mut silent = ReplicaSet::clone(&sized("foo", 4, 3, 0));
    silent.status.get_or_insert_default().observed_generation = Some(1);
    let sets = Sets {
        new: Some(Arc::new(silent)),
        ..sets
    };
    assert_eq!(
        calculate(&deployment, &sets, now()).terminating_replicas,
        None
    );
    deployment.spec.get_or_insert_default().replicas = Some(4);
    let status = calculate(&deployment, &sets, now());
    let conditions = status.conditions.expect("conditions");
    assert_eq!(
        conditions[0].reason.as_deref(),
        Some("MinimumReplicasUnavailable")
    );
}

#[test]
fn failures_of_the_new_set_count_more() {
    let failing = |name: &str, message: &str| {
        let mut set = ReplicaSet::clone(&sized(name, 1, 0, 0));
        let failure = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
            "message": message, "lastTransitionTime": THEN}]);
        set.status.get_or_insert_default().conditions =
            serde_json::from_value(failure).expect("conditions");
        Arc::new(set)
    };
    let message = |sets: &Sets| replica_failure(sets).and_then(|failure| failure.message);
    let both = Sets {
        old: vec![failing("a", "old")],
        new: Some(failing("b", "new")),
    };
    assert_eq!(message(&both).as_deref(), Some("new"));
    let old = Sets {
        old: vec![sized("c", 0, 0, 0), failing("a", "old")],
        new: Some(sized("b", 1, 1, 1)),
    };
    assert_eq!(message(&old).as_deref(), Some("old"));
    let failure = replica_failure(&old).expect("a failure");
    assert_eq!(failure.last_update_time, failure.last_transition_time);
    assert_eq!(failure.last_update_time.map(|time| time.0), Some(at(THEN)));
}
