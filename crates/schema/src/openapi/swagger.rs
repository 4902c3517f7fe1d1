//! The older document, `/openapi/v2`.

use super::{BuiltIn, REFERENCE, Schemas};
use serde_json::{Map, Value, json};

/// All schemas in the older form. Paths are left out: clients that need them read version 3.
pub fn v2(extra: &Schemas) -> Value {
    let built_in = BuiltIn::load();
    let mut definitions = Map::new();
    for (name, schema) in built_in.schemas.iter().chain(extra) {
        definitions.insert(name.clone(), older(schema));
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": {},
        "definitions": definitions,
        "securityDefinitions": {"BearerToken": {
            "description": "Bearer Token authentication",
            "type": "apiKey",
            "name": "authorization",
            "in": "header",
        }},
        "security": [{"BearerToken": []}],
    })
}

/// A schema without what version 2 lacks: no defaults, one type, references without siblings that
/// matter.
fn older(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("default" | "nullable", _) => {}
            ("oneOf" | "anyOf", _) => {
                // `int-or-string` and quantities.
                out.entry("type").or_insert_with(|| "string".into());
            }
            ("allOf", Value::Array(parts)) => {
                if let [Value::Object(part)] = parts.as_slice() {
                    out.extend(part.iter().map(|(k, v)| (k.clone(), older_reference(v))));
                }
            }
            ("$ref", _) => {
                out.insert(key.clone(), older_reference(value));
            }
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(k, v)| (k.clone(), older(v)));
                out.insert(key.clone(), Value::Object(properties.collect()));
            }
            ("items" | "additionalProperties", value) => {
                out.insert(key.clone(), older(value));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

fn older_reference(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)) {
        Some(name) => Value::String(format!("#/definitions/{name}")),
        None => value.clone(),
    }
}
