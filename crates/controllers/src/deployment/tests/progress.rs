//! Pauses, deadlines and failures.

use super::*;

#[test]
fn a_paused_deployment_scales_but_does_not_roll_out() {
    let mut world = world(spec());
    finish(&mut world);
    change(&mut world, |spec| {
        spec["paused"] = json!(true);
        spec["template"] = template("v2");
        spec["replicas"] = json!(4);
    });
    finish(&mut world);
    assert_eq!(sizes_by_image(&world), [("v1".to_owned(), 4)].into());
    let paused = ("Unknown", "DeploymentPaused", "Deployment is paused");
    let told = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!((told.0.as_str(), told.1.as_str(), told.2.as_str()), paused);
    assert_eq!(status_of(&world)["observedGeneration"], 2);
    // Time does not count during a pause.
    world.settle(&CONTROLLERS, Duration::from_secs(3600));
    assert_eq!(reason_of(&world, "Progressing"), "DeploymentPaused");
    change(&mut world, |spec| spec["paused"] = json!(false));
    world.sync(&Deployments, "a", "web");
    let resumed = ("Unknown", "DeploymentResumed", "Deployment is resumed");
    let told = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!((told.0.as_str(), told.1.as_str(), told.2.as_str()), resumed);
    finish(&mut world);
    let expected = [("v1".to_owned(), 0), ("v2".to_owned(), 4)];
    assert_eq!(sizes_by_image(&world), expected.into());
}

#[test]
fn a_deployment_may_begin_paused() {
    let mut spec = spec();
    spec["paused"] = json!(true);
    let mut world = world(spec);
    settle(&mut world);
    assert!(sets(&world).is_empty());
    assert_eq!(
        status_of(&world),
        json!({"observedGeneration": 1, "terminatingReplicas": 0})
    );
    change(&mut world, |spec| spec["paused"] = json!(false));
    finish(&mut world);
    assert_eq!(pods(&world).len(), 3);
}

#[test]
fn a_roll_out_that_stands_still_is_told_in_time() {
    let mut spec = spec();
    spec["progressDeadlineSeconds"] = json!(60);
    let mut world = world(spec);
    finish(&mut world);
    roll_out(&mut world, "broken");
    settle(&mut world);
    let set = name(&*set_of(&world, "broken")).to_owned();
    assert_eq!(reason_of(&world, "Progressing"), "ReplicaSetUpdated");
    world.settle(&CONTROLLERS, Duration::from_secs(60));
    assert_eq!(reason_of(&world, "Progressing"), "ReplicaSetUpdated");
    world.settle(&CONTROLLERS, Duration::from_secs(2));
    let message = format!("ReplicaSet \"{set}\" has timed out progressing.");
    let told = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!(
        told,
        (
            "False".to_owned(),
            "ProgressDeadlineExceeded".to_owned(),
            message
        )
    );
    // A pause does not hide it, and progress takes it back.
    change(&mut world, |spec| spec["paused"] = json!(true));
    settle(&mut world);
    assert_eq!(reason_of(&world, "Progressing"), "ProgressDeadlineExceeded");
    change(&mut world, |spec| spec["paused"] = json!(false));
    settle(&mut world);
    // The last of an old pod is no progress, a new one that works is.
    assert!(run_one(&mut world));
    settle(&mut world);
    assert_eq!(reason_of(&world, "Progressing"), "ProgressDeadlineExceeded");
    assert!(run_one(&mut world));
    settle(&mut world);
    assert_eq!(reason_of(&world, "Progressing"), "ReplicaSetUpdated");
    finish(&mut world);
    assert_eq!(reason_of(&world, "Progressing"), "NewReplicaSetAvailable");
    // A pod that fails long after is no roll-out.
    world.pass(Duration::from_secs(3600));
    let pod = name(&*pods(&world)[0]).to_owned();
    world.change::<Pod>("a", &pod, |pod| pod.status = None);
    world.settle(&CONTROLLERS, Duration::from_secs(3600));
    assert_eq!(reason_of(&world, "Progressing"), "NewReplicaSetAvailable");
    assert_eq!(status_of(&world)["availableReplicas"], 2);
}

