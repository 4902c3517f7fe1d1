//! Whole lives of Jobs, with somebody who runs pods.

use super::*;

/// Lets each pod that is active end as `outcome` says, by its number in the order of their making.
fn run_pods(world: &mut World, outcome: &dyn Fn(&Pod) -> &'static str) {
    let now = world.now.to_string();
    for pod in pods(world) {
        if !crate::common::is_pod_active(&pod) {
            continue;
        }
        let name = pod.metadata.name.clone().expect("a name");
        let phase = outcome(&pod);
        world.change::<Pod>("shop", &name, |pod| {
            let code = i32::from(phase == "Failed");
            let ended = exited(super::pod("x", phase), code, &now);
            let ended: Pod = serde_json::from_value(ended).expect("a pod");
            pod.status = ended.status;
        });
    }
}

/// Runs a Job until it is over, with a second between looks.
fn live(given: Value, outcome: &dyn Fn(&Pod) -> &'static str) -> World {
    let mut world = world(given, []);
    let controller = Jobs::default();
    world.join(0, &controller);
    for _ in 0..200 {
        world.settle(&[&controller], Duration::from_secs(2));
        if !conditions(&world).is_empty() && conditions(&world).len() == 2 {
            break;
        }
        run_pods(&mut world, outcome);
        world.settle(&[&controller], Duration::from_secs(30));
    }
    world.settle(&[&controller], Duration::from_secs(5));
    world
}

#[test]
fn a_job_of_many_pods_runs_to_its_end() {
    let world = live(
        job(json!({"completions": 20, "parallelism": 4})),
        &|_| "Succeeded",
    );
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
    let seen = status(&world);
    assert_eq!(
        (seen.succeeded, seen.failed, seen.active),
        (Some(20), None, None)
    );
    assert_eq!(pods(&world).len(), 20);
    assert_eq!(world.errors, [""; 0]);
    let held = pods(&world)
        .iter()
        .filter(|pod| spec::has_tracking_finalizer(pod))
        .count();
    assert_eq!(held, 0);
}

#[test]
fn a_queue_runs_to_its_end() {
    let world = live(job(json!({"parallelism": 3})), &|_| "Succeeded");
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(status(&world).succeeded, Some(3));
}

#[test]
fn a_job_that_always_fails_gives_up() {
    let world = live(
        job(json!({"completions": 2, "backoffLimit": 3})),
        &|_| "Failed",
    );
    assert_eq!(conditions(&world), ["FailureTarget", "Failed"]);
    assert_eq!(last_condition(&world).0, "BackoffLimitExceeded");
    let seen = status(&world);
    assert_eq!((seen.failed, seen.succeeded), (Some(4), None));
    assert_eq!(seen.completion_time, None);
    assert_eq!(pods(&world).len(), 4);
}

#[test]
fn an_indexed_job_runs_to_its_end() {
    let world = live(indexed(7, 3), &|_| "Succeeded");
    let seen = status(&world);
    assert_eq!(seen.completed_indexes.as_deref(), Some("0-6"));
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
}

#[test]
fn odd_indices_fail_and_the_others_are_done_all_the_same() {
    let mut given = indexed(4, 2);
    given["spec"]["backoffLimitPerIndex"] = json!(1);
    given["spec"]["backoffLimit"] = json!(i32::MAX);
    let outcome = |pod: &Pod| match spec::completion_index(pod).unwrap_or(0) % 2 {
        0 => "Succeeded",
        _ => "Failed",
    };
    let world = live(given, &outcome);
    let seen = status(&world);
    assert_eq!(seen.completed_indexes.as_deref(), Some("0,2"));
    assert_eq!(seen.failed_indexes.as_deref(), Some("1,3"));
    assert_eq!((seen.succeeded, seen.failed), (Some(2), Some(4)));
    assert_eq!(last_condition(&world).0, "FailedIndexes");
    let counts: Vec<_> = pods(&world)
        .iter()
        .map(|pod| {
            let annotations = pod.metadata.annotations.clone().expect("annotations");
            annotations["batch.kubernetes.io/job-index-failure-count"].clone()
        })
        .collect();
    assert_eq!(counts.iter().filter(|count| *count == "1").count(), 2);
}

#[test]
fn a_thousand_pods_take_few_writes() {
    let world = live(indexed(1_000, 1_000), &|_| "Succeeded");
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(status(&world).completed_indexes.as_deref(), Some("0-999"));
    assert_eq!(count(&world, Method::Post, "/pods"), 1_000);
    assert_eq!(count(&world, Method::Patch, "/pods"), 1_000);
    assert!(count(&world, Method::Put, "/status") < 12);
}
