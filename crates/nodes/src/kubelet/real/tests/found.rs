//! What there is of a pod when this process begins.

use super::*;

#[test]
fn what_is_found_counts_more_than_what_the_api_was_told() {
    let status = |state: Value| {
        json!({
            "phase": "Running", "startTime": "2027-01-15T07:00:00Z",
            "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": state}],
        })
    };
    let running = json!({"running": {"startedAt": "2027-01-15T07:00:00Z"}});
    let found = |attempt, state| Found {
        run: run("c", attempt),
        state,
    };
    let check = |policy: &str, runs: Vec<Found>, expected: &str, orders: &[Order]| {
        let mut pod = pod(json!({}), one(policy, json!({})));
        pod.status = serde_json::from_value(status(running.clone())).unwrap();
        let mut life = Life::of(pod);
        assert_eq!(life.orders(), [Order::Prepare]);
        assert_eq!(life.state(), "Running: ready (0)");
        life.tell(Report::Prepared(runs));
        assert_eq!(life.state(), expected);
        assert_eq!(life.orders(), orders, "{expected}");
    };
    let start = |attempt| Order::Start(run("c", attempt));
    let exited = |code| FoundState::Exited(exit(code, -60, -1));
    check(
        "Never",
        vec![found(0, FoundState::Running(at(-60)))],
        "Running: ready (0)",
        &[],
    );
    check(
        "Never",
        vec![found(0, exited(0))],
        "Succeeded: Completed 0 (0)",
        &[Order::Release],
    );
    check(
        "Never",
        vec![found(0, exited(4))],
        "Failed: Error 4 (0)",
        &[Order::Release],
    );
    // It ran, and nobody knows how it ended: it is not run a second time.
    check(
        "Never",
        vec![found(0, FoundState::Lost)],
        "Failed: ContainerStatusUnknown 137 (0)",
        &[Order::Release],
    );
    check(
        "Never",
        vec![],
        "Failed: ContainerStatusUnknown 137 (0)",
        &[Order::Release],
    );
    check(
        "Always",
        vec![],
        "Running: ContainerStatusUnknown 137 (0)",
        &[start(1)],
    );
    let runs = vec![found(0, exited(1)), found(1, FoundState::Running(at(-1)))];
    check("Always", runs, "Running: ready (1)", &[]);
    let runs = vec![found(0, exited(1)), found(1, FoundState::Starting)];
    check("Always", runs, "Running: Error 1 (1)", &[]);
}

#[test]
fn what_was_not_ready_does_not_become_so_by_a_restart_of_this_process() {
    let check = |ready: bool, expected: &str| {
        let probe = json!({"exec": {"command": ["true"]}, "periodSeconds": 5});
        let mut pod = pod(json!({}), one("Always", json!({"readinessProbe": probe})));
        pod.status = serde_json::from_value(json!({
            "phase": "Running", "startTime": "2027-01-15T07:00:00Z",
            "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": ready, "started": true,
                "restartCount": 0, "state": {"running": {"startedAt": "2027-01-15T07:00:00Z"}}}],
        }))
        .unwrap();
        let mut life = Life::of(pod);
        assert_eq!(life.state(), expected);
        let state = FoundState::Running(at(-60));
        let run = run("c", 0);
        life.tell(Report::Prepared(vec![Found { run, state }]));
        assert_eq!(life.state(), expected);
    };
    check(false, "Running: running (0)");
    check(true, "Running: ready (0)");
}

#[test]
fn a_pod_that_the_api_says_is_over_is_released_and_nothing_else() {
    let mut pod = pod(json!({}), one("Never", json!({})));
    let status =
        json!({"phase": "Failed", "reason": "Evicted", "startTime": "2027-01-15T07:00:00Z"});
    pod.status = serde_json::from_value(status).unwrap();
    let mut life = Life::of(pod);
    assert_eq!(life.orders(), [Order::Release]);
}
