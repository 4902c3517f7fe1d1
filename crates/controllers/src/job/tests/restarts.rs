//! Whichever write fails, and whoever goes on, the end is the same.

use super::*;

/// How a Job came out: what the status says, and what pods are left.
fn end(world: &World) -> String {
    let seen = status(world);
    let left = pods(world).len();
    let held = pods(world)
        .iter()
        .filter(|pod| spec::has_tracking_finalizer(pod))
        .count();
    format!(
        "{:?} succeeded {:?} failed {:?} active {:?} indexes {:?} {:?}, {left} pods, {held} held",
        conditions(world),
        seen.succeeded,
        seen.failed,
        seen.active,
        seen.completed_indexes,
        seen.failed_indexes,
    )
}

/// Runs to the end with the n-th write failing. Tells how it came out and how many writes there were.
fn run(given: &Value, there: &[Value], failing: usize, code: u16) -> (String, usize) {
    let mut world = world(given.clone(), there.iter().cloned());
    let written = std::rc::Rc::new(std::cell::Cell::new(0));
    let counter = written.clone();
    world.refuse(move |_| {
        counter.set(counter.get() + 1);
        (counter.get() == failing).then(|| refused(code))
    });
    for _ in 0..6 {
        // A new process each time: nothing is remembered.
        sync(&mut world);
        let terminating: Vec<_> = pods(&world)
            .iter()
            .filter(|pod| crate::common::is_pod_terminating(pod))
            .filter_map(|pod| pod.metadata.name.clone())
            .collect();
        for name in terminating {
            match spec::has_tracking_finalizer(&world.get::<Pod>("shop", &name)) {
                true => world.change::<Pod>("shop", &name, |pod| {
                    pod.status.get_or_insert_default().phase = Some("Failed".to_owned());
                    pod.metadata.deletion_grace_period_seconds = Some(0);
                }),
                false => world.remove::<Pod>("shop", &name),
            }
        }
    }
    (end(&world), written.get())
}

#[test]
fn jobs_end_the_same_whatever_fails() {
    let long_ago = "2026-03-01T11:00:00Z";
    let failed = |name: &str| exited(pod(name, "Failed"), 1, long_ago);
    let plain = job(json!({"completions": 3, "parallelism": 1}));
    let mut strict = plain.clone();
    strict["spec"]["backoffLimit"] = json!(0);
    let mut suspended = plain.clone();
    suspended["spec"]["suspend"] = json!(true);
    let mut parts = indexed(3, 3);
    parts["spec"]["backoffLimitPerIndex"] = json!(0);
    let succeeded = |name: &str| pod(name, "Succeeded");
    let cases = [
        (
            plain.clone(),
            vec![succeeded("a"), succeeded("b"), succeeded("c"), failed("d")],
        ),
        (
            plain,
            vec![succeeded("a"), pod("b", "Running"), failed("c")],
        ),
        (
            strict,
            vec![succeeded("a"), failed("b"), pod("c", "Running")],
        ),
        (suspended, vec![succeeded("a"), pod("b", "Running")]),
        (
            parts,
            vec![
                with_index(succeeded("a"), 0),
                with_index(failed("b"), 1),
                with_index(pod("c", "Succeeded"), 2),
            ],
        ),
    ];
    for (number, (given, there)) in cases.iter().enumerate() {
        let (expected, writes) = run(given, there, usize::MAX, 0);
        assert!(writes > 2, "case {number}: {writes} writes");
        for failing in 1..=writes {
            for code in [0, 409, 500] {
                let (found, _) = run(given, there, failing, code);
                assert_eq!(
                    found, expected,
                    "case {number}, write {failing}, code {code}"
                );
            }
        }
    }
}
