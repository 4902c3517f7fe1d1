//! Whose pods they are, and which changes matter.

use super::*;

fn joined(job: Value, pods: impl IntoIterator<Item = Value>) -> (World, Jobs) {
    let mut world = world(job, pods);
    let controller = Jobs::default();
    world.join(0, &controller);
    (world, controller)
}

fn settle(world: &mut World, controller: &Jobs) {
    world.settle(&[controller], Duration::from_secs(3));
}

#[test]
fn orphans_that_match_are_adopted_and_held() {
    let mut orphan = without_finalizer(pod("a", "Running"));
    orphan["metadata"]["ownerReferences"] = json!([]);
    let mut other = orphan.clone();
    other["metadata"]["name"] = json!("b");
    other["metadata"]["uid"] = json!("b");
    other["metadata"]["labels"] = json!({"a": "b"});
    let mut gone = deleted(orphan.clone());
    gone["metadata"]["name"] = json!("c");
    gone["metadata"]["uid"] = json!("c");
    let (mut world, controller) = joined(job(json!({"completions": 1})), [orphan, other, gone]);
    settle(&mut world, &controller);
    let adopted = world.get::<Pod>("shop", "a");
    assert!(crate::common::is_controlled_by(
        &*adopted,
        &*world.get::<Job>("shop", NAME)
    ));
    assert!(super::super::spec::has_tracking_finalizer(&adopted));
    for name in ["b", "c"] {
        let pod = world.get::<Pod>("shop", name);
        assert!(crate::common::controller_of(&*pod).is_none(), "{name}");
    }
    assert_eq!(status(&world).active, Some(1));
    assert_eq!(count(&world, Method::Post, "/pods"), 0);
}

#[test]
fn a_selector_of_expressions_finds_its_orphans() {
    let mut given = job(json!({"completions": 1, "manualSelector": true}));
    given["spec"]["selector"] = json!({"matchExpressions": [{"key": "x", "operator": "Exists"}]});
    let mut orphan = without_finalizer(pod("a", "Running"));
    orphan["metadata"]["ownerReferences"] = json!([]);
    orphan["metadata"]["labels"] = json!({"x": "1"});
    let (mut world, controller) = joined(given, []);
    settle(&mut world, &controller);
    world.take_writes();
    world.add_json::<Pod>(orphan);
    settle(&mut world, &controller);
    assert!(crate::common::controller_of(&*world.get::<Pod>("shop", "a")).is_some());
}

#[test]
fn pods_that_do_not_match_any_more_are_released() {
    let (mut world, controller) = joined(job(json!({"completions": 1})), [pod("a", "Running")]);
    settle(&mut world, &controller);
    assert_eq!(status(&world).active, Some(1));
    world.change::<Pod>("shop", "a", |pod| pod.metadata.labels = None);
    settle(&mut world, &controller);
    let released = world.get::<Pod>("shop", "a");
    assert!(crate::common::controller_of(&*released).is_none());
    assert!(!super::super::spec::has_tracking_finalizer(&released));
    // Another one takes its place.
    assert_eq!(count(&world, Method::Post, "/pods"), 1);
}

#[test]
fn an_adoption_that_fails_is_tried_again_after_a_pause() {
    let mut orphan = without_finalizer(pod("a", "Running"));
    orphan["metadata"]["ownerReferences"] = json!([]);
    let (mut world, controller) = joined(job(json!({"completions": 1})), [orphan]);
    world.refuse(|write| (write.method == Method::Patch).then(|| refused(403)));
    assert_eq!(world.sync(&controller, "shop", NAME), None);
    assert_eq!(world.errors, ["no"]);
    assert_eq!(count(&world, Method::Post, "/pods"), 0);
}

