use super::*;
use crate::testing::{self, WEAK_TOKEN, send};
use axum::body::Body;
use serde_json::json;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

async fn ask(api: &Arc<Api>, token: Option<&str>, url: &str) -> u16 {
    let mut request = http::Request::get(url);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).expect("a request");
    api.call(request).await.status().as_u16()
}

fn role(name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, role: &str, subjects: Vec<Value>) -> Value {
    json!({"metadata": {"name": name}, "subjects": subjects,
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": role}})
}

fn user(name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": "User", "name": name})
}

async fn create(api: &Arc<Api>, plural: &str, object: &Value) {
    let url = format!("{RBAC}/namespaces/default/{plural}");
    let (code, answer) = send(api, "POST", &url, &[], object).await;
    assert_eq!(code, 201, "{answer}");
}

/// The attack: bindings with many subjects, which every request to their namespace had to read.
#[tokio::test]
async fn bindings_of_others_are_not_read_to_decide() {
    let api = testing::api().await;
    create(&api, "roles", &role("r", json!([]))).await;
    for i in 0..5 {
        let others = (0..2_000).map(|i| user(&format!("u{i}"))).collect();
        create(
            &api,
            "rolebindings",
            &binding(&format!("b{i}"), "r", others),
        )
        .await;
    }
    let url = "/api/v1/namespaces/default/pods";
    let read = api.store().stats().decoded_bytes;
    assert_eq!(ask(&api, None, url).await, 403);
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 403);
    assert_eq!(api.store().stats().decoded_bytes, read);
}

/// Writes are seen by the next request, whichever way they came.
#[tokio::test]
async fn what_is_written_counts_at_once() {
    let api = testing::api().await;
    let url = "/api/v1/namespaces/default/pods";
    let rules = |verb: &str| json!([{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]);
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 403);
    create(&api, "roles", &role("r", rules("list"))).await;
    create(&api, "rolebindings", &binding("b", "r", vec![user("weak")])).await;
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 200);
    let of_role = format!("{RBAC}/namespaces/default/roles/r");
    send(&api, "PUT", &of_role, &[], &role("r", rules("get"))).await;
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 403);
    send(&api, "PUT", &of_role, &[], &role("r", rules("list"))).await;
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 200);
    let of_binding = format!("{RBAC}/namespaces/default/rolebindings/b");
    send(&api, "DELETE", &of_binding, &[], &Value::Null).await;
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 403);
    // What was missed is read again.
    create(&api, "rolebindings", &binding("b", "r", vec![user("weak")])).await;
    send(&api, "DELETE", &of_role, &[], &Value::Null).await;
    create(&api, "roles", &role("r", rules("list"))).await;
    let store = api.store();
    store.compact(store.revision()).await.expect("compacted");
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 200);
}

/// The attack: so many rules for everybody that each decision takes long.
#[tokio::test(start_paused = true)]
async fn who_is_granted_very_much_waits_for_a_heavy_seat() {
    let api = testing::api().await;
    let names: Vec<String> = (0..LIGHT_RIGHTS_BYTES_MAX / 8)
        .map(|i| format!("r{i:08}"))
        .collect();
    let rules = json!([{"apiGroups": [""], "resources": names, "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]);
    create(&api, "roles", &role("r", rules)).await;
    create(&api, "rolebindings", &binding("b", "r", vec![user("weak")])).await;
    let url = "/api/v1/namespaces/default/pods";
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 200);
    let flooded = api.flow_control().without_heavy_seats();
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 429);
    assert_eq!(
        ask(&api, None, url).await,
        403,
        "others are decided about at once"
    );
    drop(flooded);
    assert_eq!(ask(&api, Some(WEAK_TOKEN), url).await, 200);
}
