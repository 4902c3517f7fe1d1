//! The more important pod takes the place of the less important one.

use crate::cluster::{Cluster, asks, condition, pod_path};
use serde_json::json;
use stowplan_api::k8s::api::core::v1::Pod;

async fn priority(cluster: &Cluster, name: &str, value: i32) {
    let class = json!({"metadata": {"name": name}, "value": value});
    cluster
        .create("/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
}

#[tokio::test]
async fn victims_are_told_why_and_their_place_is_taken() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    priority(&cluster, "high", 1000).await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("low-1", json!({"containers": asks("2")})).await;
    cluster.pod("low-2", json!({"containers": asks("2")})).await;
    cluster.bound("low-1").await;
    cluster.bound("low-2").await;
    let important = json!({"containers": asks("4"), "priorityClassName": "high"});
    cluster.pod("high", important).await;
    for victim in ["low-1", "low-2"] {
        let pod = cluster
            .until::<Pod>(victim, |pod| pod.metadata.deletion_timestamp.is_some())
            .await;
        let target = condition(&pod, "DisruptionTarget").expect("a reason");
        assert_eq!(target["status"], "True");
        assert_eq!(target["reason"], "PreemptionByScheduler");
        assert_eq!(
            target["message"],
            "default-scheduler: preempting to accommodate a higher priority pod"
        );
    }
    let nominated = cluster
        .until::<Pod>("high", |pod| {
            let status = pod.status.as_ref();
            status.is_some_and(|status| status.nominated_node_name.as_deref() == Some("a"))
        })
        .await;
    assert_eq!(nominated.spec.unwrap().node_name, None);
    let told = crate::status::event(&cluster, "Preempted").await;
    let uid = nominated.metadata.uid.unwrap();
    assert_eq!(told["note"], format!("Preempted by pod {uid} on node a"));
    assert_eq!(told["action"], "Preempting");
    // So it was recorded: kube-scheduler names the preemptor in the note alone.
    assert!(told["related"].is_null(), "{told}");
    // Nobody runs the victims: their end has to be told.
    cluster.delete(&pod_path("low-1")).await;
    cluster.delete(&pod_path("low-2")).await;
    assert_eq!(cluster.bound("high").await, "a");
}

#[tokio::test]
async fn who_never_preempts_waits() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let class = json!({"metadata": {"name": "polite"}, "value": 1000, "preemptionPolicy": "Never"});
    cluster
        .create("/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("low", json!({"containers": asks("4")})).await;
    cluster.bound("low").await;
    let polite = json!({"containers": asks("4"), "priorityClassName": "polite"});
    cluster.pod("polite", polite).await;
    let why = cluster.unschedulable("polite").await;
    assert!(
        why.contains("not eligible due to preemptionPolicy=Never"),
        "{why}"
    );
    let low = cluster.all::<Pod>().get("low").await.unwrap();
    assert!(low.metadata.deletion_timestamp.is_none());
}
