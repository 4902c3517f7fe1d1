use crate::{NODES, pod, stowplan, stowplan_at, stowplan_on, with_file};
use expect_test::{expect, expect_file};
use std::fmt::Write;

#[test]
fn the_example_cluster() {
    let run = stowplan("simulate -f examples/cluster");
    expect_file!["golden/simulate.txt"].assert_eq(&run.all());
    let run = stowplan_at("160", "simulate -f examples/cluster -o wide", "");
    expect_file!["golden/simulate_wide.txt"].assert_eq(&run.all());
}

#[test]
fn tables_fit_the_terminal() {
    for args in ["", "-o wide"] {
        let run = stowplan(&format!("simulate -f examples/cluster {args}"));
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 80, "{args}: {line}");
        }
    }
    let narrow = stowplan_at("50", "simulate -f examples/cluster", "").stdout;
    let nodes: Vec<&str> = narrow.lines().filter(|line| line.contains('%')).collect();
    assert_eq!(nodes.len(), 8);
    for line in nodes {
        assert!(line.chars().count() <= 50, "{line}");
    }
}

#[test]
fn for_machines() {
    let run = stowplan("simulate -f examples/cluster -o json");
    expect_file!["golden/simulate.json"].assert_eq(&run.stdout);
    assert_eq!(run.status, 3);
    let yaml = stowplan("simulate -f examples/cluster -o yaml");
    let of_yaml: serde_json::Value = serde_yaml_ng::from_str(&yaml.stdout).expect("YAML");
    let of_json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(of_yaml, of_json);
}

#[test]
fn one_seed_one_outcome() {
    let of_seed =
        |seed: u32| stowplan(&format!("simulate -f examples/cluster --seed {seed}")).stdout;
    assert_eq!(of_seed(7), of_seed(7));
    assert!(
        (1..10).any(|seed| of_seed(seed) != of_seed(0)),
        "ties are never decided otherwise"
    );
}

