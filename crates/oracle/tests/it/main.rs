//! Every recorded case must come out as recorded, family by family.

mod semantics;

use std::path::Path;
use stowplan_oracle::{cases, run_case};

fn check(family: &str, cases_min: usize) {
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
