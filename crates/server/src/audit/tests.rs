//! Lines as requests leave them.

use super::Log;
use crate::{Api, testing};
use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn audited() -> (Arc<Api>, Memory) {
    let api = testing::api().await;
    let memory = Memory::default();
    api.audit_to(Log::to(memory.clone()).unwrap());
    (api, memory)
}

/// Every line, once the server is gone.
fn lines(api: Arc<Api>, memory: &Memory) -> Vec<Value> {
    drop(api);
    let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    let parse = |line: &str| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

#[tokio::test]
async fn a_request_leaves_one_line() {
    let (api, memory) = audited().await;
    let url = "/api/v1/namespaces/default/configmaps?fieldManager=me";
    let mut request = http::Request::post(url)
        .header("authorization", "Bearer test")
        .header("user-agent", "kubectl/v1.36.0")
        .header("audit-id", "my-id")
        .header("impersonate-user", "jane")
        .header("impersonate-group", "system:masters")
        .body(Body::from(r#"{"metadata": {"name": "a"}}"#))
        .unwrap();
    let peer: std::net::SocketAddr = ([127, 0, 0, 1], 4711).into();
    request.extensions_mut().insert(peer);
    let answer = api.call(request).await;
    assert_eq!(answer.headers()["audit-id"], "my-id");
    let lines = lines(api, &memory);
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    let times = ["requestReceivedTimestamp", "stageTimestamp"];
    assert!(times.iter().all(|name| line[name].as_str().is_some()));
    let mut rest = line.clone();
    for name in times {
        rest.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(
        rest,
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "auditID": "my-id", "stage": "ResponseComplete", "requestURI": url, "verb": "create",
            "user": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
            "impersonatedUser": {
                "username": "jane", "groups": ["system:masters", "system:authenticated"],
            },
            "sourceIPs": ["127.0.0.1"], "userAgent": "kubectl/v1.36.0",
            "objectRef": {
                "resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1",
            },
            "responseStatus": {"metadata": {}, "code": 201},
            "annotations": {
                "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "",
            },
        })
    );
}

#[tokio::test]
async fn refusals_leave_a_line_too() {
    let (api, memory) = audited().await;
    let get = |token: &str| {
        let header = format!("Bearer {token}");
        let request = http::Request::get("/api/v1/namespaces/default/pods/p");
        let request = request.header("authorization", header);
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(api.call(get("test")).await.status(), 404);
    assert_eq!(api.call(get("nobody's")).await.status(), 401);
    let anonymous = http::Request::get("/api/v1/pods");
    let anonymous = anonymous.body(Body::empty()).unwrap();
    let refused = api.call(anonymous).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()["audit-id"].len(), 36);
    let lines = lines(api, &memory);
    let codes: Vec<_> = lines.iter().map(|l| &l["responseStatus"]["code"]).collect();
    assert_eq!(codes, [404, 401, 403]);
    assert_eq!(lines[0]["responseStatus"]["reason"], "NotFound");
    assert_eq!(lines[0]["responseStatus"]["details"]["name"], "p");
    assert_eq!(lines[1]["user"], json!({}));
    let decisions: Vec<_> = lines
        .iter()
        .map(|l| &l["annotations"]["authorization.k8s.io/decision"])
        .collect();
    assert_eq!(decisions, [&json!("allow"), &Value::Null, &json!("forbid")]);
    assert_eq!(lines[2]["user"]["username"], "system:anonymous");
}

#[tokio::test]
async fn a_watch_leaves_its_line_when_it_ends() {
    let (api, memory) = audited().await;
    let request = http::Request::get("/api/v1/pods?watch=1");
    let request = request.header("authorization", "Bearer test");
    let answer = api.call(request.body(Body::empty()).unwrap()).await;
    let (code, _) = testing::get(&api, "/version", "").await;
    assert_eq!(code, 200);
    api.end_watches();
    answer.into_body().collect().await.unwrap();
    let lines = lines(api, &memory);
    let verbs: Vec<_> = lines.iter().map(|line| &line["verb"]).collect();
    assert_eq!(verbs, ["get", "watch"]);
}
