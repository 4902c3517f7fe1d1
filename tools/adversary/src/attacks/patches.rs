//! Patches of all four types.

use super::{CONFIG_MAPS, PODS, create, keys, list, pod};
use crate::attack::{Attack, Request};
use serde_json::{Value, json};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = vec![
        json_patch("keys that are added", |n| {
            list(
                n,
                |i| json!({"op": "add", "path": format!("/data/k{i}"), "value": "v"}),
            )
        }),
        json_patch("items that are added in front", |n| {
            let first = json!({"op": "add", "path": "/metadata/finalizers", "value": []});
            let add = |i| json!({"op": "add", "path": "/metadata/finalizers/0", "value": format!("a/f{i}")});
            std::iter::once(first).chain((1..n).map(add)).collect()
        }),
        json_patch("items that are taken from the front", |n| {
            let first = json!({"op": "add", "path": "/metadata/finalizers",
                "value": list(n, |i| json!(format!("a/f{i}")))});
            let remove = |_| json!({"op": "remove", "path": "/metadata/finalizers/0"});
            std::iter::once(first).chain((1..n).map(remove)).collect()
        }),
        json_patch("tests of everything", |n| {
            let first = json!({"op": "add", "path": "/data", "value": keys(n)});
            let test = |_| json!({"op": "test", "path": "/data", "value": {"k": "v"}});
            std::iter::once(first).chain((1..n).map(test)).collect()
        }),
        json_patch("tests of a long text", |n| {
            let text = "x".repeat(8 * n);
            let first = json!({"op": "add", "path": "/data/k", "value": text});
            let test = |_| json!({"op": "test", "path": "/data/k", "value": "y"});
            std::iter::once(first).chain((1..n).map(test)).collect()
        }),
        json_patch("copies of copies", |n| {
            let first = json!({"op": "add", "path": "/x", "value": {"a": "x".repeat(n)}});
            let copy = |i| json!({"op": "copy", "from": "/x", "path": format!("/x/k{i}")});
            std::iter::once(first)
                .chain((1..n.min(64)).map(copy))
                .collect()
        }),
        json_patch("ever deeper replacements", |n| {
            let step = 200;
            let chain = (0..n / step).map(|i| {
                let value = (0..step).fold(json!(1), |value, _| json!({"a": value}));
                json!({"op": "replace", "path": format!("/x{}", "/a".repeat(i * step)), "value": value})
            });
            chain.collect()
        }),
        json_patch("ever deeper moves", |n| {
            let first = json!({"op": "add", "path": "/x", "value": {}});
            let deeper = (1..n).flat_map(|i| {
                [
                    json!({"op": "add", "path": "/y", "value": {}}),
                    json!({"op": "move", "from": "/x", "path": "/y/x"}),
                    json!({"op": "move", "from": "/y", "path": "/x"}),
                    json!({"op": "add", "path": format!("/data/k{i}"), "value": "v"}),
                ]
            });
            std::iter::once(first).chain(deeper).collect()
        }),
        json_patch("unknown members", |n| {
            json!([members(n, |i| format!("k{i}"))])
        }),
        json_patch("operations without a path", |n| {
            list(n, |_| json!({"op": "add"}))
        }),
        json_patch(
            "a long path",
            |n| json!([{"op": "add", "path": "/a".repeat(8 * n), "value": 1}]),
        ),
        json_patch(
            "a large value that is replaced",
            |n| json!([{"op": "replace", "path": "/data", "value": keys(n)}]),
        ),
        Attack::new("json patch: the same member", |n| {
            let members: Vec<String> = (0..n).map(|i| format!("\"path\":\"/data/k{i}\"")).collect();
            let body = format!("[{{\"op\":\"add\",{}}}]", members.join(","));
            vec![create(json!({})), patch(JSON, body)]
        }),
        Attack::new("merge patch: keys", |n| {
            vec![
                create(json!({})),
                patch(MERGE, json!({"data": keys(n)}).to_string()),
            ]
        }),
        Attack::new("merge patch: keys that go", |n| {
            let gone: Value = (0..n)
                .map(|i| (format!("k{i}"), Value::Null))
                .collect::<serde_json::Map<_, _>>()
                .into();
            vec![
                create(keys(n)),
                patch(MERGE, json!({"data": gone}).to_string()),
            ]
        }),
        Attack::new("merge patch: depth", |n| {
            let body = format!(
                "{{\"data\":{}1{}}}",
                "{\"a\":".repeat(4 * n),
                "}".repeat(4 * n)
            );
            vec![create(json!({})), patch(MERGE, body)]
        }),
        Attack::new("merge patch: a little of a large object", |n| {
            vec![
                create(keys(n)),
                patch(MERGE, json!({"data": {"k": "v"}}).to_string()),
            ]
        }),
        Attack::new("apply: keys", |n| {
            vec![create(json!({})), apply("m", &json!({"data": keys(n)}))]
        }),
        Attack::new("apply: keys that others own", |n| {
            let other: Value = (0..n)
                .map(|i| (format!("k{i}"), json!("w")))
                .collect::<serde_json::Map<_, _>>()
                .into();
            vec![
                create(json!({})),
                apply("m", &json!({"data": keys(n)})),
                apply("o", &json!({"data": other})),
            ]
        }),
        Attack::new("apply: many managers", |n| {
            let managers = n.div_ceil(256).min(60);
            let owned =
                |i: usize| apply(&format!("m{i}"), &json!({"data": {(format!("k{i}")): "v"}}));
            let mut all = vec![create(json!({}))];
            all.extend((0..managers).map(owned));
            all.push(apply("last", &json!({"data": keys(n)})));
            all
        }),
    ];
    for (name, content_type) in [("strategic", STRATEGIC), ("apply", APPLY)] {
        all.push(of_pod(name, content_type, "env", |n| {
            json!({"spec": {"containers": [{"name": "c", "image": "i",
                "env": list(n, |i| json!({"name": format!("E{i}"), "value": "v"}))}]}})
        }));
        all.push(of_pod(
            name,
            content_type,
            "finalizers",
            |n| json!({"metadata": {"finalizers": list(n, |i| json!(format!("a/f{i}")))}}),
        ));
        all.push(of_pod(name, content_type, "tolerations", |n| {
            json!({"spec": {"tolerations": list(n, |i| json!({"key": format!("k{i}"), "operator": "Exists"}))}})
        }));
        all.push(of_pod(name, content_type, "conditions", |n| {
            json!({"status": {"conditions": list(n, |i| json!({"type": format!("T{i}"), "status": "True"}))}})
        }));
    }
    all.push(of_pod("strategic", STRATEGIC, "items that go", |n| {
        json!({"spec": {"containers": list(n, |i| json!({"name": format!("c{i}"), "$patch": "delete"}))}})
    }));
    all.push(of_pod("strategic", STRATEGIC, "an order of items", |n| {
        json!({"spec": {"$setElementOrder/containers": list(n, |i| json!({"name": format!("c{i}")})),
            "containers": list(n, |i| json!({"name": format!("c{i}"), "image": "i"}))}})
    }));
    all.push(of_pod("strategic", STRATEGIC, "primitives that go", |n| {
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": list(n, |i| json!(format!("a/f{i}"))),
            "finalizers": list(n, |i| json!(format!("a/f{i}")))}})
    }));
    all
}

