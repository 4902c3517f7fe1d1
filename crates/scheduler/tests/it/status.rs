//! What the user is told.

use crate::cluster::{Cluster, NAMESPACE, asks, condition, patiently, pod_path};
use futures::TryStreamExt;
use kube::api::Api;
use kube::runtime::watcher::{self, Event as Change, watcher};
use serde_json::{Value, json};
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::k8s::api::events::v1::Event;

/// Waits for an event with this reason.
pub(crate) async fn event(cluster: &Cluster, reason: &str) -> Value {
    let events: Api<Event> = Api::namespaced(cluster.admin.clone(), NAMESPACE);
    let mut stream = Box::pin(watcher(events, watcher::Config::default()));
    patiently(async {
        loop {
            let change = stream.try_next().await.unwrap().unwrap();
            if let Change::Apply(event) | Change::InitApply(event) = change
                && event.reason.as_deref() == Some(reason)
            {
                return serde_json::to_value(event).unwrap();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_bound_pod_has_an_event() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", json!({})).await;
    let event = event(&cluster, "Scheduled").await;
    assert_eq!(event["note"], "Successfully assigned n/p to a");
    assert_eq!(event["action"], "Binding");
    assert_eq!(event["type"], "Normal");
    assert_eq!(event["reportingController"], "default-scheduler");
    assert_eq!(event["reportingInstance"], "default-scheduler-host");
    let pod = cluster.all::<Pod>().get("p").await.unwrap();
    assert_eq!(event["regarding"]["kind"], "Pod");
    assert_eq!(event["regarding"]["apiVersion"], "v1");
    assert_eq!(event["regarding"]["uid"], json!(pod.metadata.uid));
    let name = event["metadata"]["name"].as_str().unwrap();
    let suffix = name.strip_prefix("p.").expect("the pod's name and a dot");
    assert!(u64::from_str_radix(suffix, 16).is_ok(), "{name}");
    let scheduled = condition(&pod, "PodScheduled").unwrap();
    assert_eq!(scheduled["status"], "True");
}

#[tokio::test]
async fn a_pod_that_fits_nowhere_says_why() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("big", json!({"containers": asks("5")})).await;
    let why = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, \
               preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    assert_eq!(cluster.unschedulable("big").await, why);
    let pod = cluster.all::<Pod>().get("big").await.unwrap();
    let scheduled = condition(&pod, "PodScheduled").unwrap();
    assert_eq!(scheduled["status"], "False");
    assert_eq!(scheduled["reason"], "Unschedulable");
    assert_eq!(
        scheduled["observedGeneration"],
        json!(pod.metadata.generation)
    );
    assert!(scheduled["lastTransitionTime"].is_string());
    let event = event(&cluster, "FailedScheduling").await;
    assert_eq!(event["note"], why);
    assert_eq!(event["action"], "Scheduling");
    assert_eq!(event["type"], "Warning");
}

#[tokio::test]
async fn a_pod_that_is_being_deleted_is_not_tried() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let pod = json!({
        "metadata": {"name": "p", "finalizers": ["example.com/keep"]},
        "spec": {"containers": asks("1")},
    });
    cluster.create(&pod_path(""), pod).await;
    cluster.delete(&pod_path("p")).await;
    let _scheduler = cluster.scheduler().await;
    let event = event(&cluster, "FailedScheduling").await;
    assert_eq!(event["note"], "skip schedule deleting pod: n/p");
    assert_eq!(event["action"], "Scheduling");
    assert_eq!(event["type"], "Warning");
    let pod = cluster.all::<Pod>().get("p").await.unwrap();
    assert!(condition(&pod, "PodScheduled").is_none());
}
