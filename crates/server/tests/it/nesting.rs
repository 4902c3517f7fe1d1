//! Objects as deep as they may be, on a stack a quarter as large as that of the server's workers.

use crate::client::{Answer, Client};
use serde_json::{Value, json};
use stowplan_apimachinery::limits::DEPTH_MAX;

const STACK_BYTES: usize = 512 * 1024;
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEEP: &str = "/apis/x.io/v1/namespaces/default/deeps";

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";

/// Runs something on a stack of its own. Too deep a recursion ends the process.
fn on_a_small_stack<F: Future<Output = ()>>(run: impl FnOnce() -> F + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(run());
    });
    thread.expect("a thread").join().expect("no panic");
}

fn maps(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inside, _| json!({"a": inside}))
}

fn lists(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inside, _| json!([inside]))
}

/// A definition of a resource with this schema for its `spec`.
fn definition(spec: &Value) -> Value {
    json!({
        "metadata": {"name": "deeps.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced",
            "names": {"plural": "deeps", "kind": "Deep"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec}
            }}}]
        }
    })
}

fn deep(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "x.io/v1", "kind": "Deep", "metadata": {"name": name}, "spec": spec})
}

async fn get(client: &Client, path: &str) -> Answer {
    client.send("GET", path, JSON, &Value::Null).await
}

async fn patch(client: &Client, path: &str, kind: &str, patch: &Value) -> Answer {
    client.send("PATCH", path, kind, patch).await
}

async fn settled(client: &Client) {
    for _ in 0..100 {
        if get(client, DEEP).await.code == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the resource is not served");
}

#[test]
fn the_deepest_objects_are_written_patched_and_read() {
    on_a_small_stack(|| async {
        let client = Client::new().await;
        let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
        client.create(DEFINITIONS, definition(&anything)).await;
        settled(&client).await;
        for (name, make) in [("maps", maps as fn(usize) -> Value), ("lists", lists)] {
            let answer = client.post(DEEP, deep(name, make(DEPTH_MAX + 1))).await;
            assert_eq!(answer.code, 400, "{:.300}", answer.body);
            let deepest = (1..DEPTH_MAX).rev().take(8);
            let mut written = 0;
            for levels in deepest {
                let answer = client.post(DEEP, deep(name, make(levels))).await;
                if answer.code == 201 {
                    written = levels;
                    break;
                }
                assert_eq!(answer.code, 400, "{:.300}", answer.body);
            }
            assert!(written > 0, "{name}");
            let path = format!("{DEEP}/{name}");
            let read = get(&client, &path).await;
            assert_eq!(read.code, 200);
            let again = client.send("PUT", &path, JSON, &read.body).await;
            assert_eq!(again.code, 200, "{:.300}", again.body);
            let label = json!({"metadata": {"labels": {"a": "b"}}});
            let step = if name == "maps" { "/a" } else { "/0" };
            let at = format!("/spec{}", step.repeat(4));
            let test = json!([{"op": "test", "path": at, "value": make(written - 4)}]);
            let moves = json!([
                {"op": "copy", "from": "/spec", "path": "/other"},
                {"op": "move", "from": "/other", "path": "/more"},
                {"op": "remove", "path": "/more"}
            ]);
            for (kind, query, body) in [
                (MERGE, "", label),
                (MERGE, "", json!({"spec": make(written)})),
                (JSON_PATCH, "", test),
                (JSON_PATCH, "", moves),
                (APPLY, "?fieldManager=me&force=true", deep(name, make(100))),
            ] {
                let answer = patch(&client, &format!("{path}{query}"), kind, &body).await;
                assert_eq!(answer.code, 200, "{kind} {:.300}", answer.body);
            }
            assert_eq!(get(&client, DEEP).await.code, 200);
            assert_eq!(client.delete(&path).await.code, 200);
        }
    });
}

#[test]
fn a_chain_of_patches_nests_no_deeper() {
    on_a_small_stack(|| async {
        let client = Client::new().await;
        let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
        client.create(DEFINITIONS, definition(&anything)).await;
        settled(&client).await;
        client.post(DEEP, deep("x", json!({}))).await;
        let path = format!("{DEEP}/x");
        let mut at = "/spec".to_owned();
        let mut codes = Vec::new();
        for _ in 0..40 {
            let body = json!([{"op": "replace", "path": at, "value": maps(20)}]);
            codes.push(patch(&client, &path, JSON_PATCH, &body).await.code);
            at.push_str(&"/a".repeat(19));
        }
        assert_eq!(codes.first(), Some(&200));
        assert_eq!(codes.last(), Some(&422));
        assert_eq!(get(&client, &path).await.code, 200);
    });
}

#[test]
fn the_deepest_schemas_are_accepted_and_used() {
    on_a_small_stack(|| async {
        let client = Client::new().await;
        let nested = |levels: usize| {
            let leaf = json!({"type": "string", "default": "x"});
            (0..levels).fold(leaf, |inside, _| {
                json!({"type": "object", "default": {}, "properties": {"a": inside},
                    "x-kubernetes-validations": []})
            })
        };
        let answer = client.post(DEFINITIONS, definition(&nested(200))).await;
        assert_eq!(answer.code, 400, "{:.300}", answer.body);
        let mut levels = DEPTH_MAX / 2;
        while client
            .post(DEFINITIONS, definition(&nested(levels)))
            .await
            .code
            != 201
        {
            levels -= 1;
            assert!(levels > 100, "even a moderate schema is refused");
        }
        settled(&client).await;
        let answer = client.post(DEEP, deep("x", json!({}))).await;
        assert_eq!(answer.code, 201, "{:.300}", answer.body);
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        let path = format!("{DEEP}/x");
        let patched = patch(&client, &path, MERGE, &label).await;
        assert_eq!(patched.code, 200, "{:.300}", patched.body);
        assert_eq!(get(&client, "/openapi/v2").await.code, 200);
        assert_eq!(get(&client, "/openapi/v3/apis/x.io/v1").await.code, 200);
        assert_eq!(
            client
                .delete(&format!("{DEFINITIONS}/deeps.x.io"))
                .await
                .code,
            200
        );
    });
}
