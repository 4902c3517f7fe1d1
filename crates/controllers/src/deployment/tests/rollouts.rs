//! Roll-outs from beginning to end.

use super::*;

#[test]
fn a_new_deployment_makes_a_set() {
    let mut world = world(spec());
    settle(&mut world);
    let set = set_of(&world, "v1");
    let hash = label(&*set, "pod-template-hash")
        .expect("a hash")
        .to_owned();
    assert_eq!(name(&*set), format!("web-{hash}"));
    assert_eq!(label(&*set, "app"), Some("web"));
    let written = serde_json::to_value(&*set).expect("a set");
    let labels = json!({"app": "web", "pod-template-hash": hash});
    assert_eq!(written["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(written["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(written["spec"]["replicas"], 3);
    let owner = controller_of(&*set).expect("an owner");
    assert_eq!(
        (owner.kind.as_str(), owner.block_owner_deletion),
        ("Deployment", Some(true))
    );
    assert_eq!(
        written["metadata"]["annotations"],
        json!({"note": "x", "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/max-replicas": "4"})
    );
    assert_eq!(
        label(&*pods(&world)[0], "pod-template-hash"),
        Some(hash.as_str())
    );
    assert_eq!(
        annotation(&*web(&world), "deployment.kubernetes.io/revision"),
        Some("1")
    );
    let made = format!("Scaled up replica set web-{hash} from 0 to 3");
    assert_eq!(messages(&mut world), [made]);
    assert_eq!(
        status_of(&world),
        json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "unavailableReplicas": 3,
            "terminatingReplicas": 0})
    );
    let (status, reason, message) = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", "ReplicaSetUpdated")
    );
    assert_eq!(
        message,
        format!("ReplicaSet \"web-{hash}\" is progressing.")
    );
    assert_eq!(reason_of(&world, "Available"), "MinimumReplicasUnavailable");
    finish(&mut world);
    let (_, reason, message) = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!(reason, "NewReplicaSetAvailable");
    assert_eq!(
        message,
        format!("ReplicaSet \"web-{hash}\" has successfully progressed.")
    );
    assert_eq!(reason_of(&world, "Available"), "MinimumReplicasAvailable");
    assert_eq!(
        status_of(&world),
        json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
            "availableReplicas": 3, "terminatingReplicas": 0})
    );
    // All is as it should be: nothing is written, and nothing is looked at again.
    world.take_writes();
    assert_eq!(world.sync(&Deployments, "a", "web"), None);
    assert!(world.take_writes().is_empty());
}

/// Rolls out, and looks after each step of a pod whether limits are kept.
fn check_rolling(replicas: i32, limits: Value, allowed: i32, needed: i32) {
    let mut spec = spec();
    spec["replicas"] = json!(replicas);
    spec["strategy"]["rollingUpdate"] = limits.clone();
    let mut world = world(spec);
    finish(&mut world);
    roll_out(&mut world, "v2");
    let mut steps = 0;
    loop {
        settle(&mut world);
        let ready = pods(&world);
        let ready = ready
            .iter()
            .filter(|pod| is_pod_ready(pod) && is_pod_active(pod))
            .count();
        let total: i32 = sizes_by_image(&world).values().sum();
        assert!(total <= allowed, "{total} pods with {limits}");
        let ready = i32::try_from(ready).expect("a count");
        assert!(ready >= needed, "{ready} pods ready with {limits}");
        if !run_one(&mut world) {
            break;
        }
        steps += 1;
    }
    assert!(steps >= replicas);
    let expected = [("v1".to_owned(), 0), ("v2".to_owned(), replicas)];
    assert_eq!(sizes_by_image(&world), expected.into());
    assert_eq!(
        annotation(&*web(&world), "deployment.kubernetes.io/revision"),
        Some("2")
    );
    assert_eq!(status_of(&world)["observedGeneration"], 2);
    assert_eq!(reason_of(&world, "Progressing"), "NewReplicaSetAvailable");
}

