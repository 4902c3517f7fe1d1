use crate::{stowplan, stowplan_on};
use expect_test::{expect, expect_file};

const DRAIN: &str = "drain --dry-run -f examples/cluster";

#[test]
fn what_kubectl_would_refuse() {
    let run = stowplan(&format!("{DRAIN} worker-a1"));
    expect_file!["golden/drain_refused.txt"].assert_eq(&run.all());
}

#[test]
fn a_budget_that_blocks_for_ever() {
    let run = stowplan(&format!("{DRAIN} worker-a1 --force --ignore-daemonsets"));
    expect_file!["golden/drain_blocked.txt"].assert_eq(&run.all());
}

#[test]
fn pods_that_go_elsewhere() {
    let run = stowplan(&format!("{DRAIN} worker-c2 --ignore-daemonsets"));
    expect_file!["golden/drain.txt"].assert_eq(&run.all());
    let run = stowplan(&format!("{DRAIN} worker-c2 --ignore-daemonsets -o json"));
    expect_file!["golden/drain.json"].assert_eq(&run.stdout);
}

#[test]
fn all_nodes_of_a_zone() {
    let flags = "--ignore-daemonsets --force --grace-period 5 --startup 10s --disable-eviction";
    let run = stowplan(&format!(
        "{DRAIN} -l topology.kubernetes.io/zone=b,!accelerator {flags}"
    ));
    expect_file!["golden/drain_zone.txt"].assert_eq(&run.all());
}

#[test]
fn pods_by_their_labels() {
    let run = stowplan(&format!("{DRAIN} worker-a1 --pod-selector app=metrics"));
    expect![[r#"
        cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore):
        research/metrics-worker-a1

        POD                         GOES TO  WHEN  WHY
        research/metrics-worker-a1  stays          DaemonSet-managed Pods (use
                                                   --ignore-daemonsets to ignore)

        would not begin as things are; 1 pod is refused
        exit status 3
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn what_is_not_there() {
    let run = stowplan(&format!("{DRAIN} worker-z9"));
    expect![[r#"
        error: nodes "worker-z9" not found
        exit status 1
    "#]]
    .assert_eq(&run.all());
    let run = stowplan_on("drain --dry-run -f - -l zone=z", crate::NODES);
    expect![[r#"
        error: no node has the labels "zone=z"
        exit status 1
    "#]]
    .assert_eq(&run.all());
}

/// Three replicas with a budget of two, two of them on the node.
const BUDGET: &str = "
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: '', controller: true}]}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: '', controller: true}]}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-2, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: '', controller: true}]}, spec: {nodeName: n2, containers: [{name: c, image: i}]}}
---
";

#[test]
fn a_budget_that_makes_it_wait() {
    let cluster = [crate::NODES, BUDGET].concat();
    let run = stowplan_on("drain --dry-run n1 -f -", &cluster);
    expect![[r#"
        POD            GOES TO  WHEN        WHY
        default/web-0  n2       0s → 30s
        default/web-1  n2       30s → 1m0s  waits 30s for the budget default/web:
                                            minAvailable 2, 2 of 3 healthy

        would take about 1m0s
        taken for granted: pods take their whole grace period to end, and 30s to become
        ready (--startup)
        exit status 0
    "#]]
    .assert_eq(&run.all());
}
