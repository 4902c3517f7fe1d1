//! Filling in what a schema has defaults for.

use crate::prune::{additional, items, property};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::limits::DEFAULTS_VALUES_MAX;

/// Takes nulls away where the schema allows none and has no default for them; a default then takes
/// the place of a null as well as of what is missing.
pub fn fill(value: &mut Value, schema: &Value) {
    drop_nulls(value, Some(schema));
    fill_only(value, schema);
}

/// Fills in defaults alone: a null that the schema does not allow stays if there is none for it.
pub(crate) fn fill_only(value: &mut Value, schema: &Value) {
    let mut filling = Filling {
        left: DEFAULTS_VALUES_MAX,
    };
    filling.fill_in(value, Some(schema));
}

fn wrong_null(value: &Value, schema: &Value) -> bool {
    value.is_null() && !schema.flag("nullable")
}

fn field_schema<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let schema = schema?;
    property(schema, name).or_else(|| additional(schema).flatten())
}

/// Upstream: `PruneNonNullableNullsWithoutDefaults`.
pub(crate) fn drop_nulls(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let schema = field_schema(schema, name);
            let wrong = schema.is_some_and(|s| wrong_null(value, s) && !s.has("default"));
            if !wrong {
                drop_nulls(value, schema);
            }
            !wrong
        }),
        Value::Array(list) => {
            let items = schema.and_then(items);
            list.iter_mut()
                .for_each(|element| drop_nulls(element, items));
        }
        _ => {}
    }
}

/// How much may still be filled in. A small list can ask for many large defaults; what gets more than
/// this could not be stored anyway.
struct Filling {
    left: usize,
}

impl Filling {
    /// The default of a schema, if there is room for it.
    fn default_of(&mut self, schema: &Value) -> Option<Value> {
        let default = schema.at("default");
        self.left = self.left.checked_sub(size(default, self.left)?)?;
        Some(default.clone())
    }

    /// Upstream: `defaulting.Default`.
    fn fill_in(&mut self, value: &mut Value, schema: Option<&Value>) {
        let Some(schema) = schema else { return };
        match value {
            Value::Object(map) => {
                for (name, property) in schema.entries("properties") {
                    let missing = map
                        .get(name)
                        .is_none_or(|value| wrong_null(value, property));
                    if property.has("default")
                        && missing
                        && let Some(default) = self.default_of(property)
                    {
                        map.insert(name.to_owned(), default);
                    }
                }
                for (name, value) in map.iter_mut() {
                    let own = property(schema, name);
                    let others = additional(schema).flatten();
                    if own.is_none() {
                        self.fill_null(value, others);
                    }
                    self.fill_in(value, own.or(others));
                }
            }
            Value::Array(list) => {
                let items = items(schema);
                for element in list {
                    self.fill_null(element, items);
                    self.fill_in(element, items);
                }
            }
            _ => {}
        }
    }

    /// Puts the default in the place of a null that may not be there.
    fn fill_null(&mut self, value: &mut Value, schema: Option<&Value>) {
        if let Some(schema) = schema.filter(|schema| wrong_null(value, schema))
            && let Some(default) = self.default_of(schema)
        {
            *value = default;
        }
    }
}

/// How many values there are in a value, long texts counted by their length; nothing if there are more
/// than so many.
fn size(value: &Value, max: usize) -> Option<usize> {
    const BYTES: usize = 32;
    let add = |sum: usize, value: &Value| Some(sum + size(value, max.checked_sub(sum)?)?);
    let size = match value {
        Value::Array(list) => list.iter().try_fold(1, add),
        Value::Object(map) => map.values().try_fold(1, add),
        Value::String(text) => Some(1 + text.len() / BYTES),
        _ => Some(1),
    };
    size.filter(|size| *size <= max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_take_the_place_of_what_is_missing_and_of_wrong_nulls() {
        let schema = json!({"properties": {
            "a": {"type": "string", "default": "A"},
            "b": {"type": "string"},
            "c": {"type": "string", "nullable": true},
            "o": {"type": "object", "default": {}, "properties": {"n": {"default": 1}}},
            "m": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
        }});
        let mut value = json!({"a": null, "b": null, "c": null, "m": {"k": null}});
        fill(&mut value, &schema);
        assert_eq!(
            value,
            json!({"a": "A", "c": null, "o": {"n": 1}, "m": {"k": 7}})
        );
    }

    #[test]
    fn large_defaults_are_filled_in_only_so_often() {
        let schema = json!({"properties": {"list": {"items": {"properties": {
            "a": {"default": vec!["x"; 10_000]}
        }}}}});
        let mut value = json!({"list": vec![json!({}); 10_000]});
        fill(&mut value, &schema);
        let filled = value.list("list").iter().filter(|v| v.has("a")).count();
        assert!((10..100).contains(&filled), "{filled}");
    }
}