#[test]
fn limits_are_kept_during_a_roll_out() {
    check_rolling(3, json!({"maxSurge": 1, "maxUnavailable": 1}), 4, 2);
    check_rolling(3, json!({"maxSurge": 1, "maxUnavailable": 0}), 4, 3);
    check_rolling(3, json!({"maxSurge": 0, "maxUnavailable": 1}), 3, 2);
    check_rolling(
        10,
        json!({"maxSurge": "25%", "maxUnavailable": "25%"}),
        13,
        8,
    );
    check_rolling(2, json!({"maxSurge": "0%", "maxUnavailable": "1%"}), 2, 1);
    check_rolling(1, json!({"maxSurge": "1%", "maxUnavailable": "25%"}), 2, 1);
    check_rolling(
        4,
        json!({"maxSurge": "100%", "maxUnavailable": "100%"}),
        8,
        0,
    );
}

#[test]
fn steps_are_told() {
    let mut world = world(spec());
    finish(&mut world);
    let old = name(&*set_of(&world, "v1")).to_owned();
    roll_out(&mut world, "v2");
    messages(&mut world);
    settle(&mut world);
    let new = name(&*set_of(&world, "v2")).to_owned();
    assert_eq!(
        messages(&mut world),
        [
            format!("Scaled up replica set {new} from 0 to 1"),
            format!("Scaled down replica set {old} from 3 to 2"),
            format!("Scaled up replica set {new} from 1 to 2"),
        ]
    );
    finish(&mut world);
    assert!(world.take_reasons().contains(&"ScalingReplicaSet"));
}

/// A template that does not work gives way to the next one.
#[test]
fn a_roll_out_may_be_rolled_over() {
    let mut world = world(spec());
    finish(&mut world);
    roll_out(&mut world, "broken");
    settle(&mut world);
    assert_eq!(sizes_by_image(&world)["broken"], 2);
    assert_eq!(sizes_by_image(&world)["v1"], 2);
    roll_out(&mut world, "v2");
    finish(&mut world);
    let expected = [("broken", 0), ("v1", 0), ("v2", 3)];
    assert_eq!(
        sizes_by_image(&world),
        expected.map(|(k, v)| (k.to_owned(), v)).into()
    );
}

#[test]
fn pods_have_to_be_ready_for_a_while() {
    let mut spec = spec();
    spec["minReadySeconds"] = json!(30);
    let mut world = world(spec);
    finish(&mut world);
    assert_eq!(status_of(&world).get("availableReplicas"), None);
    world.settle(&CONTROLLERS, Duration::from_secs(30));
    assert_eq!(status_of(&world)["availableReplicas"], 3);
    // A change of it is no roll-out.
    change(&mut world, |spec| spec["minReadySeconds"] = json!(60));
    settle(&mut world);
    let set = set_of(&world, "v1");
    assert_eq!(
        set.spec.as_ref().and_then(|spec| spec.min_ready_seconds),
        Some(60)
    );
    assert_eq!(sets(&world).len(), 1);
}

#[test]
fn scaling_during_a_roll_out_is_in_proportion() {
    let mut spec = spec();
    spec["replicas"] = json!(10);
    spec["strategy"]["rollingUpdate"] = json!({"maxSurge": 3, "maxUnavailable": 2});
    let mut world = world(spec);
    finish(&mut world);
    // The image does not exist: the roll-out stands still at 8 and 5.
    roll_out(&mut world, "broken");
    settle(&mut world);
    let expected = [("broken".to_owned(), 5), ("v1".to_owned(), 8)];
    assert_eq!(sizes_by_image(&world), expected.into());
    change(&mut world, |spec| spec["replicas"] = json!(30));
    settle(&mut world);
    // As in Kubernetes' own test of proportional scaling.
    let expected = [("broken".to_owned(), 13), ("v1".to_owned(), 20)];
    assert_eq!(sizes_by_image(&world), expected.into());
    for set in sets(&world) {
        assert_eq!(
            annotation(&*set, "deployment.kubernetes.io/desired-replicas"),
            Some("30")
        );
        assert_eq!(
            annotation(&*set, "deployment.kubernetes.io/max-replicas"),
            Some("33")
        );
    }
}

