//! What is written of pods.

use super::Api;
use crate::behaviour::RUN_FOR;
use crate::observe::pod_usage;
use serde_json::json;

#[test]
fn each_step_is_written_once() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(60);
    assert_eq!(api.take_writes(), ["p Pending", "p Running"]);
    api.delete("p");
    assert_eq!(api.take_writes(), ["p Failed", "p DELETE"]);
    api.pass(60);
    assert!(api.writes.is_empty());
    assert_eq!(api.world.pods.len(), 0);
    let node = api.world.nodes.get(0).unwrap();
    assert_eq!(
        (node.room.pods, node.room.used.cpu_m, node.pods.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_pod_may_be_bound_before_its_node_is_known() {
    let mut api = Api::new();
    api.pod("p", json!({}));
    api.pass(5);
    assert!(api.writes.is_empty());
    api.node("n1", json!({}));
    api.pass(5);
    assert_eq!(api.take_writes(), ["p Pending", "p Running"]);
    let ip = api
        .store
        .get("n", "p")
        .unwrap()
        .status
        .as_ref()
        .unwrap()
        .pod_ip
        .clone();
    assert_eq!(ip.as_deref(), Some("10.0.7.2"));
}

#[test]
fn what_does_not_fit_is_refused_and_said_so() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    for i in 0..5 {
        api.pod(&format!("p{i}"), json!({}));
    }
    api.pass(5);
    let pod = api.store.get("n", "p4").unwrap();
    let status = pod.status.as_ref().unwrap();
    assert_eq!(status.reason.as_deref(), Some("OutOfcpu"));
    assert_eq!(
        status.message.as_deref(),
        Some(
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 4000, capacity: 4000"
        )
    );
    assert!(status.container_statuses.is_none());
    // It stays until it is deleted, and takes no room.
    api.take_writes();
    api.delete("p4");
    assert_eq!(api.take_writes(), ["p4 DELETE"]);
}

#[test]
fn what_others_overwrite_is_said_again_but_not_without_end() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(60);
    api.take_writes();
    for _ in 0..3 {
        // As the node lifecycle controller does.
        api.change("p", |pod| {
            for condition in pod["status"]["conditions"].as_array_mut().unwrap() {
                condition["status"] = json!("False");
            }
        });
        api.settle();
    }
    assert_eq!(api.take_writes(), ["p Running"]);
    api.pass(10);
    assert_eq!(api.take_writes(), ["p Running"]);
    api.pass(60);
    assert!(api.writes.is_empty());
}

#[test]
fn a_pod_that_others_fail_is_stopped_and_stays_failed() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(60);
    api.take_writes();
    api.change("p", |pod| {
        pod["status"]["phase"] = json!("Failed");
        pod["status"]["reason"] = json!("Evicted");
    });
    api.pass(60);
    assert_eq!(api.take_writes(), ["p Failed"]);
    let pod = api.store.get("n", "p").unwrap();
    assert_eq!(
        pod.status.as_ref().unwrap().reason.as_deref(),
        Some("Evicted")
    );
    assert!(pod_usage(&api.world, api.now).is_empty());
}

#[test]
fn a_write_that_is_lost_is_sent_again_with_what_holds_then() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.is_down = true;
    api.pod("p", json!({RUN_FOR: "5s"}));
    api.pass(10);
    api.is_down = false;
    api.pass(60);
    assert_eq!(api.take_writes(), ["p Succeeded"]);
}

#[test]
fn a_new_generation_is_observed_and_takes_other_room() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({}));
    api.pass(5);
    api.take_writes();
    api.change("p", |pod| {
        pod["metadata"]["generation"] = json!(2);
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
    });
    api.settle();
    assert_eq!(api.take_writes(), ["p Running"]);
    let pod = api.store.get("n", "p").unwrap();
    let status = serde_json::to_value(pod.status.as_ref().unwrap()).unwrap();
    assert_eq!(status["observedGeneration"], 2);
    assert_eq!(
        status["containerStatuses"][0]["allocatedResources"]["cpu"],
        "2"
    );
    assert_eq!(api.world.nodes.get(0).unwrap().room.used.cpu_m, 2_000);
}
