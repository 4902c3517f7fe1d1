//! The life of a pod, sentence by sentence.

use super::testing::{Life, START, pod};
use crate::behaviour::{EXIT_CODE, FAIL_PROBES, RUN_FOR, START_AFTER, STOP_AFTER};
use serde_json::{Value, json};

fn one(container: Value) -> Value {
    let mut container = container;
    container["name"] = json!("c");
    container["image"] = json!("nginx:1");
    json!({"containers": [container]})
}

fn with(spec: Value, field: &str, value: Value) -> Value {
    let mut spec = spec;
    spec[field] = value;
    spec
}

fn notes(pairs: &[(&str, &str)]) -> Value {
    let notes: serde_json::Map<_, _> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    json!({"annotations": notes})
}

/// Lets a pod live and compares what is reported at each second.
#[track_caller]
fn check(mut life: Life, rows: &[(i64, &str)]) -> Life {
    for (second, expected) in rows {
        life.at(*second);
        assert_eq!(life.brief(), *expected, "after {second} s");
    }
    life
}

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
    assert_eq!(status["podIPs"], json!([{"ip": "10.64.0.2"}]));
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
                "Container image \"nginx:1\" already present on machine"
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
    assert_eq!(life.status()["podIP"], "10.64.0.2");
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

#[test]
fn probes_delay_readiness_and_kill() {
    let probes = json!({
        "startupProbe": {"periodSeconds": 5},
        "readinessProbe": {"initialDelaySeconds": 8, "periodSeconds": 4},
        "livenessProbe": {"periodSeconds": 10, "failureThreshold": 2},
    });
    check(
        Life::new(json!({}), one(probes.clone())),
        &[
            (1, "Running c:running"),
            (6, "Running c:started"),
            (9, "Running c:started"),
            (10, "Running c:ready"),
        ],
    );
    let metadata = notes(&[(FAIL_PROBES, "liveness")]);
    let life = check(
        Life::new(metadata, one(probes.clone())),
        &[
            (10, "Running c:ready"),
            (25, "Running c:ready"),
            (26, "Running c:running(1)"),
        ],
    );
    let told: Vec<_> = life.events.iter().map(|event| &*event.message).collect();
    assert!(told.contains(&"Container c failed liveness probe, will be restarted"));
    let metadata = notes(&[(FAIL_PROBES, "readiness")]);
    check(
        Life::new(metadata, one(probes)),
        &[(6, "Running c:started"), (9_999, "Running c:started")],
    );
}

#[test]
fn readiness_gates_are_waited_for() {
    let spec = with(
        one(json!({})),
        "readinessGates",
        json!([{"conditionType": "web/ok"}]),
    );
    let mut life = Life::new(json!({}), spec);
    life.at(1);
    assert_eq!(life.condition("ContainersReady"), "True");
    let gate = "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"web/ok\" does not exist.";
    assert_eq!(life.condition("Ready"), gate);
    for (status, changed, said) in [
        (
            "False",
            true,
            "False ReadinessGatesNotReady: the status of pod readiness gate \"web/ok\" is not \"True\", but False",
        ),
        (
            "False",
            false,
            "False ReadinessGatesNotReady: the status of pod readiness gate \"web/ok\" is not \"True\", but False",
        ),
        ("True", true, "True"),
    ] {
        let conditions = json!({"conditions": [{"type": "web/ok", "status": status}]});
        life.pod.status = Some(serde_json::from_value(conditions).unwrap());
        assert_eq!(life.at(2), changed);
        assert_eq!(life.condition("Ready"), said);
    }
}

#[test]
fn a_deadline_ends_the_pod() {
    let spec = with(one(json!({})), "activeDeadlineSeconds", json!(20));
    let life = check(
        Life::new(json!({}), spec),
        &[(19, "Running c:ready"), (20, "Failed c:143")],
    );
    let status = life.status();
    assert_eq!(status["reason"], "DeadlineExceeded");
    assert_eq!(
        status["message"],
        "Pod was active on the node longer than the specified deadline"
    );
    assert_eq!(life.condition("Ready"), "False PodFailed");
    // Before anything ran.
    let spec = with(one(json!({})), "activeDeadlineSeconds", json!(3));
    let life = Life::new(notes(&[(START_AFTER, "1h")]), spec);
    check(life, &[(3, "Failed c:137")]);
}

#[test]
fn a_deleted_pod_has_its_grace_period() {
    let spec = || with(one(json!({})), "terminationGracePeriodSeconds", json!(30));
    let mut life = Life::new(json!({}), spec());
    life.delete_at(10, 30);
    assert_eq!(life.brief(), "Failed c:143");
    assert!(life.is_finished());
    let rows = [
        // How long it takes to stop, and when it has with which code.
        ("5s", 30, 15, "Failed c:143"),
        ("1h", 30, 40, "Failed c:137"),
        ("1h", 1, 12, "Failed c:137"),
    ];
    for (stop_after, grace_s, gone, said) in rows {
        let mut life = Life::new(notes(&[(STOP_AFTER, stop_after)]), spec());
        life.delete_at(10, grace_s);
        life.at(gone - 1);
        assert_eq!(life.brief(), "Running c:ready", "{stop_after} {grace_s}");
        life.at(gone);
        assert_eq!(life.brief(), said, "{stop_after} {grace_s}");
    }
    let mut life = Life::new(notes(&[(STOP_AFTER, "1h")]), spec());
    life.delete_at(10, 30);
    // Somebody is in a hurry.
    life.delete_at(12, 5);
    check(life, &[(16, "Running c:ready"), (17, "Failed c:137")]);
}