#[test]
fn scaling_is_told_and_may_go_down_to_nothing() {
    let mut world = world(spec());
    finish(&mut world);
    messages(&mut world);
    for (from, to, direction) in [(3, 5, "up"), (5, 0, "down"), (0, 2, "up")] {
        change(&mut world, |spec| spec["replicas"] = json!(to));
        finish(&mut world);
        let set = name(&*set_of(&world, "v1")).to_owned();
        let expected = format!("Scaled {direction} replica set {set} from {from} to {to}");
        assert_eq!(messages(&mut world), [expected]);
        assert_eq!(pods(&world).len(), to);
        assert_eq!(reason_of(&world, "Available"), "MinimumReplicasAvailable");
    }
}

#[test]
fn old_pods_are_gone_before_new_ones_come() {
    let mut spec = spec();
    spec["strategy"] = json!({"type": "Recreate"});
    let mut world = world(spec);
    finish(&mut world);
    assert_eq!(status_of(&world)["availableReplicas"], 3);
    roll_out(&mut world, "v2");
    settle(&mut world);
    // The old ones are on their way out, but still there.
    assert_eq!(pods(&world).len(), 3);
    assert_eq!(sizes_by_image(&world), [("v1".to_owned(), 0)].into());
    assert_eq!(status_of(&world)["terminatingReplicas"], 3);
    assert_eq!(reason_of(&world, "Available"), "MinimumReplicasUnavailable");
    for left in [2, 1] {
        assert!(run_one(&mut world));
        settle(&mut world);
        assert_eq!(pods(&world).len(), left);
        assert_eq!(sets(&world).len(), 1);
    }
    finish(&mut world);
    let expected = [("v1".to_owned(), 0), ("v2".to_owned(), 3)];
    assert_eq!(sizes_by_image(&world), expected.into());
    assert_eq!(reason_of(&world, "Progressing"), "NewReplicaSetAvailable");
}

/// Rows of upstream's `TestOldPodsRunning`, seen from outside.
#[test]
fn finished_pods_do_not_keep_new_ones_waiting() {
    let mut spec = spec();
    spec["replicas"] = json!(1);
    spec["strategy"] = json!({"type": "Recreate"});
    for (phase, is_running) in [
        ("Succeeded", false),
        ("Failed", false),
        ("Unknown", true),
        ("Pending", true),
    ] {
        let mut world = world(spec.clone());
        finish(&mut world);
        let pod = name(&*pods(&world)[0]).to_owned();
        roll_out(&mut world, "v2");
        settle(&mut world);
        world.change::<Pod>("a", &pod, |pod| {
            pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        });
        settle(&mut world);
        world.sync(&Deployments, "a", "web");
        assert_eq!(sets(&world).len() == 1, is_running, "{phase}");
    }
}

#[test]
fn a_set_that_loses_broken_pods_and_others_is_told_of_twice() {
    let mut spec = spec();
    spec["replicas"] = json!(10);
    spec["strategy"]["rollingUpdate"] = json!({"maxSurge": 0, "maxUnavailable": 4});
    let mut world = world(spec);
    finish(&mut world);
    let broken = name(&*pods(&world)[0]).to_owned();
    world.change::<Pod>("a", &broken, |pod| {
        pod.status.get_or_insert_default().conditions = None;
    });
    settle(&mut world);
    messages(&mut world);
    roll_out(&mut world, "v2");
    settle(&mut world);
    let told = messages(&mut world);
    let (old, new) = (set_of(&world, "v1"), set_of(&world, "v2"));
    let (old, new) = (name(&*old), name(&*new));
    assert_eq!(
        told,
        [
            format!("Scaled down replica set {old} from 10 to 9"),
            format!("Scaled down replica set {old} from 9 to 6"),
            format!("Scaled up replica set {new} from 0 to 4"),
        ]
    );
}