#[test]
fn without_a_deadline_nothing_is_told_of_progress() {
    let mut spec = spec();
    spec["progressDeadlineSeconds"] = json!(i32::MAX);
    let mut world = world(spec);
    finish(&mut world);
    assert_eq!(condition_of(&world, "Progressing"), None);
    change(&mut world, |spec| spec["paused"] = json!(true));
    settle(&mut world);
    assert_eq!(condition_of(&world, "Progressing"), None);
    // Whoever begins to care is told of the set that there is.
    change(&mut world, |spec| {
        spec["paused"] = json!(false);
        spec["progressDeadlineSeconds"] = json!(60);
    });
    world.sync(&Deployments, "a", "web");
    let set = name(&*set_of(&world, "v1")).to_owned();
    let (_, reason, message) = condition_of(&world, "Progressing").expect("a condition");
    assert_eq!(reason, "FoundNewReplicaSet");
    assert_eq!(message, format!("Found new replica set \"{set}\""));
}

#[test]
fn what_sets_cannot_do_is_passed_on() {
    let mut world = world(spec());
    world.refuse(|write| {
        let is_pod = write.kind.name == "Pod" && write.method == Method::Post;
        is_pod.then(|| refused(403, "exceeded quota"))
    });
    settle(&mut world);
    let failure = (
        "True".to_owned(),
        "FailedCreate".to_owned(),
        "exceeded quota".to_owned(),
    );
    assert_eq!(condition_of(&world, "ReplicaFailure"), Some(failure));
    world.refuse(|_| None);
    world.settle(&CONTROLLERS, Duration::from_secs(5));
    assert_eq!(condition_of(&world, "ReplicaFailure"), None);
    assert_eq!(pods(&world).len(), 3);
}

#[test]
fn a_set_that_cannot_be_made_is_told() {
    for code in [403, 500] {
        let mut world = world(spec());
        world.refuse(move |write| (write.method == Method::Post).then(|| refused(code, "no")));
        world.sync(&Deployments, "a", "web");
        let (status, reason, message) = condition_of(&world, "Progressing").expect("a condition");
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "ReplicaSetCreateError")
        );
        assert!(
            message.starts_with("Failed to create new replica set \"web-"),
            "{message}"
        );
        assert!(message.ends_with("\": no"), "{message}");
        assert_eq!(messages(&mut world), [message]);
        // It is tried again.
        assert_eq!(world.errors, ["no"]);
        world.refuse(|_| None);
        world.settle(&CONTROLLERS, Duration::from_secs(5));
        assert_eq!(pods(&world).len(), 3);
    }
    let mut world = world(spec());
    world.refuse(|write| {
        let causes = vec!["NamespaceTerminating".to_owned()];
        let failure = Failure {
            causes,
            ..refused(403, "no")
        };
        (write.method == Method::Post).then_some(failure)
    });
    world.sync(&Deployments, "a", "web");
    assert_eq!((messages(&mut world).len(), world.errors.len()), (0, 0));
}

#[test]
fn a_deployment_that_is_going_only_tells_its_status() {
    let mut world = World::default();
    let meta = json!({"namespace": "a", "name": "web", "deletionTimestamp": "2026-03-01T12:00:00Z",
        "finalizers": ["foregroundDeletion"]});
    world.add_json::<Deployment>(json!({"metadata": meta, "spec": spec()}));
    world.sync(&Deployments, "a", "web");
    assert_eq!(
        world.take_writes(),
        ["PUT /apis/apps/v1/namespaces/a/deployments/web/status"]
    );
}

#[test]
fn nobody_means_all_pods() {
    let mut spec = spec();
    spec["selector"] = json!({});
    let mut world = world(spec);
    settle(&mut world);
    assert!(sets(&world).is_empty());
    assert_eq!(status_of(&world), json!({"observedGeneration": 1}));
    let told = "This deployment is selecting all pods. A non-empty selector is required.";
    assert_eq!(messages(&mut world)[0], told);
    assert!(
        world
            .take_reasons()
            .iter()
            .all(|reason| *reason == "SelectingAll")
    );
}

#[test]
fn statuses_that_others_write_are_put_right() {
    let mut world = world(spec());
    finish(&mut world);
    world.change::<Deployment>("a", "web", |deployment| {
        let status = json!({"readyReplicas": 0, "conditions": [{"type": "StatusPatched", "status": "True"}]});
        deployment.status = serde_json::from_value(status).expect("a status");
    });
    settle(&mut world);
    assert_eq!(status_of(&world)["readyReplicas"], 3);
    assert!(condition_of(&world, "StatusPatched").is_some());
    assert_eq!(reason_of(&world, "Available"), "MinimumReplicasAvailable");
}
