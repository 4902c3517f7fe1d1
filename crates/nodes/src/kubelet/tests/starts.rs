//! How pods start, run and start again.

use super::{check, notes, one, with};
use crate::behaviour::{EXIT_CODE, RUN_FOR, START_AFTER};
use crate::kubelet::testing::Life;
use serde_json::{Value, json};

#[test]
fn a_pod_starts_after_its_delay_and_runs_on() {
    let mut life = Life::new(json!({}), one(json!({})));
    assert_eq!(life.brief(), "Pending c:ContainerCreating");
    for (name, said) in [
        ("PodReadyToStartContainers", "False"),
        ("Initialized", "True"),
        (
            "Ready",
            "False ContainersNotReady: containers with unready status: [c]",
        ),
        (
            "ContainersReady",
            "False ContainersNotReady: containers with unready status: [c]",
        ),
        ("PodScheduled", "True"),
    ] {
        assert_eq!(life.condition(name), said, "{name}");
    }
    assert_eq!(life.status()["hostIP"], "172.18.0.2");
    assert_eq!(life.status()["podIP"], Value::Null);
    assert!(!life.at_ms(999));
    assert!(life.at(1));
    assert!(!life.at(100_000));
    assert_eq!(life.brief(), "Running c:ready");
    for name in [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
    ] {
        assert_eq!(life.condition(name), "True", "{name}");
    }
    let status = life.status();
    assert_eq!(status["startTime"], "2027-01-15T08:00:00Z");
    assert_eq!(status["podIPs"], json!([{"ip": "10.0.0.2"}]));
    assert_eq!(status["observedGeneration"], 1);
    let container = &status["containerStatuses"][0];
    assert_eq!(
        container["state"],
        json!({"running": {"startedAt": "2027-01-15T08:00:01Z"}})
    );
    assert_eq!(container["started"], true);
    let id = container["containerID"].as_str().unwrap();
    assert_eq!((id.len(), &id[..12]), (12 + 64, "simulated://"));
    assert!(
        container["imageID"]
            .as_str()
            .unwrap()
            .starts_with("nginx@sha256:")
    );
    let told: Vec<_> = life
        .events
        .iter()
        .map(|event| (&*event.reason, &*event.message))
        .collect();
    assert_eq!(
        told,
        [
            (
                "Pulled",
                "Container image \"nginx:1\" already present on machine and can be accessed by the pod"
            ),
            ("Created", "Container created"),
            ("Started", "Container started"),
        ]
    );
}

#[test]
fn it_says_itself_how_long_it_takes() {
    let never = with(one(json!({})), "restartPolicy", json!("Never"));
    let metadata = notes(&[(START_AFTER, "5s"), (RUN_FOR, "1m30s"), (EXIT_CODE, "3")]);
    let life = check(
        Life::new(metadata, never),
        &[
            (4, "Pending c:ContainerCreating"),
            (5, "Running c:ready"),
            (94, "Running c:ready"),
            (95, "Failed c:3"),
            (9_999, "Failed c:3"),
        ],
    );
    assert_eq!(life.condition("Ready"), "False PodFailed");
    let terminated = &life.status()["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(terminated["reason"], "Error");
    assert_eq!(terminated["startedAt"], "2027-01-15T08:00:05Z");
    assert_eq!(terminated["finishedAt"], "2027-01-15T08:01:35Z");
}

#[test]
fn pods_of_a_job_are_done_at_once() {
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true}]);
    let never = with(one(json!({})), "restartPolicy", json!("OnFailure"));
    let life = Life::new(json!({"ownerReferences": owner}), never);
    let life = check(life, &[(1, "Succeeded c:0")]);
    for (name, said) in [
        ("PodReadyToStartContainers", "False"),
        ("Initialized", "True PodCompleted"),
        ("Ready", "False PodCompleted"),
        ("ContainersReady", "False PodCompleted"),
    ] {
        assert_eq!(life.condition(name), said, "{name}");
    }
    let state = &life.status()["containerStatuses"][0]["state"];
    assert_eq!(state["terminated"]["reason"], "Completed");
    assert_eq!(life.status()["podIP"], "10.0.0.2");
}

