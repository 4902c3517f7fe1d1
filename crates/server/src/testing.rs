//! A server to test against, in memory and in process.

use crate::{Api, Config, User};
use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_auth::token::Key;
use stowplan_base::Env;
use stowplan_env::System;
use stowplan_store::{Options, Store};

const TOKEN: &str = "test";
/// The token of somebody who may read pods and configure namespace `default`, and nothing else.
pub(crate) const WEAK_TOKEN: &str = "weak";

/// A new server.
pub(crate) async fn api() -> Arc<Api> {
    api_on(Store::in_memory(Options::default())).await
}

/// A server on a store.
pub(crate) async fn api_on(store: Store) -> Arc<Api> {
    api_with(Arc::new(System::new()), store).await
}

/// A server with a clock of one's own.
pub(crate) async fn api_with(env: Arc<dyn Env>, store: Store) -> Arc<Api> {
    made_of(env, store, None).await
}

/// A server that makes tokens of service accounts.
pub(crate) async fn api_that_signs(key: Key) -> Arc<Api> {
    let store = Store::in_memory(Options::default());
    made_of(Arc::new(System::new()), store, Some(key)).await
}

async fn made_of(env: Arc<dyn Env>, store: Store, token_key: Option<Key>) -> Arc<Api> {
    let admin = User::new("admin", &["system:masters"]);
    let config = Config {
        env,
        store,
        tokens: BTreeMap::from([
            (TOKEN.to_owned(), admin),
            (WEAK_TOKEN.to_owned(), User::new("weak", &[])),
        ]),
        token_key,
    };
    Api::new(config).await.expect("a store that works")
}

/// A server with somebody who is no master.
pub(crate) async fn api_with_weak_user() -> Arc<Api> {
    let api = api().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = serde_json::json!({"metadata": {"name": "weak"}, "rules": [
        {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["*"]}]});
    let binding = serde_json::json!({"metadata": {"name": "weak"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "weak"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "weak"}]});
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let (code, _) = send(&api, "POST", &format!("{rbac}/{plural}"), &[], &object).await;
        assert_eq!(code, 201);
    }
    api
}

/// The code and the JSON that a request is answered with.
pub(crate) async fn send(
    api: &Arc<Api>,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Value) {
    let mut request = http::Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", format!("Bearer {TOKEN}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string()),
    };
    receive(api, request.body(body).expect("a request")).await
}

/// The code and the JSON that a request is answered with.
pub(crate) async fn receive(api: &Arc<Api>, request: http::Request<Body>) -> (u16, Value) {
    let answer = api.call(request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body");
    let body = serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default();
    (code, body)
}

/// GET.
pub(crate) async fn get(api: &Arc<Api>, url: &str, accept: &str) -> (u16, Value) {
    send(api, "GET", url, &[("accept", accept)], &Value::Null).await
}
