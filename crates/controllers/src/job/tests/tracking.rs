//! `TestTrackJobStatusAndRemoveFinalizers`: each pod is counted once.

use super::*;

/// What was written into the status, one write after the other: uids that are not counted, and counters.
fn steps(world: &World) -> Vec<String> {
    let writes = world.writes.iter();
    let statuses = writes.filter(|(method, _, _)| *method == Method::Put);
    let show = |body: &Value| {
        let status = &body["status"];
        let uids = |what: &str| -> String {
            let uids = status["uncountedTerminatedPods"][what].as_array();
            let uids = uids.into_iter().flatten().filter_map(Value::as_str);
            let uids = uids.map(|uid| uid.strip_prefix("uid-of-").unwrap_or(uid));
            uids.collect::<Vec<_>>().join(",")
        };
        let number = |what: &str| status[what].as_i64().unwrap_or(0);
        format!(
            "[{}] [{}] {} {}",
            uids("succeeded"),
            uids("failed"),
            number("succeeded"),
            number("failed")
        )
    };
    statuses.map(|(_, _, body)| show(body)).collect()
}

/// A Job that has all the pods that it wants.
fn busy(status: Value) -> Value {
    let mut given = job(json!({"parallelism": 0, "completions": 100, "backoffLimit": 1000}));
    given["status"] = status;
    given
}

#[test]
fn pods_that_are_over_are_named_let_go_and_counted() {
    let mut world = world(
        busy(json!({})),
        [
            pod("a", "Succeeded"),
            pod("b", "Failed"),
            deleted(pod("c", "Succeeded")),
            deleted(pod("d", "Failed")),
            deleted(pod("e", "Pending")),
        ],
    );
    sync(&mut world);
    assert_eq!(steps(&world), ["[a,c] [b,d,e] 0 0", "[] [] 2 3"]);
    assert_eq!(count(&world, Method::Patch, "/pods"), 5);
    let held = pods(&world)
        .iter()
        .filter(|pod| super::spec::has_tracking_finalizer(pod))
        .count();
    assert_eq!(held, 0);
    // They are not counted again.
    world.writes.clear();
    sync(&mut world);
    assert_eq!(steps(&world), [""; 0]);
}

#[test]
fn pods_that_were_named_before() {
    let named = json!({
        "succeeded": 2, "failed": 3,
        "uncountedTerminatedPods": {
            "succeeded": ["uid-of-a", "uid-of-e"], "failed": ["uid-of-b", "uid-of-f"],
        },
    });
    let mut world = world(
        busy(named),
        [
            // This one was let go; `f` is gone.
            without_finalizer(pod("e", "Succeeded")),
            without_finalizer(pod("x", "Failed")),
            pod("a", "Succeeded"),
            pod("b", "Failed"),
            pod("c", "Succeeded"),
            pod("d", "Failed"),
        ],
    );
    sync(&mut world);
    assert_eq!(steps(&world), ["[a,c] [b,d] 3 4", "[] [] 5 6"]);
}

#[test]
fn a_pod_that_was_named_as_failed_does_not_succeed() {
    let named = json!({"uncountedTerminatedPods": {"failed": ["uid-of-a"]}});
    let mut world = world(busy(named), [pod("a", "Succeeded")]);
    sync(&mut world);
    assert_eq!(steps(&world).last().map(String::as_str), Some("[] [] 0 1"));
}

#[test]
fn a_status_that_cannot_be_written_holds_all_pods() {
    let mut world = world(busy(json!({})), [pod("a", "Succeeded"), pod("b", "Failed")]);
    world.refuse(|write| (write.kind.name == "Job").then(|| refused(409)));
    sync(&mut world);
    assert_eq!(steps(&world), ["[a] [b] 0 0"]);
    assert_eq!(count(&world, Method::Patch, "/pods"), 0);
    assert_eq!(status(&world).succeeded, None);
}

#[test]
fn pods_that_cannot_be_let_go_are_not_counted() {
    let mut first = world(busy(json!({})), [pod("a", "Succeeded"), pod("b", "Failed")]);
    first.refuse(|write| (write.kind.name == "Pod").then(|| refused(500)));
    sync(&mut first);
    assert_eq!(steps(&first), ["[a] [b] 0 0"]);
    // Some can.
    let mut second = world(busy(json!({})), [pod("a", "Succeeded"), pod("b", "Failed")]);
    second.refuse(|write| (*write.key.name == *"b").then(|| refused(500)));
    sync(&mut second);
    assert_eq!(steps(&second), ["[a] [b] 0 0", "[] [b] 1 0"]);
    // One that is gone counts.
    let mut third = world(busy(json!({})), [pod("a", "Succeeded")]);
    third.refuse(|write| (*write.key.name == *"a").then(|| refused(404)));
    sync(&mut third);
    assert_eq!(steps(&third), ["[a] [] 0 0", "[] [] 1 0"]);
    assert_eq!(third.errors, [""; 0]);
}

