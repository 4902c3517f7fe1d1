//! Every recorded case must come out as recorded, family by family.

mod semantics;

use std::path::Path;
use stowplan_oracle::{cases, queue_cases, run_case};

fn check(family: &str, cases_min: usize) {
    check_with(family, cases_min, run_case);
}

fn check_with(
    family: &str,
    cases_min: usize,
    run_case: impl Fn(&serde_json::Value) -> Vec<String>,
) {
    let file = format!("{}/cases/{family}.jsonl.zst", env!("CARGO_MANIFEST_DIR"));
    let mut ran = 0;
    let mut differing = Vec::new();
    for case in cases::read(Path::new(&file)).expect("the cases are part of the repository") {
        let case = case.expect("a case is a JSON object");
        ran += 1;
        if let Some(first) = run_case(&case).first() {
            differing.push(format!("{}: {first}", case["name"]));
        }
    }
    assert!(ran >= cases_min, "only {ran} cases of {family}");
    assert!(
        differing.is_empty(),
        "{} of {ran} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

macro_rules! families {
    ($($family:ident)*) => {
        $(#[test] fn $family() { check(stringify!($family), 300); })*
    };
}

families! {
    images interpod mixed nodeaffinity ports preemption queue resources spread strategies taints volumes
}

/// The queue by itself: what plugins say is taken from the recording.
#[test]
fn queue_with_recorded_hints() {
    let run = |case: &_| queue_cases::run_case_with(case, queue_cases::Hints::Recorded);
    check_with("queue", 300, run);
}
