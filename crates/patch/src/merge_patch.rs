//! Merge patch (RFC 7386).
//!
//! Upstream: `github.com/evanphx/json-patch` v4.13.0 and `applyJSPatch` in
//! `apiserver/pkg/endpoints/handlers/patch.go`.

use crate::body;
use serde_json::{Map, Value};
use stowplan_apimachinery::Status;

/// Reads a patch. With `validated` (any `fieldValidation` but `Ignore`) it has to be a map, and
/// duplicate fields are listed.
pub fn decode(body: &[u8], validated: bool) -> Result<(Value, Vec<String>), Status> {
    let bad = || Status::bad_request("Invalid JSON Patch");
    let (patch, problems) = match body::parse(body) {
        Ok(parsed) => parsed,
        Err(why) if validated => {
            return Err(Status::bad_request(format!("error decoding patch: {why}")));
        }
        Err(_) => return Err(bad()),
    };
    match (&patch, validated) {
        (Value::Object(_), true) => Ok((patch, problems)),
        (Value::Object(_) | Value::Array(_), false) => Ok((patch, Vec::new())),
        (Value::Null, _) | (_, false) => Err(bad()),
        (other, true) => {
            let why = body::mismatch(other, "map[string]interface {}");
            Err(Status::bad_request(format!("error decoding patch: {why}")))
        }
    }
}

/// Lays a patch over an object. A patch that is a list takes its place.
pub fn apply(mut object: Value, patch: &Value) -> Value {
    match (&mut object, patch) {
        (Value::Object(object), Value::Object(patch)) => merge_maps(object, patch),
        _ => object = without_nulls(patch),
    }
    object
}

fn merge_maps(object: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        if value.is_null() {
            object.remove(key);
            continue;
        }
        match (object.get_mut(key), value) {
            (Some(Value::Object(here)), Value::Object(value)) => merge_maps(here, value),
            // Over a map, nulls inside a list stay.
            (Some(here @ Value::Object(_)), value) => *here = value.clone(),
            (_, value) => {
                object.insert(key.clone(), without_nulls(value));
            }
        }
    }
}

/// The value without the null fields of its maps. Nulls in lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(key, value)| (key.clone(), without_nulls(value)));
            Value::Object(kept.collect())
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn maps_are_merged_and_the_rest_replaced() {
        let cases = [
            (
                json!({"a": 1, "b": 2}),
                json!({"a": null, "c": 3}),
                json!({"b": 2, "c": 3}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"c": null, "d": 2}}),
                json!({"a": {"b": 1, "d": 2}}),
            ),
            (
                json!({"a": [1, 2]}),
                json!({"a": [{"x": null}]}),
                json!({"a": [{}]}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": [{"x": null}]}),
                json!({"a": [{"x": null}]}),
            ),
            (
                json!({"a": "b"}),
                json!({"a": {"x": {"y": null}}}),
                json!({"a": {"x": {}}}),
            ),
            (
                json!({"a": null}),
                json!({"a": {"x": null}}),
                json!({"a": {}}),
            ),
            (
                json!({}),
                json!({"a": [null, {"x": null, "y": 1}]}),
                json!({"a": [null, {"y": 1}]}),
            ),
            (
                json!({"a": 1}),
                json!([null, {"x": null}]),
                json!([null, {}]),
            ),
        ];
        for (object, patch, expected) in cases {
            assert_eq!(
                apply(object.clone(), &patch),
                expected,
                "{object} and {patch}"
            );
        }
    }

    #[test]
    fn only_maps_are_merge_patches() {
        let message = |body: &str, validated| match decode(body.as_bytes(), validated) {
            Ok((patch, _)) => patch.to_string(),
            Err(status) => format!("{} {}", status.code, status.message),
        };
        let into = "400 error decoding patch: json: cannot unmarshal";
        let map = "into Go value of type map[string]interface {}";
        assert_eq!(message("5", true), format!("{into} number {map}"));
        assert_eq!(message("[]", true), format!("{into} array {map}"));
        assert_eq!(message("null", true), "400 Invalid JSON Patch");
        assert_eq!(message("\"x\"", false), "400 Invalid JSON Patch");
        assert_eq!(message("[1]", false), "[1]");
        assert_eq!(message("{\"a\":1}", true), "{\"a\":1}");
    }
}
