//! Pods find their nodes.

use crate::cluster::{Cluster, asks, node_of, pod_path};
use serde_json::json;
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1::Pod;

#[tokio::test]
async fn pods_that_wait_and_pods_that_come_are_bound() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    cluster.pod("before", json!({})).await;
    let scheduler = cluster.scheduler().await;
    assert_eq!(cluster.bound("before").await, "a");
    cluster.pod("after", json!({})).await;
    assert_eq!(cluster.bound("after").await, "a");
    scheduler.stop().await;
}

#[tokio::test]
async fn a_node_that_comes_later_takes_the_pods_that_wait_for_it() {
    let cluster = Cluster::new().await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", json!({})).await;
    let why = cluster.unschedulable("p").await;
    assert_eq!(why, "no nodes available to schedule pods");
    cluster.plain_node("a").await;
    assert_eq!(cluster.bound("p").await, "a");
}

#[tokio::test]
async fn no_node_gets_more_than_it_has_room_for() {
    let cluster = Cluster::new().await;
    for node in ["a", "b", "c"] {
        cluster.plain_node(node).await;
    }
    let _scheduler = cluster.scheduler().await;
    for i in 0..12 {
        cluster
            .pod(&format!("p{i}"), json!({"containers": asks("1")}))
            .await;
    }
    let mut pods_on: BTreeMap<String, u32> = BTreeMap::new();
    for pod in cluster.all_bound(12).await {
        *pods_on
            .entry(node_of(&pod).unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(pods_on.into_values().collect::<Vec<_>>(), [4, 4, 4]);
    cluster.pod("more", json!({"containers": asks("1")})).await;
    let why = cluster.unschedulable("more").await;
    assert!(
        why.starts_with("0/3 nodes are available: 3 Insufficient cpu."),
        "{why}"
    );
    cluster.delete(&pod_path("p0")).await;
    cluster.bound("more").await;
}

#[tokio::test]
async fn a_pod_of_another_scheduler_is_left_alone() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let _scheduler = cluster.scheduler().await;
    cluster
        .pod("other", json!({"schedulerName": "other"}))
        .await;
    cluster.pod("ours", json!({})).await;
    cluster.bound("ours").await;
    let other = cluster.all::<Pod>().get("other").await.unwrap();
    assert_eq!(node_of(&other), None);
    let config = "profiles: [{schedulerName: other}, {schedulerName: third}]";
    let _second = cluster
        .scheduler_with(cluster.scheduler_client(), config)
        .await;
    assert_eq!(cluster.bound("other").await, "a");
    cluster
        .pod("third", json!({"schedulerName": "third"}))
        .await;
    assert_eq!(cluster.bound("third").await, "a");
}

#[tokio::test]
async fn a_gated_pod_waits_for_its_gates_to_go() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let _scheduler = cluster.scheduler().await;
    let gates = json!([{"name": "example.com/one"}]);
    cluster
        .pod("gated", json!({"schedulingGates": gates}))
        .await;
    cluster.pod("free", json!({})).await;
    cluster.bound("free").await;
    let gated = cluster.all::<Pod>().get("gated").await.unwrap();
    assert_eq!(node_of(&gated), None);
    let open = json!({"spec": {"schedulingGates": null}});
    cluster.patch(&pod_path("gated"), open).await;
    assert_eq!(cluster.bound("gated").await, "a");
}