#[test]
fn five_hundred_at_a_time() {
    let all = (0..510).map(|n| pod(&format!("p{n:03}"), "Succeeded"));
    let mut given = busy(json!({"uncountedTerminatedPods": {"failed": ["uid-of-x", "uid-of-y"]}}));
    given["spec"]["completions"] = json!(510);
    let mut world = world(given, all.chain([pod("y", "Failed")]));
    let controller = Jobs::default();
    world.sync(&controller, "shop", NAME);
    assert_eq!(count(&world, Method::Patch, "/pods"), 499);
    let seen = status(&world);
    // `x` is gone; `y` has not been come to.
    assert_eq!((seen.succeeded, seen.failed), (Some(499), Some(1)));
    assert_eq!(conditions(&world), ["SuccessCriteriaMet"]);
    world.sync(&controller, "shop", NAME);
    let seen = status(&world);
    assert_eq!((seen.succeeded, seen.failed), (Some(510), Some(2)));
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
}

#[test]
fn how_it_ends_is_written_before_pods_go() {
    let mut given = job(json!({"completions": 1}));
    given["status"] = json!({"startTime": "2026-03-01T11:00:00Z"});
    let mut world = world(
        given,
        [exited(pod("a", "Succeeded"), 0, "2026-03-01T11:30:00Z")],
    );
    sync(&mut world);
    let types = |body: &Value| -> Vec<String> {
        let all = body["status"]["conditions"].as_array();
        let all = all.into_iter().flatten();
        all.filter_map(|one| one["type"].as_str().map(str::to_owned))
            .collect()
    };
    let order: Vec<_> = world
        .writes
        .iter()
        .map(|(method, _, body)| (*method, types(body)))
        .collect();
    let both = vec!["SuccessCriteriaMet".to_owned(), "Complete".to_owned()];
    assert_eq!(
        order,
        [
            (Method::Put, vec!["SuccessCriteriaMet".to_owned()]),
            (Method::Patch, vec![]),
            (Method::Put, both),
        ]
    );
    let seen = status(&world);
    assert_eq!(seen.completion_time.map(|time| time.0), Some(world.now));
    assert_eq!(
        seen.start_time.map(|time| time.0),
        Some(at("2026-03-01T11:00:00Z"))
    );
    assert_eq!(
        last_condition(&world),
        (
            "CompletionsReached".to_owned(),
            "Reached expected number of succeeded pods".to_owned()
        )
    );
    assert_eq!(world.take_reasons(), ["Completed"]);
    // It is over: nothing is looked at any more.
    world.writes.clear();
    assert_eq!(sync(&mut world), None);
    assert!(world.writes.is_empty());
}

#[test]
fn zeros_are_left_out_as_go_does() {
    let mut world = world(job(json!({"parallelism": 0, "completions": 3})), []);
    sync(&mut world);
    let (_, _, body) = &world.writes[0];
    assert_eq!(
        body["status"],
        json!({
            "ready": 0, "terminating": 0, "startTime": "2026-03-01T12:00:00Z",
            "uncountedTerminatedPods": {},
        })
    );
}

#[test]
fn too_many_successes_are_told() {
    let mut world = world(
        job(json!({"completions": 1})),
        [pod("a", "Succeeded"), pod("b", "Succeeded")],
    );
    sync(&mut world);
    assert_eq!(world.take_reasons(), ["TooManySucceededPods", "Completed"]);
}

#[test]
fn what_ended_it_is_remembered() {
    // The reason was written; then the process ended. Nothing else is looked for.
    let mut given = job(json!({"completions": 5, "backoffLimit": 0}));
    given["status"] = json!({"conditions": [{
        "type": "FailureTarget", "status": "True", "reason": "PodFailurePolicy", "message": "why",
    }]});
    let mut first = world(given.clone(), [pod("a", "Failed")]);
    sync(&mut first);
    assert_eq!(conditions(&first), ["FailureTarget", "Failed"]);
    assert_eq!(
        last_condition(&first),
        ("PodFailurePolicy".to_owned(), "why".to_owned())
    );
    assert_eq!(first.take_reasons(), ["PodFailurePolicy"]);
    // Success that was found stays success.
    given["status"]["conditions"][0]["type"] = json!("SuccessCriteriaMet");
    let mut second = world(given, [pod("a", "Failed")]);
    sync(&mut second);
    assert_eq!(conditions(&second), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(second.take_reasons(), ["Completed"]);
}
