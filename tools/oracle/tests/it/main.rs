//! Every recorded case must come out as recorded, family by family, on both paths.

mod semantics;

use std::path::Path;
use stowplan_engine::fast::Path as DecisionPath;
use stowplan_oracle::{BOTH_PATHS, cases, queue_cases, run_case};

fn check(path: &str, cases_min: usize) {
    check_with(path, cases_min, |case| run_case(case, BOTH_PATHS));
}

fn check_with(path: &str, cases_min: usize, run_case: impl Fn(&serde_json::Value) -> Vec<String>) {
    let file = format!("{}/{path}.jsonl.zst", env!("CARGO_MANIFEST_DIR"));
    let mut ran = 0;
    let mut differing = Vec::new();
    for case in cases::read(Path::new(&file)).expect("the cases are part of the repository") {
        let case = case.expect("a case is a JSON object");
        ran += 1;
        if let Some(first) = run_case(&case).first() {
            differing.push(format!("{}: {first}", case["name"]));
        }
    }
    assert!(ran >= cases_min, "only {ran} cases in {file}");
    assert!(
        differing.is_empty(),
        "{} of {ran} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

macro_rules! families {
    ($($family:ident)*) => {
        $(#[test] fn $family() { check(concat!("cases/", stringify!($family)), 300); })*
    };
}

families! {
    images interpod mixed nodeaffinity ports preemption queue resources spread strategies taints volumes
}

/// The queue by itself: what plugins say is taken from the recording.
#[test]
fn queue_with_recorded_hints() {
    let hints = queue_cases::Hints::Recorded;
    let run = |case: &_| queue_cases::run_case_with(case, hints, DecisionPath::Fast);
    check_with("cases/queue", 300, run);
}

/// Decisions that once came out wrong, recorded from kube-scheduler v1.36.4 like the others: a
/// nominated node outside the nodes that PreFilter left, errors in Score and in preemption's dry
/// run, plugins whose PreFilter or PreScore is disabled, sums that overflow.
#[test]
fn found() {
    check("tests/it/found", 21);
}
