//! From JSON to the values of expressions: a schema says what a value is. Upstream:
//! `apiserver/pkg/cel/common`.

use crate::times;
use crate::value::Val;
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::go::base64;

/// Words that cannot be names; a field of that name is written with underscores around it.
const RESERVED: [&str; 18] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
];

/// The name of a field as expressions write it. Upstream: `apiserver/pkg/cel/escaping.go`.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// The schema of the values of a map, if it may have any keys. `Some(None)` is `true`.
pub fn additional(schema: &Value) -> Option<Option<&Value>> {
    match schema.at("additionalProperties") {
        Value::Bool(true) => Some(None),
        Value::Object(_) => Some(Some(schema.at("additionalProperties"))),
        _ => None,
    }
}

/// The schema of the elements of a list.
pub fn items(schema: &Value) -> Option<&Value> {
    schema.has("items").then(|| schema.at("items"))
}

/// A value that a schema describes. What the schema does not describe is not seen.
pub fn value(value: &Value, schema: &Value) -> Val {
    of(value, schema, false)
}

/// An object with `apiVersion`, `kind` and `metadata`, which its schema need not describe.
pub fn object(value: &Value, schema: &Value) -> Val {
    of(value, schema, true)
}

fn of(value: &Value, schema: &Value, root: bool) -> Val {
    match value {
        Value::Null => Val::Null,
        Value::Bool(b) => Val::Bool(*b),
        Value::Number(n) if schema.text("type") == "number" => {
            Val::Double(n.as_f64().unwrap_or_default())
        }
        Value::Number(n) => match n.as_i64() {
            Some(n) => Val::Int(n),
            None => Val::Double(n.as_f64().unwrap_or_default()),
        },
        Value::String(text) => of_text(text, schema.text("format")),
        Value::Array(list) => {
            let below = items(schema).unwrap_or(&Value::Null);
            let embedded = below.flag("x-kubernetes-embedded-resource");
            let list = list.iter().map(|v| of(v, below, embedded));
            list.collect::<Vec<_>>().into()
        }
        Value::Object(map) => {
            let mut entries = Vec::new();
            for (name, value) in map {
                let meta = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                let own = schema.at("properties").get(name);
                let text = |name: String| Val::from(name);
                if let Some(own) = own {
                    let embedded = own.flag("x-kubernetes-embedded-resource");
                    entries.push((text(escaped(name)), of(value, own, embedded)));
                } else if let Some(Some(others)) = additional(schema) {
                    let embedded = others.flag("x-kubernetes-embedded-resource");
                    entries.push((text(name.clone()), of(value, others, embedded)));
                } else if root && meta {
                    entries.push((text(name.clone()), of_meta(value)));
                }
            }
            entries.into_iter().collect()
        }
    }
}

/// Of metadata, only names can be asked for.
fn of_meta(value: &Value) -> Val {
    match value {
        Value::Object(map) => {
            let names = ["name", "generateName"];
            let known = map.iter().filter(|(key, _)| names.contains(&key.as_str()));
            let entry = |(key, value): (&String, &Value)| (Val::from(key.as_str()), of_meta(value));
            known.map(entry).collect()
        }
        Value::String(text) => text.as_str().into(),
        _ => Val::Null,
    }
}

fn of_text(text: &str, format: &str) -> Val {
    let parsed = match format {
        "byte" => {
            let bytes = base64::decode(text.as_bytes()).unwrap_or_default();
            Some(Val::Bytes(bytes.into()))
        }
        "duration" => times::parse_duration(text).map(Val::Duration),
        "date-time" => times::parse_time(text).map(Val::Time),
        "date" => times::parse_time(&format!("{text}T00:00:00Z")).map(Val::Time),
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}
