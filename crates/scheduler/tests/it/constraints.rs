//! Each kind of constraint once.

use crate::cluster::{Cluster, asks};
use serde_json::{Value, json};

/// Where a pod with this spec goes in a cluster of these nodes (name, labels, spec), in which a pod
/// labelled `app: other` is on the node `a`.
async fn goes_to(nodes: &[(&str, Value, Value)], spec: Value) -> String {
    let cluster = Cluster::new().await;
    for (name, labels, spec) in nodes {
        cluster.node(name, labels.clone(), spec.clone()).await;
    }
    let other = json!({"nodeName": "a", "containers": asks("100m")});
    cluster
        .labelled_pod("other", json!({"app": "other"}), other)
        .await;
    let _scheduler = cluster.scheduler().await;
    cluster.labelled_pod("p", json!({"app": "p"}), spec).await;
    cluster.bound("p").await
}

fn plain(name: &str) -> (&str, Value, Value) {
    (name, json!({}), json!({}))
}

#[tokio::test]
async fn node_selector() {
    let nodes = [plain("a"), ("b", json!({"disk": "ssd"}), json!({}))];
    let spec = json!({"nodeSelector": {"disk": "ssd"}});
    assert_eq!(goes_to(&nodes, spec).await, "b");
}

#[tokio::test]
async fn node_affinity() {
    let nodes = [plain("a"), ("b", json!({"zone": "z1"}), json!({}))];
    let term = json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]});
    let required = json!({"nodeSelectorTerms": [term]});
    let spec = json!({"affinity": {"nodeAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": required}}});
    assert_eq!(goes_to(&nodes, spec).await, "b");
}

#[tokio::test]
async fn taints() {
    let taint = json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]});
    let nodes = [plain("a"), ("b", json!({}), taint)];
    assert_eq!(goes_to(&nodes, json!({})).await, "a");
    let spec = json!({"nodeSelector": {"kubernetes.io/hostname": "b"},
        "tolerations": [{"key": "k", "operator": "Exists"}]});
    assert_eq!(goes_to(&nodes, spec).await, "b");
}

#[tokio::test]
async fn unschedulable_nodes() {
    let nodes = [("a", json!({}), json!({"unschedulable": true})), plain("b")];
    assert_eq!(goes_to(&nodes, json!({})).await, "b");
}

#[tokio::test]
async fn pod_affinity_and_anti_affinity() {
    let term = json!([{"labelSelector": {"matchLabels": {"app": "other"}},
        "topologyKey": "kubernetes.io/hostname"}]);
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": term});
    let nodes = [plain("a"), plain("b")];
    let near = json!({"affinity": {"podAffinity": required}});
    assert_eq!(goes_to(&nodes, near).await, "a");
    let apart = json!({"affinity": {"podAntiAffinity": required}});
    assert_eq!(goes_to(&nodes, apart).await, "b");
}

#[tokio::test]
async fn topology_spread() {
    let nodes = [
        ("a", json!({"zone": "z1"}), json!({})),
        ("b", json!({"zone": "z2"}), json!({})),
    ];
    let spec = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "other"}}}]});
    // The pod does not match its own selector: both zones may have it.
    assert!(["a", "b"].contains(&&*goes_to(&nodes, spec).await));
    let spec = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}]});
    assert_eq!(goes_to(&nodes, spec).await, "b");
}

#[tokio::test]
async fn host_ports() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    cluster.plain_node("b").await;
    let _scheduler = cluster.scheduler().await;
    let spec = json!({"containers": [{"name": "c", "image": "i",
        "ports": [{"containerPort": 80, "hostPort": 80}]}]});
    cluster.pod("one", spec.clone()).await;
    cluster.pod("two", spec.clone()).await;
    cluster.pod("three", spec).await;
    assert_ne!(cluster.bound("one").await, cluster.bound("two").await);
    let why = cluster.unschedulable("three").await;
    assert!(why.contains("didn't have free ports"), "{why}");
}
