//! One object in two versions.

use crate::client::{Client, events};
use serde_json::{Value, json};

const V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

fn target() -> Value {
    json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"})
}

fn memory() -> Value {
    json!({"type": "Resource", "resource": {"name": "memory", "target": {
        "type": "Utilization", "averageUtilization": 70}}})
}

fn cpu(percent: i64) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", "target": {
        "type": "Utilization", "averageUtilization": percent}}})
}

#[tokio::test]
async fn what_is_written_in_one_version_is_read_in_the_other() {
    let client = Client::new().await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target()});
    let made = client
        .post(V1, json!({"metadata": {"name": "old"}, "spec": spec}))
        .await;
    assert_eq!(
        (made.code, &made.body["apiVersion"]),
        (201, &json!("autoscaling/v1"))
    );
    assert_eq!(made.body["spec"]["targetCPUUtilizationPercentage"], 80);
    let owner = &made.body["metadata"]["managedFields"][0];
    assert_eq!(owner["apiVersion"], "autoscaling/v1");
    let percent = &owner["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"];
    assert_eq!(percent, &json!({}), "what the conversion adds is owned");

    let new = client.get(&format!("{V2}/old")).await;
    assert_eq!(new["apiVersion"], "autoscaling/v2");
    assert_eq!(new["spec"]["metrics"], json!([cpu(80)]));

    let metrics = json!([cpu(5), memory()]);
    client
        .patch(&format!("{V2}/old"), json!({"spec": {"metrics": metrics}}))
        .await;
    let old = client.get(&format!("{V1}/old")).await;
    assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 5);
    let kept =
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":70}}]"#;
    let annotations = json!({"autoscaling.alpha.kubernetes.io/metrics": kept});
    assert_eq!(old["metadata"]["annotations"], annotations);
    let list = client.get(V1).await;
    assert_eq!(list["kind"], "HorizontalPodAutoscalerList");
    assert_eq!(list["items"][0]["spec"], old["spec"]);
}

#[tokio::test]
async fn a_write_that_changes_nothing_but_the_order_is_one() {
    let client = Client::new().await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target(), "metrics": [cpu(5), memory()]});
    client
        .create(V2, json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    let before = client.get(&format!("{V2}/a")).await;
    client.patch(&format!("{V1}/a"), json!({})).await;
    let after = client.get(&format!("{V2}/a")).await;
    assert_eq!(after["spec"]["metrics"], json!([memory(), cpu(5)]));
    let revision = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_ne!(revision(&after), revision(&before));
    client.patch(&format!("{V1}/a"), json!({})).await;
    let again = client.get(&format!("{V2}/a")).await;
    assert_eq!(
        revision(&again),
        revision(&after),
        "now it is as v1 leaves it"
    );
}

#[tokio::test]
async fn a_status_is_not_lost_in_the_older_version() {
    let client = Client::new().await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target()});
    client
        .create(V2, json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    let object = json!({"metric": {"name": "m"}, "describedObject": {"kind": "Service", "name": "s"},
        "current": {"averageValue": "5"}});
    let status = json!({"currentReplicas": 2, "desiredReplicas": 2,
        "currentMetrics": [{"type": "Object", "object": object}],
        "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": null}]});
    client
        .patch(&format!("{V2}/a/status"), json!({"status": status}))
        .await;
    client
        .patch(&format!("{V1}/a"), json!({"spec": {"maxReplicas": 4}}))
        .await;
    let after = client.get(&format!("{V2}/a")).await;
    assert_eq!(after["spec"]["maxReplicas"], 4);
    assert_eq!(
        after["status"], status,
        "a write of the object leaves it alone"
    );
    let none = json!({"status": {"currentMetrics": null}});
    client.patch(&format!("{V2}/a/status"), none).await;
    let less = json!({"status": {"currentReplicas": 1, "currentCPUUtilizationPercentage": 9}});
    client.patch(&format!("{V1}/a/status"), less).await;
    let after = client.get(&format!("{V2}/a")).await;
    assert_eq!(after["status"]["currentReplicas"], 1);
    assert_eq!(after["status"]["conditions"], status["conditions"]);
    let current = &after["status"]["currentMetrics"][0]["resource"]["current"];
    assert_eq!(current, &json!({"averageUtilization": 9}));
}

#[tokio::test]
async fn a_watch_tells_of_objects_in_its_version() {
    let client = Client::new().await;
    let watch = client.watch(&format!("{V1}?watch=1")).await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target(), "metrics": [cpu(5)]});
    client
        .create(V2, json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    client.api().end_watches();
    let seen = events(watch).await;
    let object = &seen[0]["object"];
    assert_eq!(object["apiVersion"], "autoscaling/v1");
    assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 5);
}

#[tokio::test]
async fn an_apply_that_changes_nothing_leaves_the_order_alone() {
    let client = Client::new().await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target(), "metrics": [cpu(5), memory()]});
    client
        .create(V2, json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    let path = format!("{V1}/a?fieldManager=me");
    let wanted = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"}, "spec": {"maxReplicas": 3}});
    let applied = client.apply(&path, wanted).await;
    assert_eq!(applied.code, 200, "{}", applied.body);
    let owner = &applied.body["metadata"]["managedFields"][0];
    assert_eq!(
        (&owner["manager"], &owner["apiVersion"]),
        (&json!("me"), &json!("autoscaling/v1"))
    );
    let after = client.get(&format!("{V2}/a")).await;
    assert_eq!(after["spec"]["metrics"], json!([cpu(5), memory()]));
}

#[tokio::test]
async fn a_status_takes_nothing_of_the_spec_from_its_owners() {
    let client = Client::new().await;
    let behavior = json!({"scaleUp": {"selectPolicy": "Min"}});
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target(), "behavior": behavior});
    client
        .create(V2, json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    let owned = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array();
        let mut entries = entries.into_iter().flatten();
        let own = entries.find(|entry| entry["subresource"].is_null());
        own.map(|entry| entry["fieldsV1"]["f:spec"].clone())
    };
    let before = client.get(&format!("{V2}/a")).await;
    let other = json!({"autoscaling.alpha.kubernetes.io/behavior": "{\"ScaleDown\":{}}"});
    let status = json!({"metadata": {"annotations": other}, "status": {"currentReplicas": 1}});
    client.patch(&format!("{V1}/a/status"), status).await;
    let after = client.get(&format!("{V2}/a")).await;
    assert_eq!(after["spec"], before["spec"]);
    assert!(owned(&before).is_some());
    assert_eq!(owned(&after), owned(&before));
}

#[tokio::test]
async fn a_body_of_the_other_version_is_read_as_that_and_refused() {
    let client = Client::new().await;
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target(), "metrics": [memory()]});
    let body = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"}, "spec": spec});
    let strict = format!("{V1}?fieldValidation=Strict");
    let refused = client.post(&strict, body).await;
    let why = "the API version in the data (autoscaling/v2) does not match the expected API version \
               (autoscaling/v1)";
    assert_eq!((refused.code, &refused.body["message"]), (400, &json!(why)));
}
