//! `simulate --pack`, and profiles that pack.

use crate::{NODES, pod, stowplan, stowplan_on, with_file};
use expect_test::{expect, expect_file};
use serde_json::Value;

const POLICIES: [&str; 6] = [
    "first-fit",
    "best-fit",
    "worst-fit",
    "first-fit-decreasing",
    "most-allocated",
    "least-allocated",
];

#[test]
fn all_policies_side_by_side() {
    let run = stowplan("simulate -f examples/packing --pack all");
    expect![[r#"
        PACKING             NODES USED  LOWER BOUND  PENDING  CPU  MEMORY
        FirstFit              10 of 12  7 (cpu)            0  63%     48%
        BestFit                9 of 12  7 (cpu)            0  70%     52%
        WorstFit              12 of 12  7 (cpu)            0  53%     40%
        FirstFitDecreasing     7 of 12  7 (cpu)            0  89%     67%
        MostAllocated          9 of 12  7 (cpu)            0  70%     52%
        LeastAllocated        12 of 12  7 (cpu)            0  53%     40%
        NODES USED: those with more than DaemonSets' pods; CPU, MEMORY: of these nodes
        exit status 0
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn one_policy() {
    let run = stowplan("simulate -f examples/packing --pack first-fit-decreasing");
    expect_file!["golden/simulate_pack.txt"].assert_eq(&run.all());
}

#[test]
fn for_machines() {
    let document = |args: &str| -> Value {
        let run = stowplan(&format!("simulate -f examples/packing -o json {args}"));
        serde_json::from_str(&run.stdout).expect("JSON")
    };
    let all = document("--pack all");
    assert_eq!(all["kind"], "PackingComparison");
    let policies = all["policies"].as_array().expect("a list");
    for (policy, name) in policies.iter().zip(POLICIES) {
        let mut one = document(&format!("--pack {name}"));
        let mut packing = one["packing"].take();
        packing["summary"] = one["summary"].take();
        assert_eq!(*policy, packing);
        let number = |field: &str| policy[field].as_u64().expect("a number");
        assert!(number("nodesUsed") >= number("lowerBound"));
    }
    assert_eq!(policies.len(), POLICIES.len());
    assert_eq!(document("")["packing"], Value::Null);
}

#[test]
fn names_as_in_configuration_files_will_do() {
    let of = |policy: &str| stowplan(&format!("simulate -f examples/packing --pack {policy}"));
    assert_eq!(
        of("FirstFitDecreasing").all(),
        of("first-fit-decreasing").all()
    );
    let wrong = of("next-fit");
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.stderr.contains("first-fit-decreasing"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn pods_without_a_place_and_standard_input() {
    let pods: String = ["a", "b", "c"].map(|name| pod(name, "")).concat();
    let run = stowplan_on("simulate -f - --pack all", format!("{NODES}{pods}"));
    expect![[r#"
        PACKING             NODES USED  LOWER BOUND  PENDING  CPU  MEMORY
        FirstFit                2 of 2  2 (cpu)            1  75%      0%
        BestFit                 2 of 2  2 (cpu)            1  75%      0%
        WorstFit                2 of 2  2 (cpu)            1  75%      0%
        FirstFitDecreasing      2 of 2  2 (cpu)            1  75%      0%
        MostAllocated           2 of 2  2 (cpu)            1  75%      0%
        LeastAllocated          2 of 2  2 (cpu)            1  75%      0%
        NODES USED: those with more than DaemonSets' pods; CPU, MEMORY: of these nodes
        exit status 3
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn nothing_to_pack() {
    let run = stowplan_on("simulate -f - --pack all", NODES);
    expect![[r#"
        PACKING             NODES USED  LOWER BOUND  PENDING  CPU  MEMORY
        FirstFit                0 of 2  0                  0    -       -
        BestFit                 0 of 2  0                  0    -       -
        WorstFit                0 of 2  0                  0    -       -
        FirstFitDecreasing      0 of 2  0                  0    -       -
        MostAllocated           0 of 2  0                  0    -       -
        LeastAllocated          0 of 2  0                  0    -       -
        NODES USED: those with more than DaemonSets' pods; CPU, MEMORY: of these nodes
        exit status 0
    "#]]
    .assert_eq(&run.all());
    let run = stowplan_on("simulate -f - --pack best-fit", pod("a", ""));
    expect![[r#"
        warning: there are no nodes in the input, so nothing can be placed
        PENDING
        default/a
          no nodes available to schedule pods

        PACKING  NODES USED  LOWER BOUND  PENDING  CPU  MEMORY
        BestFit      0 of 0  0                  1    -       -
        NODES USED: those with more than DaemonSets' pods; CPU, MEMORY: of these nodes

        0 pods placed, 1 pending on 0 nodes
        exit status 3
    "#]]
    .assert_eq(&run.all());
}

/// A profile that packs.
fn profile(policy: &str) -> String {
    format!(
        "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      enabled: [{{name: BinPacking}}]
  pluginConfig:
  - name: BinPacking
    args: {{policy: {policy}}}
"
    )
}

#[test]
fn a_profile_that_packs() {
    with_file(&profile("FirstFit"), |file| {
        let by_profile = stowplan(&format!("simulate -f examples/packing --config {file}"));
        let by_flag = stowplan("simulate -f examples/packing --pack first-fit");
        assert_eq!(by_profile.all(), by_flag.all());
        let run = stowplan(&format!(
            "explain job/model -n batch -f examples/packing --config {file} --after-simulation"
        ));
        expect![[r#"
            batch/model-6  one more pod of Job batch/model
            priority 0, asks for cpu 4, memory 4Gi

            NODE        TOTAL  PACKING
            ★ batch-11    -10    -10×1
              batch-12    -11    -11×1
            BinPacking (FirstFit) takes the place of all scores: the node that arrived first
            wins

            REJECTED  BY                REASON
            batch-01  NodeResourcesFit  Insufficient memory
            batch-02  NodeResourcesFit  Insufficient cpu, Insufficient memory
            batch-03  NodeResourcesFit  Insufficient cpu, Insufficient memory
            batch-04  NodeResourcesFit  Insufficient cpu
            batch-05  NodeResourcesFit  Insufficient cpu
            batch-06  NodeResourcesFit  Insufficient cpu
            batch-07  NodeResourcesFit  Insufficient cpu
            batch-08  NodeResourcesFit  Insufficient cpu
            batch-09  NodeResourcesFit  Insufficient cpu
            batch-10  NodeResourcesFit  Insufficient cpu

            fits on 2 of 12 nodes, best is batch-11
            exit status 0
        "#]]
        .assert_eq(&run.all());
        let both = "simulate -f examples/packing --pack worst-fit";
        assert_eq!(
            stowplan(&format!("{both} --config {file}")).all(),
            stowplan(both).all(),
            "the command line has the last word"
        );
    });
}

#[test]
fn a_policy_that_does_not_exist() {
    with_file(&profile("NextFit"), |file| {
        let run = stowplan(&format!("simulate -f examples/packing --config {file}"));
        assert_eq!(run.status, 1);
        expect![[r#"
            error: FILE: profiles[0].pluginConfig[0].args.policy: Unsupported value: "NextFit": supported values: "FirstFit", "BestFit", "WorstFit", "FirstFitDecreasing"
        "#]].assert_eq(&run.stderr.replace(file, "FILE"));
    });
}

#[test]
fn tables_fit_the_terminal() {
    for args in ["--pack all", "--pack best-fit", "--pack best-fit -o wide"] {
        let run = stowplan(&format!("simulate -f examples/packing {args}"));
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 80, "{args}: {line}");
        }
    }
}
