//! Probes, and how pods end or are taken up.

use super::{check, notes, one, with};
use crate::behaviour::{EXIT_CODE, FAIL_PROBES, RUN_FOR, START_AFTER, STOP_AFTER};
use crate::kubelet::testing::{Life, pod};
use serde_json::{Value, json};

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
        let specs = crate::kubelet::specs(&taken_up.pod);
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
}

fn life_at(lives: &mut [Life], second: i64) {
    for life in lives {
        life.at(second);
    }
}