#[test]
fn hooks_take_their_time_within_the_grace_period() {
    let hooked = |hook: Value| one(json!({"lifecycle": {"preStop": hook}}));
    let sleep = |seconds: i64| json!({"sleep": {"seconds": seconds}});
    let exec = json!({"exec": {"command": ["sh", "-c", "sleep 4"]}});
    for (hook, grace_s, gone) in [
        (sleep(5), 30, 15),
        (exec, 30, 14),
        (sleep(60), 10, 20),
        (sleep(5), 0, 10),
    ] {
        let mut life = Life::new(json!({}), hooked(hook.clone()));
        life.delete_at(10, grace_s);
        life.at_ms(gone * 1_000 - 1);
        assert_eq!(life.is_finished(), gone == 10, "{hook} {grace_s}");
        life.at(gone);
        assert_eq!(life.brief(), "Failed c:143", "{hook} {grace_s}");
    }
}

#[test]
fn sidecars_stop_after_what_they_serve_and_the_last_one_first() {
    let spec = json!({
        "initContainers": [
            {"name": "a", "restartPolicy": "Always"},
            {"name": "b", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "c"}],
    });
    let mut life = Life::new(notes(&[(STOP_AFTER, "3s")]), spec);
    life.delete_at(10, 30);
    check(
        life,
        &[
            (13, "Running a:ready b:ready c:143"),
            (16, "Running a:ready b:143 c:143"),
            (19, "Failed a:143 b:143 c:143"),
        ],
    );
}

#[test]
fn what_never_ran_is_unknown_when_the_pod_is_deleted() {
    let mut life = Life::new(json!({}), one(json!({})));
    life.delete_at(0, 30);
    assert_eq!(life.brief(), "Failed c:137");
    let state = &life.status()["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(state["reason"], "ContainerStatusUnknown");
    assert_eq!(
        state["message"],
        "The container could not be located when the pod was terminated"
    );
    // What waits to be started again ended as it did.
    let mut life = Life::new(notes(&[(RUN_FOR, "1s"), (EXIT_CODE, "4")]), one(json!({})));
    life.delete_at(5, 30);
    assert_eq!(life.brief(), "Failed c:4(1)");
}

#[test]
fn ephemeral_containers_are_shown_running() {
    let mut life = Life::new(json!({}), one(json!({})));
    life.at(5);
    let debug = json!([{"name": "debug", "image": "busybox"}]);
    let mut changed = serde_json::to_value(&life.pod).unwrap();
    changed["spec"]["ephemeralContainers"] = debug;
    life.pod = serde_json::from_value(changed).unwrap();
    assert!(life.at(6));
    assert_eq!(life.brief(), "Running c:ready debug:running");
}

#[test]
fn another_image_restarts_the_container() {
    let mut life = Life::new(json!({}), one(json!({})));
    life.at(5);
    life.pod.spec.as_mut().unwrap().containers[0].image = Some("nginx:2".to_owned());
    assert!(life.at(6));
    assert_eq!(life.brief(), "Running c:ready(1)");
    let told: Vec<_> = life.events.iter().map(|event| &*event.message).collect();
    assert!(told.contains(&"Container c definition changed, will be restarted"));
}

#[test]
fn a_slow_node_takes_longer() {
    let metadata = notes(&[(START_AFTER, "2s"), (RUN_FOR, "10s")]);
    let never = with(one(json!({})), "restartPolicy", json!("Never"));
    let life = Life::of(pod(metadata, never), 3.0, 0);
    check(
        life,
        &[
            (5, "Pending c:ContainerCreating"),
            (6, "Running c:ready"),
            (35, "Running c:ready"),
            (36, "Succeeded c:0"),
        ],
    );
}

#[test]
fn a_restart_takes_up_what_the_status_says() {
    let metadata = notes(&[(RUN_FOR, "100s"), (EXIT_CODE, "1")]);
    let mut life = Life::new(
        metadata,
        one(json!({"readinessProbe": {"initialDelaySeconds": 5, "periodSeconds": 5}})),
    );
    for (second, said) in [
        (0, "Pending c:ContainerCreating"),
        (3, "Running c:started"),
        (50, "Running c:ready"),
        (102, "Running c:started(1)"),
        (205, "Running c:CrashLoopBackOff(1)"),
    ] {
        life.at(second);
        assert_eq!(life.brief(), said);
        let mut written = serde_json::to_value(&life.pod).unwrap();
        written["status"] = life.status();
        let taken_up = Life::of(serde_json::from_value(written).unwrap(), 1.0, second);
        assert_eq!(taken_up.brief(), said, "after {second} s");
        let specs = super::specs(&taken_up.pod);
        assert!(
            !crate::status::differs(&taken_up.sim, &taken_up.pod, &specs),
            "after {second} s"
        );
        assert_eq!(taken_up.status()["conditions"], life.status()["conditions"]);
        assert!(taken_up.events.is_empty());
        let mut both = [taken_up, Life::of(life.pod.clone(), 1.0, 0)];
        both[1].at(second);
        for later in [second + 20, second + 150] {
            life_at(&mut both, later);
            assert_eq!(both[0].brief(), both[1].brief(), "{second} {later}");
        }
    }
    assert_eq!(START.as_millis(), 1_800_000_000_000);
}

fn life_at(lives: &mut [Life], second: i64) {
    for life in lives {
        life.at(second);
    }
}