#[test]
fn nothing_is_adopted_by_a_job_that_is_deleted() {
    let mut given = job(json!({"completions": 1}));
    given["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
    given["metadata"]["finalizers"] = json!(["orphan"]);
    let mut orphan = without_finalizer(pod("a", "Running"));
    orphan["metadata"]["ownerReferences"] = json!([]);
    let (mut world, controller) = joined(given, [orphan]);
    settle(&mut world, &controller);
    assert!(crate::common::controller_of(&*world.get::<Pod>("shop", "a")).is_none());
}

#[test]
fn changes_of_pods_are_looked_at_together() {
    let given = job(json!({"completions": 2, "parallelism": 2}));
    let (mut world, controller) = joined(given, [pod("a", "Running"), pod("b", "Running")]);
    settle(&mut world, &controller);
    world.take_writes();
    for name in ["a", "b"] {
        world.change::<Pod>("shop", name, |pod| {
            pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
        });
    }
    world.settle(&[&controller], Duration::from_millis(900));
    assert_eq!(world.take_writes(), [""; 0]);
    world.settle(&[&controller], Duration::from_millis(200));
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(count(&world, Method::Put, "/status"), 2);
}

/// `TestFinalizerCleanup`, `TestSyncOrphanPod`.
#[test]
fn pods_without_a_job_are_let_go() {
    let (mut world, controller) = joined(job(json!({"completions": 1})), [pod("a", "Running")]);
    settle(&mut world, &controller);
    world.remove::<Job>("shop", NAME);
    settle(&mut world, &controller);
    assert!(!super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "a")
    ));
    // One that comes to be deleted later.
    let mut other = pod("b", "Running");
    other["metadata"]["ownerReferences"][0]["name"] = json!("gone");
    world.add_json::<Pod>(other.clone());
    settle(&mut world, &controller);
    assert!(super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "b")
    ));
    world.add_json::<Pod>(deleted(other));
    settle(&mut world, &controller);
    assert!(!super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "b")
    ));
    // One that lost its owner.
    let mut orphan = pod("c", "Running");
    orphan["metadata"]["ownerReferences"] = json!([]);
    world.add_json::<Pod>(orphan);
    settle(&mut world, &controller);
    assert!(!super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "c")
    ));
    // One of somebody else.
    let mut strange = pod("d", "Running");
    strange["metadata"]["ownerReferences"][0]["kind"] = json!("Other");
    world.add_json::<Pod>(deleted(strange));
    settle(&mut world, &controller);
    assert!(super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "d")
    ));
}

#[test]
fn pods_of_a_job_that_is_over_are_let_go() {
    let mut given = job(json!({"completions": 1}));
    given["status"] = json!({});
    let (mut world, controller) = joined(given, [pod("a", "Running")]);
    settle(&mut world, &controller);
    // Somebody else says that it is over.
    world.change::<Job>("shop", NAME, |job| {
        let done = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        job.status = Some(serde_json::from_value(done).expect("a status"));
    });
    settle(&mut world, &controller);
    assert!(!super::super::spec::has_tracking_finalizer(
        &world.get::<Pod>("shop", "a")
    ));
}

#[test]
fn pods_of_a_job_that_somebody_else_runs_are_left_alone() {
    let given = job(json!({"completions": 1, "managedBy": "example.com/x"}));
    let (mut world, controller) = joined(given, [deleted(pod("a", "Running"))]);
    settle(&mut world, &controller);
    world.change::<Job>("shop", NAME, |job| {
        let done = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        job.status = Some(serde_json::from_value(done).expect("a status"));
    });
    settle(&mut world, &controller);
    assert!(world.writes.is_empty());
}

#[test]
fn pods_that_are_missed_least_go_first() {
    use super::super::rank;
    let shaped =
        |name: &str, node: bool, phase: &str, since: Option<&str>, restarts: i32, made: &str| {
            let mut pod = pod(name, phase);
            pod["metadata"]["creationTimestamp"] = json!(made);
            if !node {
                pod["spec"]["nodeName"] = Value::Null;
            }
            if let Some(since) = since {
                pod["status"]["conditions"] =
                    json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
            }
            pod["status"]["containerStatuses"] = json!([{
                "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": restarts,
            }]);
            let pod: Pod = serde_json::from_value(pod).expect("a pod");
            std::sync::Arc::new(pod)
        };
    let (old, new) = ("2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z");
    let wanted = [
        shaped("unplaced", false, "Pending", None, 0, old),
        shaped("pending", true, "Pending", None, 0, old),
        shaped("unknown", true, "Unknown", None, 0, old),
        shaped("unready", true, "Running", None, 0, old),
        shaped("just-ready", true, "Running", Some(new), 0, old),
        shaped("restarted", true, "Running", Some(old), 5, old),
        shaped("young", true, "Running", Some(old), 1, new),
        shaped("old", true, "Running", Some(old), 1, old),
    ];
    let mut pods = wanted.to_vec();
    pods.reverse();
    rank::sort(&mut pods);
    let names = |pods: &[std::sync::Arc<Pod>]| -> Vec<_> {
        pods.iter().map(|pod| pod.metadata.name.clone()).collect()
    };
    assert_eq!(names(&pods), names(&wanted));
}

#[test]
fn a_job_that_has_changed_meanwhile_adopts_nothing() {
    let mut orphan = without_finalizer(pod("a", "Running"));
    orphan["metadata"]["ownerReferences"] = json!([]);
    let (mut world, controller) = joined(job(json!({"completions": 1})), [orphan]);
    world.change_unseen::<Job>("shop", NAME, |job| {
        job.metadata.labels = Some([("new".to_owned(), "yes".to_owned())].into());
    });
    world.sync(&controller, "shop", NAME);
    let pod = world.get::<Pod>("shop", "a");
    assert!(crate::common::controller_of(&*pod).is_none());
}
