//! Indexed Jobs.

use super::*;

fn index_of(pod: &Pod) -> i64 {
    super::spec::completion_index(pod).expect("an index")
}

/// The indices of pods that were made.
fn made(world: &World) -> Vec<i64> {
    let new = pods(world);
    let mut all: Vec<i64> = new
        .iter()
        .filter(|pod| pod.metadata.generate_name.is_some())
        .map(|pod| index_of(pod))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn the_first_indices_that_are_free_are_taken() {
    for (completions, parallelism, done, there, indexes) in [
        (5, 2, "", &[][..], &[0, 1][..]),
        (3, 5, "", &[], &[0, 1, 2]),
        (10, 3, "", &[(0, "Running"), (2, "Running")], &[1]),
        (10, 4, "0-2,5", &[(3, "Running"), (7, "Running")], &[4, 6]),
        (4, 4, "1", &[(0, "Failed"), (2, "Succeeded")], &[0, 3]),
    ] {
        let mut given = indexed(completions, parallelism);
        given["status"] = json!({"completedIndexes": done});
        let there = there.iter().map(|(index, phase)| {
            let long_ago = "2026-03-01T11:00:00Z";
            with_index(
                exited(pod(&format!("p{index}"), phase), 1, long_ago),
                *index,
            )
        });
        let mut world = world(given, there);
        sync(&mut world);
        assert_eq!(made(&world), indexes, "{done}");
    }
}

#[test]
fn indices_that_succeed_are_written_once() {
    let mut given = indexed(6, 1);
    given["status"] = json!({"active": 1});
    let mut world = world(
        given,
        [
            with_index(pod("a", "Succeeded"), 1),
            with_index(pod("b", "Succeeded"), 3),
            with_index(pod("c", "Succeeded"), 3),
            with_index(pod("d", "Running"), 5),
            pod("e", "Succeeded"),
            with_index(pod("f", "Succeeded"), 9),
        ],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!(seen.completed_indexes.as_deref(), Some("1,3"));
    assert_eq!((seen.succeeded, seen.failed), (Some(2), None));
    assert_eq!(count(&world, Method::Patch, "/pods"), 5);
    assert_eq!(count(&world, Method::Put, "/status"), 1);
}

#[test]
fn past_and_new_indices() {
    let mut given = indexed(7, 0);
    given["status"] = json!({"failed": 2, "succeeded": 5, "completedIndexes": "0-2,4,6,7"});
    let mut world = world(
        given,
        [
            without_finalizer(with_index(pod("a", "Succeeded"), 0)),
            without_finalizer(with_index(pod("b", "Failed"), 1)),
            with_index(pod("c", "Succeeded"), 1),
            with_index(pod("d", "Succeeded"), 3),
            with_index(pod("e", "Failed"), 2),
            with_index(pod("f", "Failed"), 5),
            // Failures of no index do not count.
            pod("g", "Failed"),
        ],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!(seen.completed_indexes.as_deref(), Some("0-4,6"));
    assert_eq!((seen.succeeded, seen.failed), (Some(6), Some(4)));
}

#[test]
fn pods_of_the_same_index_or_of_none_go() {
    let mut world = world(
        indexed(3, 3),
        [
            with_index(pod("a", "Running"), 0),
            with_index(pod("b", "Pending"), 0),
            with_index(pod("c", "Running"), 1),
            with_index(pod("d", "Running"), 5),
            pod("e", "Running"),
        ],
    );
    sync(&mut world);
    let deletes = world
        .writes
        .iter()
        .filter(|write| write.0 == Method::Delete);
    let mut names: Vec<_> = deletes
        .map(|write| write.1.rsplit('/').next().unwrap_or(""))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["b", "d", "e"]);
    // Pods are deleted first, and made the next time.
    assert_eq!(count(&world, Method::Post, "/pods"), 0);
}

#[test]
fn a_job_that_grows_and_shrinks() {
    let mut world = world(indexed(2, 2), []);
    let controller = Jobs::default();
    world.sync(&controller, "shop", NAME);
    assert_eq!(made(&world), [0, 1]);
    world.change::<Job>("shop", NAME, |job| {
        let spec = job.spec.as_mut().expect("a spec");
        (spec.completions, spec.parallelism) = (Some(4), Some(4));
    });
    world.sync(&controller, "shop", NAME);
    assert_eq!(made(&world), [0, 1, 2, 3]);
    // Index 3 succeeds and is then not asked for any more.
    let name = pods(&world)[3].metadata.name.clone().expect("a name");
    world.change::<Pod>("shop", &name, |pod| {
        pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
    });
    world.sync(&controller, "shop", NAME);
    assert_eq!(status(&world).completed_indexes.as_deref(), Some("3"));
    world.change::<Job>("shop", NAME, |job| {
        let spec = job.spec.as_mut().expect("a spec");
        (spec.completions, spec.parallelism) = (Some(1), Some(1));
    });
    world.sync(&controller, "shop", NAME);
    let seen = status(&world);
    assert_eq!((seen.completed_indexes, seen.succeeded), (None, None));
    assert_eq!(seen.active, Some(1));
}

fn per_index(completions: i32, limit: i32, max: Option<i32>) -> Value {
    let mut given = indexed(completions, completions);
    given["spec"]["backoffLimitPerIndex"] = json!(limit);
    given["spec"]["maxFailedIndexes"] = json!(max);
    given["spec"]["backoffLimit"] = json!(i32::MAX);
    given
}

fn failed(name: &str, index: i64, failures: i32) -> Value {
    let mut pod = with_index(
        exited(pod(name, "Failed"), 1, "2026-03-01T11:00:00Z"),
        index,
    );
    pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] =
        json!(failures.to_string());
    pod
}

#[test]
fn an_index_fails_when_it_has_failed_too_often() {
    let mut world = world(
        per_index(3, 1, None),
        [
            failed("a", 0, 0),
            failed("b", 1, 1),
            with_index(pod("c", "Running"), 2),
        ],
    );
    sync(&mut world);
    assert_eq!(status(&world).failed_indexes.as_deref(), Some("1"));
    // The other one is tried again, and its pod says how often that was.
    assert_eq!(made(&world), [0]);
    let new = pods(&world)
        .into_iter()
        .find(|pod| pod.metadata.generate_name.is_some());
    let annotations = new
        .expect("a pod")
        .metadata
        .annotations
        .clone()
        .expect("annotations");
    assert_eq!(
        annotations["batch.kubernetes.io/job-index-failure-count"],
        "1"
    );
    assert_eq!(conditions(&world), [""; 0]);
    // Until it is made, the one before is kept.
    assert_eq!(status(&world).failed, Some(1));
    sync(&mut world);
    assert_eq!(status(&world).failed, Some(2));
}

#[test]
fn each_index_waits_for_itself() {
    // 40 s after the third failure, 30 s ago.
    let late = |name, index| {
        let mut pod = failed(name, index, 2);
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] =
            json!("2026-03-01T11:59:30Z");
        pod
    };
    let mut first = world(per_index(2, 6, None), [late("a", 0), failed("b", 1, 0)]);
    sync(&mut first);
    assert_eq!(made(&first), [1]);
    let mut second = world(
        per_index(2, 6, None),
        [late("a", 0), with_index(pod("b", "Running"), 1)],
    );
    assert_eq!(sync(&mut second), Some(Duration::from_secs(10)));
    assert_eq!(made(&second), [0_i64; 0]);
    second.pass(Duration::from_secs(10));
    sync(&mut second);
    assert_eq!(made(&second), [0]);
}

