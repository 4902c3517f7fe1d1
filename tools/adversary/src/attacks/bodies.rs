//! JSON bodies.

use super::{CONFIG_MAPS, DRY, PODS, config_map, keys, list, pod};
use crate::attack::{Attack, Request};
use serde_json::{Value, json};

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = vec![
        of_config_map("data", |n| config_map(keys(n))),
        of_config_map("long text", |n| {
            config_map(json!({"k": "x".repeat(16 * n)}))
        }),
        of_config_map("line feeds", |n| {
            config_map(json!({"k": "\n".repeat(8 * n)}))
        }),
        of_config_map("characters beyond ASCII", |n| {
            config_map(json!({"k": "\u{1F980}".repeat(4 * n)}))
        }),
        of_config_map("unknown fields", |n| keys_beside(config_map(json!({})), n)),
        of_text("nested arrays", |n| {
            format!(
                "{{\"metadata\":{{\"name\":\"a\"}},\"x\":{}{}}}",
                "[".repeat(8 * n),
                "]".repeat(8 * n)
            )
        }),
        of_text("nested objects", |n| {
            format!(
                "{{\"x\":{}1{}}}",
                "{\"a\":".repeat(4 * n),
                "}".repeat(4 * n)
            )
        }),
        of_text("digits", |n| {
            format!("{{\"immutable\":{}}}", "1".repeat(8 * n))
        }),
        of_text("white space", |n| format!("{{{}}}", " ".repeat(16 * n))),
        of_text("escapes", |n| {
            format!(
                "{{\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"k\":\"{}\"}}}}",
                "\\u00e9".repeat(4 * n)
            )
        }),
        of_text("cut short", |n| {
            format!("{{\"data\":{{\"k\":\"{}", "x".repeat(16 * n))
        }),
        Attack::single("json: owners that differ", |n| {
            let owners = list(n, |i| owner(&format!("o{i}")));
            post_pod(&pod(json!({"name": "a", "ownerReferences": owners})))
        }),
        Attack::single("json: owners that are the same", |n| {
            let owners = list(n, |_| owner("o"));
            post_pod(&pod(json!({"name": "a", "ownerReferences": owners})))
        }),
    ];
    for validation in ["Warn", "Strict", "Ignore"] {
        for (what, key) in [("unknown", ""), ("the same", "same")] {
            all.push(Attack::single(
                format!("json: {what} fields, fieldValidation={validation}"),
                move |n| {
                    let fields: Vec<String> = (0..n)
                        .map(|i| match key {
                            "" => format!("\"k{i}\":1"),
                            key => format!("\"{key}\":{i}"),
                        })
                        .collect();
                    let body = format!(
                        "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a\"}},{}}}",
                        fields.join(",")
                    );
                    let url = format!("{CONFIG_MAPS}{DRY}&fieldValidation={validation}");
                    Request::new("POST", url).body("application/json", body)
                },
            ));
        }
    }
    all.push(Attack::single("json: managedFields", |n| {
        let entry = |i| {
            json!({"manager": format!("m{i}"), "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {(format!("f:k{i}")): {}}}})
        };
        post_config_map(&json!({"metadata": {"name": "a", "managedFields": list(n, entry)}}))
    }));
    all.push(Attack::single(
        "json: fields in one managedFields entry",
        |n| {
            let fields: Value = (0..n)
                .map(|i| (format!("f:k{i}"), json!({})))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": fields}});
            post_config_map(&json!({"metadata": {"name": "a", "managedFields": [entry]}}))
        },
    ));
    all
}

fn owner(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": format!("uid-{name}")})
}

fn keys_beside(mut object: Value, n: usize) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), keys(n)) {
        object.extend(more);
    }
    object
}

fn post_pod(pod: &Value) -> Request {
    Request::post(format!("{PODS}{DRY}"), pod)
}

fn post_config_map(object: &Value) -> Request {
    Request::post(format!("{CONFIG_MAPS}{DRY}"), object)
}

fn of_config_map(name: &str, make: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::single(format!("json: {name}"), move |n| post_config_map(&make(n)))
}

fn of_text(name: &str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    Attack::single(format!("json: {name}"), move |n| {
        let url = format!("{CONFIG_MAPS}{DRY}");
        Request::new("POST", url).body("application/json", make(n))
    })
}
