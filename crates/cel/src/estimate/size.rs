//! How large the values can be that a schema describes.

use crate::schema::{additional, items};
use serde_json::Value;
use stowplan_apimachinery::View;

/// The largest object that a request can hold, in bytes.
const OBJECT_MAX: u64 = 3 * 1024 * 1024;

/// The least bytes that a value takes up in JSON, with what separates it from the next.
fn least_bytes(schema: &Value) -> u64 {
    match schema.text("type") {
        "object" => {
            let required = schema.list("required").iter().filter_map(Value::as_str);
            let own = required.filter_map(|name| {
                let property = schema.at("properties").get(name)?;
                Some(name.len() as u64 + least_bytes(property) + 4)
            });
            2 + own.sum::<u64>()
        }
        "string" | "array" => 2,
        "boolean" => 4,
        _ => 1,
    }
}

/// The most elements, entries or bytes that a value can have; nothing for what has no size. Upstream:
/// `MaxElements` in `apiserver/pkg/cel/common/schemas.go`.
pub fn size_max(schema: &Value) -> u64 {
    let limit = |key: &str| schema.int(key).and_then(|n| u64::try_from(n).ok());
    match schema.text("type") {
        "string" => match (limit("maxLength"), schema.text("format")) {
            (_, "duration") => 32,
            (_, "date") => 12,
            (_, "date-time") => 24,
            (Some(length), "byte") => length,
            // Characters can take up several bytes.
            (Some(length), _) => length.saturating_mul(4),
            (None, _) if !schema.list("enum").is_empty() => {
                let values = schema.list("enum").iter().filter_map(Value::as_str);
                values.map(str::len).max().unwrap_or_default() as u64
            }
            _ => OBJECT_MAX - 2,
        },
        "array" => limit("maxItems").unwrap_or_else(|| {
            let least = items(schema).map_or(1, least_bytes);
            OBJECT_MAX.saturating_sub(2) / (least + 1)
        }),
        "object" if additional(schema).flatten().is_none() => 0,
        "object" => limit("maxProperties").unwrap_or_else(|| {
            let least = additional(schema).flatten().map_or(1, least_bytes);
            OBJECT_MAX.saturating_sub(2) / (least + 4)
        }),
        _ if schema.flag("x-kubernetes-int-or-string") => OBJECT_MAX - 2,
        _ => 0,
    }
}
