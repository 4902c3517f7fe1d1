//! A client that needs no socket.

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_auth::User;
use stowplan_env::System;
use stowplan_server::{Api, Config};
use stowplan_store::{Options, Store};

pub(crate) const TOKEN: &str = "t";

/// Somebody who may do everything, and a server of their own.
#[derive(Clone)]
pub(crate) struct Client(Arc<Api>);

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::over(Store::in_memory(Options::default())).await
    }

    /// A server over a store of one's own.
    pub(crate) async fn over(store: Store) -> Self {
        let admin = User {
            name: "admin".to_owned(),
            groups: vec![
                "system:masters".to_owned(),
                "system:authenticated".to_owned(),
            ],
            ..User::default()
        };
        let config = Config {
            env: Arc::new(System::new()),
            store,
            tokens: BTreeMap::from([(TOKEN.to_owned(), admin)]),
            token_key: None,
        };
        let client = Self(Api::new(config).await.expect("a store that works"));
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        client
            .create(accounts, json!({"metadata": {"name": "default"}}))
            .await;
        client
    }

    /// The server itself.
    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.0
    }

    /// Begins a watch.
    pub(crate) async fn watch(&self, path: &str) -> Body {
        let request = http::Request::get(path).header("authorization", format!("Bearer {TOKEN}"));
        let answer = self.0.call(request.body(Body::empty()).expect("a request"));
        let answer = answer.await;
        assert_eq!(answer.status(), 200);
        answer.into_body()
    }

    pub(crate) async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Answer {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", kind)
            .body(match body {
                Value::Null => Body::empty(),
                body => Body::from(body.to_string()),
            })
            .expect("a request");
        let answer = self.0.call(request).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body");
        let body = stowplan_schema::parse_any(&bytes.to_bytes()).unwrap_or_default();
        Answer { code, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self
            .send("GET", path, "application/json", &Value::Null)
            .await;
        answer.body
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, "application/json", &body).await
    }

    /// A POST that must succeed.
    pub(crate) async fn create(&self, path: &str, body: Value) {
        let answer = self.post(path, body).await;
        assert_eq!(answer.code, 201, "{path}: {}", answer.body);
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        let kind = "application/json";
        self.send("DELETE", path, kind, &Value::Null).await
    }

    /// A server-side apply.
    pub(crate) async fn apply(&self, path: &str, body: Value) -> Answer {
        let kind = "application/apply-patch+yaml";
        self.send("PATCH", path, kind, &body).await
    }

    /// A merge patch that must succeed.
    pub(crate) async fn patch(&self, path: &str, body: Value) {
        let kind = "application/merge-patch+json";
        let answer = self.send("PATCH", path, kind, &body).await;
        assert_eq!(answer.code, 200, "{path}: {}", answer.body);
    }
}

/// All events of a watch that has ended.
pub(crate) async fn events(body: Body) -> Vec<Value> {
    let bytes = body.collect().await.expect("it ends").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let parse = |line: &str| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

/// A pod that asks for nothing.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0},
    })
}
