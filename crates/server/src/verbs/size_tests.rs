//! How large an object may become.

use crate::limits::OBJECT_BYTES_MAX;
use crate::testing;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

const URL: &str = "/api/v1/namespaces/default/pods/large";
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");

async fn with_pod() -> std::sync::Arc<crate::Api> {
    let api = testing::api().await;
    let account = json!({"metadata": {"name": "default"}});
    let url = "/api/v1/namespaces/default/serviceaccounts";
    testing::send(&api, "POST", url, &[], &account).await;
    let pod = json!({"metadata": {"name": "large"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let (code, _) = testing::send(&api, "POST", "/api/v1/namespaces/default/pods", &[], &pod).await;
    assert_eq!(code, 201);
    api
}

/// A patch that adds many bytes to the status of the pod, where no validation stops it.
fn more(i: usize, text: &str) -> Value {
    json!({"status": {"message": text, "reason": format!("r{i}")}})
}

#[tokio::test]
async fn an_object_that_is_too_large_is_not_stored() {
    let api = with_pod().await;
    let status = format!("{URL}/status");
    let half = "x".repeat(OBJECT_BYTES_MAX / 2);
    let (code, _) = testing::send(&api, "PATCH", &status, &[MERGE], &more(0, &half)).await;
    assert_eq!(code, 200);
    let whole = "x".repeat(OBJECT_BYTES_MAX);
    let (code, answer) = testing::send(&api, "PATCH", &status, &[MERGE], &more(1, &whole)).await;
    assert_eq!(code, 500);
    assert_eq!(answer["message"], "etcdserver: request is too large");
    let (_, pod) = testing::get(&api, URL, "").await;
    assert_eq!(pod["status"]["reason"], "r0", "it is as it was");
}

#[tokio::test]
async fn escapes_do_not_count() {
    let api = with_pod().await;
    let lines = "\n".repeat(OBJECT_BYTES_MAX * 9 / 10);
    let status = format!("{URL}/status");
    let (code, _) = testing::send(&api, "PATCH", &status, &[MERGE], &more(0, &lines)).await;
    assert_eq!(code, 200);
}

#[tokio::test]
async fn a_record_of_owners_goes_before_the_object_is_refused() {
    let api = with_pod().await;
    let status = format!("{URL}/status");
    let (_, mut pod) = testing::send(&api, "PATCH", &status, &[MERGE], &more(0, "x")).await;
    let with = pod.to_string().len();
    pod["metadata"]["managedFields"].take();
    let owners = with - pod.to_string().len();
    // With half of the record it would fit.
    let nearly = "x".repeat(OBJECT_BYTES_MAX - with + owners / 2);
    let (code, pod) = testing::send(&api, "PATCH", &status, &[MERGE], &more(0, &nearly)).await;
    assert_eq!(code, 200);
    assert_eq!(pod["metadata"]["managedFields"], Value::Null);
}

/// The attack: watches of large objects that nobody reads. Each holds the bytes that the store holds.
#[tokio::test]
async fn watches_share_large_objects_and_send_them_in_pieces() {
    let api = with_pod().await;
    let status = format!("{URL}/status");
    let large = "x".repeat(OBJECT_BYTES_MAX / 2);
    testing::send(&api, "PATCH", &status, &[MERGE], &more(0, &large)).await;
    let frames = async || {
        let url = "/api/v1/pods?watch=1&timeoutSeconds=1";
        let request = http::Request::get(url).header("authorization", "Bearer test");
        let answer = api
            .call(request.body(Body::empty()).expect("a request"))
            .await;
        let mut body = answer.into_body();
        let mut frames: Vec<Bytes> = Vec::new();
        while !frames.last().is_some_and(|last| last.ends_with(b"}\n")) {
            let frame = body.frame().await.expect("more").expect("no error");
            frames.push(frame.into_data().expect("data"));
        }
        frames
    };
    let (one, other) = (frames().await, frames().await);
    assert!(one.iter().all(|frame| frame.len() <= 64 << 10));
    let event: Value = serde_json::from_slice(&one.concat()).expect("JSON");
    assert_eq!(event["type"], "ADDED");
    assert_eq!(event["object"]["status"]["message"], large.as_str());
    let copied = |a: &Bytes, b: &Bytes| a.as_ptr() != b.as_ptr();
    let copies = one.iter().zip(&other).filter(|(a, b)| copied(a, b));
    let own: usize = copies.map(|(a, _)| a.len()).sum();
    assert!(own < 1_024, "{own} bytes of a watch's own");
}