#[test]
fn what_exits_is_started_again_with_ever_longer_pauses() {
    let metadata = notes(&[(RUN_FOR, "2s"), (EXIT_CODE, "1")]);
    let mut life = check(
        Life::new(metadata, one(json!({}))),
        &[
            (1, "Running c:ready"),
            // The first time at once.
            (3, "Running c:ready(1)"),
            (5, "Running c:CrashLoopBackOff(1)"),
            (14, "Running c:CrashLoopBackOff(1)"),
            (15, "Running c:ready(2)"),
            (17, "Running c:CrashLoopBackOff(2)"),
            (36, "Running c:CrashLoopBackOff(2)"),
            (37, "Running c:ready(3)"),
        ],
    );
    let container = &life.status()["containerStatuses"][0];
    assert_eq!(container["lastState"]["terminated"]["exitCode"], 1);
    assert_ne!(
        container["lastState"]["terminated"]["containerID"],
        container["containerID"]
    );
    life.at(39);
    let waiting = &life.status()["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(
        waiting["message"],
        "back-off 40s restarting failed container=c pod=p_n(u)"
    );
    assert_eq!(
        life.condition("Ready"),
        "False ContainersNotReady: containers with unready status: [c]"
    );
    let last = life.events.last().unwrap();
    assert_eq!((&*last.reason, last.is_warning), ("BackOff", true));
    assert_eq!(
        last.message,
        "Back-off restarting failed container c in pod p_n(u)"
    );
}

#[test]
fn restart_policies() {
    let exits = |policy: &str, code: &str| {
        let metadata = notes(&[(RUN_FOR, "1s"), (EXIT_CODE, code)]);
        Life::new(
            metadata,
            with(one(json!({})), "restartPolicy", json!(policy)),
        )
    };
    check(
        exits("Always", "0"),
        &[
            (2, "Running c:ready(1)"),
            (3, "Running c:CrashLoopBackOff(1)"),
        ],
    );
    check(exits("OnFailure", "0"), &[(2, "Succeeded c:0")]);
    check(exits("OnFailure", "1"), &[(2, "Running c:ready(1)")]);
    check(exits("Never", "0"), &[(2, "Succeeded c:0")]);
    check(exits("Never", "1"), &[(2, "Failed c:1")]);
}

#[test]
fn a_container_may_restart_all() {
    let rule =
        json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [7]}}]);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "i"}],
        "containers": [
            {"name": "a", "command": ["sh", "-c", "sleep 5; exit 7"], "restartPolicy": "Never", "restartPolicyRules": rule},
            {"name": "b"},
        ],
    });
    let life = check(
        Life::new(json!({}), spec),
        &[
            (1, "Running i:0 a:ready b:ready"),
            (
                6,
                "Running i:RestartingAllContainers(1) a:RestartingAllContainers(1) b:RestartingAllContainers(1)",
            ),
            (7, "Running i:0(1) a:ready(1) b:ready(1)"),
        ],
    );
    assert_eq!(life.condition("Initialized"), "True");
    assert_eq!(life.condition("AllContainersRestarting"), "False");
    let b = &life.status()["containerStatuses"][1]["lastState"]["terminated"];
    assert_eq!(
        (&b["reason"], &b["exitCode"]),
        (&json!("RestartingAllContainers"), &json!(137))
    );
}

#[test]
fn init_containers_run_one_after_the_other_and_sidecars_stay() {
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [
            {"name": "first", "command": ["sleep", "3"]},
            {"name": "side", "restartPolicy": "Always", "startupProbe": {"periodSeconds": 5}},
            {"name": "second"},
        ],
        "containers": [{"name": "c", "command": ["sleep", "10"]}],
    });
    let mut life = check(
        Life::new(json!({}), spec),
        &[
            (
                0,
                "Pending first:PodInitializing side:PodInitializing second:PodInitializing c:PodInitializing",
            ),
            (
                1,
                "Pending first:started side:PodInitializing second:PodInitializing c:PodInitializing",
            ),
        ],
    );
    assert_eq!(
        life.condition("Initialized"),
        "False ContainersNotInitialized: containers with incomplete status: [first side second]"
    );
    life = check(
        life,
        &[
            (
                4,
                "Pending first:0 side:running second:PodInitializing c:PodInitializing",
            ),
            (9, "Running first:0 side:ready second:0 c:ready"),
            // The sidecar is stopped when all else is done, and does not count.
            (19, "Succeeded first:0 side:143 second:0 c:0"),
        ],
    );
    let killing: Vec<_> = life
        .events
        .iter()
        .filter(|event| event.reason == "Killing")
        .collect();
    assert_eq!(killing[0].message, "Stopping container side");
}

#[test]
fn an_init_container_that_fails_keeps_the_pod_pending_or_fails_it() {
    let spec = |policy: &str| {
        json!({
            "restartPolicy": policy,
            "initContainers": [{"name": "i", "command": ["false"]}],
            "containers": [{"name": "c"}],
        })
    };
    check(
        Life::new(json!({}), spec("Always")),
        &[
            (1, "Pending i:CrashLoopBackOff(1) c:PodInitializing"),
            (11, "Pending i:CrashLoopBackOff(2) c:PodInitializing"),
        ],
    );
    check(
        Life::new(json!({}), spec("Never")),
        &[(1, "Failed i:1 c:PodInitializing")],
    );
}
