//! What a `test` compares.

use super::Failed;
use super::perform::Work;
use crate::fields::value::write_json;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Whether a value is what was written: scalars are the same if their texts are, so `1` is not
/// `1.0`, and `"<"`, which Go's encoder escapes, is not `"<"`. Null is also what is absent.
pub(super) fn same(value: &Value, raw: &str, work: &mut Work) -> Result<bool, Failed> {
    // The text inside is read again at each level.
    work.read(raw.len())?;
    match value {
        Value::Object(map) => {
            let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else {
                return Ok(false);
            };
            if map.len() != members.len() {
                return Ok(false);
            }
            for (key, value) in map {
                match members.get(key) {
                    Some(raw) if same(value, raw.get(), work)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        Value::Array(list) => {
            let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
                return Ok(false);
            };
            if list.len() != items.len() {
                return Ok(false);
            }
            for (value, raw) in list.iter().zip(items) {
                if !same(value, raw.get(), work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        scalar => {
            let mut written = String::new();
            write_json(&mut written, scalar);
            Ok(written == raw)
        }
    }
}
