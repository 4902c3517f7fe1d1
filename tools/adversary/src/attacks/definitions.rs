//! Definitions of custom resources, and objects of them.

use super::{DRY, keys, list};
use crate::attack::{Attack, Request};
use serde_json::{Map, Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/x.example.com/v1/things";

pub(super) fn attacks() -> Vec<Attack> {
    let fields = |n: usize, make: &dyn Fn(usize) -> Value| {
        let fields = (0..n).map(|i| (format!("k{i}"), make(i)));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let text = || json!({"type": "string"});
    vec![
        schema(
            "properties",
            move |n| json!({"properties": fields(n, &|_| text())}),
        ),
        schema(
            "properties that are required",
            move |n| json!({"properties": fields(n, &|_| text()), "required": list(n, |i| json!(format!("k{i}")))}),
        ),
        schema("values of an enum", |n| {
            json!({"properties": {"a": {"type": "string",
            "enum": list(n, |i| json!(format!("v{i}")))}}})
        }),
        schema("nested properties", |n| {
            (0..n / 8).fold(
                json!({"type": "object"}),
                |inner, _| json!({"type": "object", "properties": {"a": inner}}),
            )
        }),
        schema(
            "alternatives",
            |n| json!({"allOf": list(n, |i| json!({"required": [format!("k{i}")]}))}),
        ),
        schema("rules", |n| {
            json!({"x-kubernetes-validations":
            list(n / 8, |i| json!({"rule": format!("size(self) != {i}"), "message": "m"}))})
        }),
        schema("a long rule", |n| {
            json!({"x-kubernetes-validations":
            [{"rule": vec!["1 == 1"; n].join(" && ")}]})
        }),
        schema("a rule with many brackets", |n| {
            json!({"x-kubernetes-validations":
            [{"rule": format!("{}true{}", "(".repeat(n), ")".repeat(n))}]})
        }),
        schema("a rule with a long list", |n| {
            json!({"x-kubernetes-validations":
            [{"rule": format!("1 in [{}]", vec!["1"; n].join(","))}]})
        }),
        schema(
            "a long pattern",
            |n| json!({"properties": {"a": {"type": "string", "pattern": "a?".repeat(n)}}}),
        ),
        schema("a default", |n| {
            json!({"properties": {"a": {"type": "object",
            "additionalProperties": {"type": "string"}, "default": keys(n)}}})
        }),
        Attack::single("definition: versions", |n| {
            let version = |i: usize| {
                json!({"name": format!("v{}", i + 1), "served": i == 0, "storage": i == 0,
                "schema": {"openAPIV3Schema": {"type": "object"}}})
            };
            definition(json!(null), list(n / 8, version))
        }),
        Attack::single("definition: columns", |n| {
            let column =
                |i| json!({"name": format!("c{i}"), "type": "string", "jsonPath": ".spec.a"});
            let mut version = json!({"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}});
            version["additionalPrinterColumns"] = list(n, column);
            definition(json!(null), json!([version]))
        }),
        Attack::single("definition: short names", |n| {
            definition(
                list(n, |i| json!(format!("s{i}"))),
                json!([served(json!({"type": "object"}))]),
            )
        }),
        object("unknown fields", json!({"type": "object"}), keys),
        object(
            "a set",
            list_of("set"),
            |n| json!({"items": list(n, |i| json!(format!("v{i}")))}),
        ),
        object(
            "the same item of a set",
            list_of("set"),
            |n| json!({"items": list(n, |_| json!("v"))}),
        ),
        object(
            "a map of items",
            list_of("map"),
            |n| json!({"items": list(n, |i| json!({"name": format!("v{i}")}))}),
        ),
        object(
            "the same item of a map",
            list_of("map"),
            |n| json!({"items": list(n, |_| json!({"name": "v"}))}),
        ),
        object(
            "items under a rule",
            json!({"type": "object", "properties": {"items": {"type": "array", "maxItems": 100_000,
                "items": {"type": "integer"},
                "x-kubernetes-validations": [{"rule": "self.all(x, x >= 0)"}]}}}),
            |n| json!({"items": list(n, |i| json!(i))}),
        ),
        object(
            "a text under a pattern",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|b)*c$"}}}),
            |n| json!({"a": "ab".repeat(8 * n)}),
        ),
        object(
            "errors",
            json!({"type": "object", "properties": {"items": {"type": "array",
                "items": {"type": "string", "enum": ["a"]}}}}),
            |n| json!({"items": list(n, |i| json!(format!("v{i}")))}),
        ),
        object(
            "depth",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            |n| (0..n / 16).fold(json!(1), |inner, _| json!({"a": inner})),
        ),
    ]
}

fn list_of(kind: &str) -> Value {
    let items = match kind {
        "set" => json!({"type": "array", "items": {"type": "string"}}),
        _ => json!({"type": "array", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}),
    };
    let mut schema = json!({"type": "object", "properties": {"items": items}});
    schema["properties"]["items"]["x-kubernetes-list-type"] = json!(kind);
    schema
}

fn served(schema: Value) -> Value {
    json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}})
}

fn body(short_names: Value, versions: Value) -> Value {
    let mut names = json!({"plural": "things", "kind": "Thing"});
    if !short_names.is_null() {
        names["shortNames"] = short_names;
    }
    json!({"metadata": {"name": "things.x.example.com"},
        "spec": {"group": "x.example.com", "scope": "Cluster", "names": names, "versions": versions}})
}

fn definition(short_names: Value, versions: Value) -> Request {
    Request::post(format!("{DEFINITIONS}{DRY}"), &body(short_names, versions))
}

fn schema(name: &str, make: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::single(format!("definition: {name}"), move |n| {
        let mut schema = json!({"type": "object"});
        if let (Some(schema), Value::Object(more)) = (schema.as_object_mut(), make(n)) {
            schema.extend(more);
        }
        definition(json!(null), json!([served(schema)]))
    })
}

fn object(name: &str, schema: Value, make: impl Fn(usize) -> Value + Send + 'static) -> Attack {
    Attack::new(format!("custom object: {name}"), move |n| {
        let define = Request::post(
            DEFINITIONS,
            &body(json!(null), json!([served(schema.clone())])),
        );
        let mut object = make(n);
        object["apiVersion"] = json!("x.example.com/v1");
        object["kind"] = json!("Thing");
        object["metadata"] = json!({"name": "a"});
        vec![define, Request::post(THINGS, &object)]
    })
}