#[test]
fn colours_only_where_they_belong() {
    let plain = stowplan("simulate -f examples/cluster").stdout;
    let coloured = stowplan("simulate -f examples/cluster --color always").stdout;
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn everything_fits() {
    let run = stowplan_on(
        "simulate -f -",
        format!("{NODES}{}{}", pod("a", ""), pod("b", "")),
    );
    expect![[r#"
        NAMESPACE  POD  PRIORITY  NODE
        default    a           0  n2
        default    b           0  n1

        NODE  CPU                      MEMORY                   PODS
        n1    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░  75%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%
        n2    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░  75%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%

        2 pods placed, none pending on 2 nodes
        exit status 0
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn replicas_with_one_reason_stand_together() {
    let mut input = NODES.to_owned();
    for i in 0..12 {
        let _ = write!(input, "{}", pod(&format!("p{i}"), ""));
    }
    expect![[r#"
        NAMESPACE  POD  PRIORITY  NODE
        default    p0          0  n2
        default    p1          0  n1

        PENDING
        default/p2, default/p3, default/p4, default/p5, default/p6, default/p7,
        default/p8, default/p9 and 2 more
          0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate,
          preemption: 0/2 nodes are available: 2 No preemption victims found for
          incoming pod.

        NODE  CPU                      MEMORY                   PODS
        n1    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░  75%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%
        n2    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░  75%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%

        2 pods placed, 10 pending on 2 nodes
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("simulate -f -", input).all());
}

#[test]
fn gated_pods_and_pods_of_other_schedulers_stay_pending() {
    let gated = pod("gated", ", schedulingGates: [{name: example.com/quota}]");
    let other = pod("other", ", schedulerName: mine");
    expect![[r#"
        PENDING
        default/gated
          SchedulingGated: waiting for scheduling gates: [example.com/quota]
        default/other
          OtherScheduler: left to the scheduler "mine", for which there is no profile

        NODE  CPU                      MEMORY                   PODS
        n1    ░░░░░░░░░░░░░░░░░░   0%  ░░░░░░░░░░░░░░░░░░   0%  ░░░░░░░░░░░░░░░░░░   0%
        n2    ░░░░░░░░░░░░░░░░░░   0%  ░░░░░░░░░░░░░░░░░░   0%  ░░░░░░░░░░░░░░░░░░   0%

        0 pods placed, 2 pending on 2 nodes
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("simulate -f -", format!("{NODES}{gated}{other}")).all());
}

#[test]
fn evicted_pods_of_workloads_queue_up_again() {
    let workload = "
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: low, uid: u}
spec: {replicas: 2, selector: {matchLabels: {app: low}}, template: {metadata: {labels: {app: low}}, spec: {containers: [{name: a, image: i}]}}}
---
";
    let running = |name: &str, node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: low}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: low, uid: u, controller: true}}]}}, spec: {{nodeName: {node}, containers: [{{name: a, image: i, resources: {{requests: {{cpu: 1}}}}}}]}}}}\n---\n"
        )
    };
    let input = format!(
        "{NODES}{workload}{}{}{}",
        running("low-x", "n1"),
        running("low-y", "n1"),
        pod("high", ", priority: 100")
    )
    .replace(
        "name: n2}, status: {allocatable: {cpu: 2",
        "name: n2}, status: {allocatable: {cpu: 1",
    );
    expect![[r#"
        NAMESPACE  POD    PRIORITY  NODE
        default    low-x         0  n2
        default    high        100  n1

        PREEMPTED      PRIORITY  FROM  BY
        default/low-x         0  n1    default/high (priority 100)
        default/low-y         0  n1    default/high (priority 100)

        PENDING
        default/low-y
          0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate,
          preemption: 0/2 nodes are available: 2 No preemption victims found for
          incoming pod.

        NODE  CPU                      MEMORY                   PODS
        n1    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░  75%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%
        n2    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓ 100%  ░░░░░░░░░░░░░░░░░░   0%  ▓▓░░░░░░░░░░░░░░░░  10%

        2 pods placed, 1 pending, 2 preempted on 2 nodes
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("simulate -f -", input).all());
}

#[test]
fn a_scheduler_configuration_changes_the_choice() {
    let most_allocated = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
";
    let small = |name: &str| pod(name, "").replace("1500m", "500m");
    let input = format!("{NODES}{}{}{}", small("a"), small("b"), small("c"));
    let nodes = |args: &str| {
        let run = stowplan_on(&format!("simulate -f - -o json {args}"), &input);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let placements = json["placements"].as_array().expect("a list").clone();
        let mut nodes: Vec<_> = placements.iter().map(|p| p["node"].to_string()).collect();
        nodes.sort();
        nodes.dedup();
        nodes.len()
    };
    assert_eq!(nodes(""), 2);
    with_file(most_allocated, |file| {
        assert_eq!(nodes(&format!("--config {file}")), 1);
    });
}

#[test]
fn volumes_follow_their_pods() {
    let input = "
{apiVersion: v1, kind: Node, metadata: {name: a1, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b1, labels: {topology.kubernetes.io/zone: b}}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: x, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: late, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {priority: 1, nodeSelector: {topology.kubernetes.io/zone: a}, containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: second}, spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}
";
    expect![[r#"
        NAMESPACE  POD    PRIORITY  NODE
        default    first         1  a1

        PENDING
        default/second
          0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match
          PersistentVolume's node affinity. no new claims to deallocate, preemption: 0/2
          nodes are available: 1 No preemption victims found for incoming pod, 1
          Preemption is not helpful for scheduling.

        NODE  CPU                      MEMORY                   PODS
        a1    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓ 100%                        -  ▓▓░░░░░░░░░░░░░░░░  10%
        b1    ░░░░░░░░░░░░░░░░░░   0%                        -  ░░░░░░░░░░░░░░░░░░   0%

        1 pod placed, 1 pending on 2 nodes
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("simulate -f -", input).all());
}
