//! Reading the bodies of patches.

use serde_json::Value;
use stowplan_schema::{DEDUCED, decode_json};

/// The value, and which fields are there twice; or why it is no JSON, in Go's words.
pub(crate) fn parse(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    match decode_json(&DEDUCED, body) {
        Ok(decoded) => Ok((decoded.object, decoded.problems)),
        Err(error) => Err(error.to_string()),
    }
}

/// What Go's decoder says of a value of another type.
pub(crate) fn mismatch(value: &Value, go_type: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type {go_type}",
        json_type(value)
    )
}

/// What Go's decoder calls a value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
