//! Filling in what a schema has defaults for.

use crate::prune::{additional, items, property};
use serde_json::Value;
use stowplan_machinery::View;

/// Takes nulls away where the schema allows none and has no default for them; a default then takes
/// the place of a null as well as of what is missing.
pub fn fill(value: &mut Value, schema: &Value) {
    drop_nulls(value, Some(schema));
    fill_in(value, Some(schema));
}

/// Fills in defaults alone: a null that the schema does not allow stays if there is none for it.
pub(crate) fn fill_only(value: &mut Value, schema: &Value) {
    fill_in(value, Some(schema));
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

/// Upstream: `defaulting.Default`.
fn fill_in(value: &mut Value, schema: Option<&Value>) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(map) => {
            for (name, property) in schema.entries("properties") {
                let default = property.at("default");
                let missing = map
                    .get(name)
                    .is_none_or(|value| wrong_null(value, property));
                if !default.is_null() && missing {
                    map.insert(name.to_owned(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                let own = property(schema, name);
                let others = additional(schema).flatten();
                if let (None, Some(others)) = (own, others)
                    && wrong_null(value, others)
                {
                    *value = others.at("default").clone();
                }
                fill_in(value, own.or(others));
            }
        }
        Value::Array(list) => {
            let items = items(schema);
            for element in list {
                if let Some(items) = items.filter(|items| wrong_null(element, items)) {
                    *element = items.at("default").clone();
                }
                fill_in(element, items);
            }
        }
        _ => {}
    }
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
}
