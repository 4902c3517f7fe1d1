//! What is authorised is what is done.

use crate::testing::{self, send};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Asks as somebody who may do these things in namespace `mine` or, without it, everywhere.
async fn as_user(rules: Value, bound_in: &str, method: &str, url: &str, body: &Value) -> u16 {
    let api = testing::api().await;
    for namespace in ["mine", "victim"] {
        let namespace = json!({"metadata": {"name": namespace}});
        send(&api, "POST", "/api/v1/namespaces", &[], &namespace).await;
    }
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    let (code, _) = send(&api, "POST", &format!("{rbac}/clusterroles"), &[], &role).await;
    assert_eq!(code, 201);
    let url_of_bindings = match bound_in {
        "" => format!("{rbac}/clusterrolebindings"),
        namespace => format!("{rbac}/namespaces/{namespace}/rolebindings"),
    };
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "jane"}],
    });
    let (code, _) = send(&api, "POST", &url_of_bindings, &[], &binding).await;
    assert_eq!(code, 201);
    send(&api, method, url, &[("impersonate-user", "jane")], body)
        .await
        .0
}

#[tokio::test]
async fn the_old_watch_prefix_does_not_turn_a_write_into_a_read() {
    let rules =
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
    let token = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": []},
    });
    for (method, path, code) in [
        ("POST", "namespaces/mine/serviceaccounts/default/token", 404),
        ("POST", "namespaces/mine/pods/p/binding", 404),
        ("POST", "namespaces/mine/pods/p/eviction", 404),
        ("GET", "namespaces/mine/pods/p/status", 404),
        ("POST", "namespaces/mine/configmaps", 405),
        ("DELETE", "namespaces/mine/configmaps", 405),
        ("DELETE", "namespaces/mine/configmaps/c", 405),
        ("PUT", "namespaces/mine", 405),
    ] {
        for prefix in ["watch", "proxy"] {
            let url = format!("/api/v1/{prefix}/{path}");
            let got = as_user(rules.clone(), "", method, &url, &token).await;
            let expected = match prefix {
                "watch" => code,
                // A verb that reading does not include.
                _ => 403,
            };
            assert_eq!(got, expected, "{method} {url}");
        }
    }
}

#[tokio::test]
async fn a_namespace_is_not_reached_through_another() {
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    for (method, url, expected) in [
        ("GET", "/api/v1/namespaces/victim", 403),
        ("GET", "/api/v1/namespaces/mine/namespaces/victim", 404),
        ("DELETE", "/api/v1/namespaces/mine/namespaces/victim", 404),
        (
            "GET",
            "/api/v1/namespaces/mine/namespaces/victim/status",
            404,
        ),
        ("GET", "/api/v1/namespaces/mine/namespaces", 404),
        (
            "GET",
            "/api/v1/watch/namespaces/mine/namespaces/victim",
            404,
        ),
        ("GET", "/api/v1/namespaces/mine", 200),
    ] {
        let got = as_user(rules.clone(), "mine", method, url, &Value::Null).await;
        assert_eq!(got, expected, "{method} {url}");
    }
}

#[tokio::test]
async fn a_name_in_any_script_is_impersonated_or_refused() {
    let api = testing::api().await;
    let who = |name: &[u8]| {
        let mut request = http::Request::builder()
            .method("POST")
            .uri("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header("authorization", "Bearer test")
            .body(axum::body::Body::from("{}"))
            .expect("a request");
        let value = HeaderValue::from_bytes(name).expect("a value");
        let header = HeaderName::from_static("impersonate-user");
        request.headers_mut().insert(header, value);
        testing::receive(&api, request)
    };
    let (code, body) = who("jörg".as_bytes()).await;
    assert_eq!(
        (code, &body["status"]["userInfo"]["username"]),
        (201, &json!("jörg"))
    );
    let (code, body) = who(b"j\xf6rg").await;
    assert_eq!(code, 400, "{body}");
}

#[tokio::test]
async fn what_nests_deeply_is_read_as_it_was_written() {
    let api = testing::api().await;
    let mut data = json!("bottom");
    for _ in 0..200 {
        data = json!({"a": data});
    }
    let revision = json!({
        "metadata": {"name": "deep", "finalizers": ["example.com/keep"]},
        "revision": 1,
        "data": data,
    });
    let all = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let (code, _) = send(&api, "POST", all, &[], &revision).await;
    assert_eq!(code, 201);
    let one = format!("{all}/deep");
    let (code, _) = send(&api, "DELETE", &one, &[], &Value::Null).await;
    assert_eq!(code, 200);
    // The finalizer holds it; a form that is printed anew has it as well.
    let request = http::Request::get(format!("{one}?pretty=true"))
        .header("authorization", "Bearer test")
        .body(axum::body::Body::empty())
        .expect("a request");
    let answer = api.call(request).await;
    assert_eq!(answer.status(), 200);
    let bytes = http_body_util::BodyExt::collect(answer.into_body()).await;
    let text = String::from_utf8(bytes.expect("a body").to_bytes().to_vec()).expect("text");
    assert!(
        text.contains("bottom") && text.contains("deletionTimestamp"),
        "{text}"
    );
}

#[tokio::test]
async fn nothing_new_comes_to_be_while_its_definition_goes() {
    let api = testing::api().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "boats", "kind": "Boat"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    assert_eq!(
        send(&api, "POST", definitions, &[], &definition).await.0,
        201
    );
    let boats = "/apis/example.com/v1/namespaces/default/boats";
    let boat = |name: &str| {
        json!({
            "apiVersion": "example.com/v1",
            "kind": "Boat",
            "metadata": {"name": name, "finalizers": ["example.com/keep"]},
        })
    };
    assert_eq!(send(&api, "POST", boats, &[], &boat("old")).await.0, 201);
    let one = format!("{definitions}/boats.example.com");
    assert_eq!(send(&api, "DELETE", &one, &[], &Value::Null).await.0, 200);
    let (code, status) = send(&api, "POST", boats, &[], &boat("new")).await;
    assert_eq!(code, 403, "{status}");
    let why = "create not allowed while custom resource definition is terminating";
    assert!(
        status["message"].as_str().is_some_and(|m| m.ends_with(why)),
        "{status}"
    );
}