#[test]
fn all_indices_are_tried_though_some_fail() {
    let mut world = world(
        per_index(3, 0, None),
        [
            failed("a", 0, 0),
            failed("b", 2, 0),
            with_index(pod("c", "Succeeded"), 1),
        ],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!(seen.failed_indexes.as_deref(), Some("0,2"));
    assert_eq!(seen.completed_indexes.as_deref(), Some("1"));
    assert_eq!(conditions(&world), ["FailureTarget", "Failed"]);
    assert_eq!(
        last_condition(&world),
        (
            "FailedIndexes".to_owned(),
            "Job has failed indexes".to_owned()
        )
    );
    assert_eq!(world.take_reasons(), ["FailedIndexes"]);
}

#[test]
fn too_many_failed_indices_end_it() {
    let mut world = world(
        per_index(5, 0, Some(1)),
        [
            failed("a", 0, 0),
            failed("b", 1, 0),
            with_index(pod("c", "Running"), 2),
        ],
    );
    sync(&mut world);
    assert_eq!(conditions(&world), ["FailureTarget"]);
    let why = "Job has exceeded the specified maximal number of failed indexes";
    assert_eq!(
        last_condition(&world),
        ("MaxFailedIndexesExceeded".to_owned(), why.to_owned())
    );
    assert_eq!(count(&world, Method::Delete, "/pods"), 1);
    assert_eq!(status(&world).failed_indexes.as_deref(), Some("0,1"));
}

/// Of several failed pods, the one that failed last is kept. `TestGetPodsWithDelayedDeletionPerIndex`.
#[test]
fn only_the_last_failure_of_an_index_is_kept() {
    let mut given = per_index(3, 6, None);
    given["spec"]["parallelism"] = json!(0);
    let mut world = world(
        given,
        [
            failed("a0", 0, 0),
            failed("a1", 0, 1),
            failed("b0", 1, 0),
            with_index(pod("b1", "Succeeded"), 1),
            failed("c", 7, 0),
        ],
    );
    sync(&mut world);
    let held = pods(&world)
        .into_iter()
        .filter(|pod| super::spec::has_tracking_finalizer(pod));
    let held: Vec<_> = held.filter_map(|pod| pod.metadata.name.clone()).collect();
    assert_eq!(held, ["a1"]);
}