fn members(n: usize, name: impl Fn(usize) -> String) -> Value {
    let mut operation = serde_json::Map::new();
    operation.insert("op".to_owned(), json!("add"));
    operation.insert("path".to_owned(), json!("/data/k"));
    operation.insert("value".to_owned(), json!("v"));
    operation.extend((0..n).map(|i| (name(i), json!(1))));
    Value::Object(operation)
}

fn patch(content_type: &str, body: String) -> Request {
    Request::new("PATCH", format!("{CONFIG_MAPS}/a")).body(content_type, body)
}

fn json_patch(name: &str, make: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::new(format!("json patch: {name}"), move |n| {
        vec![create(json!({"k": "v"})), patch(JSON, make(n).to_string())]
    })
}

fn apply(manager: &str, body: &Value) -> Request {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    if let (Some(object), Some(more)) = (object.as_object_mut(), body.as_object()) {
        object.extend(more.clone());
    }
    let url = format!("{CONFIG_MAPS}/a?fieldManager={manager}");
    Request::new("PATCH", url).body(APPLY, object.to_string())
}

fn of_pod(
    kind: &str,
    content_type: &'static str,
    name: &str,
    make: impl Fn(usize) -> Value + Send + 'static,
) -> Attack {
    Attack::new(format!("{kind}: {name}"), move |n| {
        let mut body = make(n);
        if content_type == APPLY {
            body["apiVersion"] = json!("v1");
            body["kind"] = json!("Pod");
            body["metadata"]["name"] = json!("a");
        }
        let url = format!("{PODS}/a?fieldManager=m");
        let patch = Request::new("PATCH", url).body(content_type, body.to_string());
        vec![Request::post(PODS, &pod(json!({"name": "a"}))), patch]
    })
}
