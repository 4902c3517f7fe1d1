use crate::{stowplan, stowplan_at, stowplan_on};
use expect_test::{expect, expect_file};

#[test]
fn a_pending_pod() {
    let run = stowplan("explain shop/checkout-2 -f examples/cluster");
    expect_file!["golden/explain.txt"].assert_eq(&run.all());
    let run = stowplan_at(
        "160",
        "explain checkout-2 -n shop -f examples/cluster -o wide",
        "",
    );
    expect_file!["golden/explain_wide.txt"].assert_eq(&run.all());
    let run = stowplan("explain shop/checkout-2 -f examples/cluster -o json");
    expect_file!["golden/explain.json"].assert_eq(&run.stdout);
}

#[test]
fn a_pod_that_fits_nowhere() {
    let run = stowplan("explain research/finetune-0 -f examples/cluster");
    expect_file!["golden/explain_nowhere.txt"].assert_eq(&run.all());
}

#[test]
fn a_bound_pod() {
    let run = stowplan("explain shop/search-0 -f examples/cluster");
    expect_file!["golden/explain_bound.txt"].assert_eq(&run.all());
}

#[test]
fn one_more_pod_of_a_workload() {
    let run = stowplan("explain deployment/web -n shop -f examples/cluster --after-simulation");
    expect_file!["golden/explain_one_more.txt"].assert_eq(&run.all());
}

#[test]
fn one_node() {
    let run = stowplan("explain shop/web-0 -f examples/cluster --node worker-b1");
    expect_file!["golden/explain_node.txt"].assert_eq(&run.all());
    let run = stowplan("explain shop/web-0 -f examples/cluster --node worker-b2");
    expect_file!["golden/explain_node_rejected.txt"].assert_eq(&run.all());
}

const CLUSTER: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: kept}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: kept, labels: {app: kept}}, spec: {nodeName: n1, priority: 1, containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: old}, spec: {nodeName: n2, priority: 2, containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priority: 9, containers: [{name: a, image: i, resources: {requests: {cpu: 2}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated}, spec: {schedulingGates: [{name: wait}], containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lost-claim}, spec: {containers: [{name: a, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: nope}}]}}
";

#[test]
fn what_preemption_tries() {
    let run = stowplan_on("explain high -f -", CLUSTER);
    expect![[r#"
        default/high  pending
        priority 9, asks for cpu 2

        REJECTED  BY                REASON
        n1        NodeResourcesFit  Insufficient cpu
        n2        NodeResourcesFit  Insufficient cpu
        n3        NodeResourcesFit  Insufficient cpu

        PREEMPTION  WOULD EVICT   PROTECTED  NOTE
        n2          default/old           0  taken (fewest protected pods)
        n1          default/kept          1
        preemption cannot help on 1 node

        fits nowhere now, but on n2 once its victims are gone
          0/3 nodes are available: 3 Insufficient cpu.

        WHAT WOULD MAKE IT FIT
        - have 1 more cpu free on n1
        - have 1 more cpu free on n2
        - move default/kept away from n1
        - move default/old away from n2
        - add a node like n1
        exit status 3
    "#]]
    .assert_eq(&run.all());
    let run = stowplan_on("explain high -f - --node n1", CLUSTER);
    expect![[r#"
        default/high  pending
        priority 9, asks for cpu 2

        n1 is rejected by NodeResourcesFit

        FILTER                VERDICT
        NodeUnschedulable     ✓
        NodeName              ✓
        TaintToleration       ✓
        NodeResourcesFit      ✗ Insufficient cpu
        NodeAffinity          nothing to check
        NodePorts             nothing to check
        VolumeRestrictions    nothing to check
        NodeVolumeLimits      nothing to check
        VolumeBinding         nothing to check
        VolumeZone            nothing to check
        PodTopologySpread     nothing to check
        InterPodAffinity      nothing to check
        DynamicResources      nothing to check
        NodeDeclaredFeatures  nothing to check

        PREEMPTION
          would evict default/kept
          of which budgets protect 1

        fits nowhere now, but on n2 once its victims are gone
          0/3 nodes are available: 3 Insufficient cpu.
        exit status 3
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn pods_that_no_node_is_asked_for() {
    expect![[r#"
        default/gated  pending
        priority 0, asks for nothing

        is not tried yet
          SchedulingGates: waiting for scheduling gates: [wait]

        WHAT WOULD MAKE IT FIT
        - remove the pod's gate wait (3 nodes)
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("explain gated -f -", CLUSTER).all());
    expect![[r#"
        default/lost-claim  pending
        priority 0, asks for nothing

        fits nowhere
          VolumeRestrictions: persistentvolumeclaim "nope" not found
          0/3 nodes are available: persistentvolumeclaim "nope" not found. not found

        WHAT WOULD MAKE IT FIT
        no single change that is known
        exit status 3
    "#]]
    .assert_eq(&stowplan_on("explain lost-claim -f -", CLUSTER).all());
}

/// Two nodes in a zone, with pods in the way of others.
const IN_THE_WAY: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: a}}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOncePod], capacity: {storage: 1Gi}, hostPath: {path: /v}, claimRef: {namespace: default, name: only}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: only, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}, spec: {accessModes: [ReadWriteOncePod], volumeName: v, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {nodeName: n1, containers: [{name: a, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: only}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: shy}, spec: {containers: [{name: a, image: i}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: next}, spec: {containers: [{name: a, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: only}}]}}
";

#[test]
fn pods_that_are_in_the_way() {
    let what_would_help = |pod: &str| {
        let run = stowplan_on(&format!("explain {pod} -f -"), IN_THE_WAY);
        let all = run.all();
        let at = all.find("WHAT WOULD").unwrap_or_default();
        all[at..].to_owned()
    };
    expect![[r#"
        WHAT WOULD MAKE IT FIT
        - move default/web away from all nodes with zone=a (2 nodes)
        exit status 3
    "#]]
    .assert_eq(&what_would_help("shy"));
    expect![[r#"
        WHAT WOULD MAKE IT FIT
        - remove default/web (2 nodes)
        exit status 3
    "#]]
    .assert_eq(&what_would_help("next"));
}

#[test]
fn pods_and_nodes_that_are_not_there() {
    for (args, expected) in [
        ("explain nope -f -", "error: no pod \"nope\" in the input\n"),
        (
            "explain high -n shop -f -",
            "error: no pod \"high\" in the input, but there is default/high\n",
        ),
        (
            "explain deployment/web -f -",
            "error: no Deployment default/web in the input\n",
        ),
        (
            "explain high --node n9 -f -",
            "error: no node \"n9\" in the input\n",
        ),
        (
            "explain a/b/c -f -",
            "error: \"a/b/c\" is no pod's name, expected NAME, NAMESPACE/NAME or KIND/NAME\n",
        ),
    ] {
        let run = stowplan_on(args, CLUSTER);
        assert_eq!(run.stderr, expected, "{args}");
        assert_eq!((run.stdout.as_str(), run.status), ("", 1), "{args}");
    }
}

#[test]
fn the_pod_may_stand_behind_the_files() {
    let run = stowplan("explain -f examples/cluster shop/web-0");
    assert!(
        run.stdout.starts_with("shop/web-0  pending\n"),
        "{}",
        run.all()
    );
}
