//! Lists that are sets or maps: nothing in them twice.
//!
//! Upstream: `pkg/apiserver/schema/listtype/validation.go`.

use crate::prune::{additional, items, property};
use serde_json::{Map, Value};
use std::collections::HashMap;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};

/// Faults of all lists in a value.
pub fn validate(path: &Path<'_>, schema: &Value, value: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(own) = property(schema, name) {
                    errors.extend(validate(&path.child(name), own, value));
                } else if let Some(Some(others)) = additional(schema) {
                    errors.extend(validate(&path.key(name), others, value));
                }
            }
        }
        Value::Array(list) => {
            match schema.text("x-kubernetes-list-type") {
                "set" => errors.extend(duplicates(path, list)),
                "map" => errors.extend(map_keys(path, schema, list)),
                _ => {}
            }
            if let Some(items) = items(schema) {
                for (i, element) in list.iter().enumerate() {
                    errors.extend(validate(&path.index(i), items, element));
                }
            }
        }
        _ => {}
    }
    errors
}

/// Each value that occurs twice is named once, where it occurs for the second time.
fn duplicates(path: &Path<'_>, list: &[Value]) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        // Maps are kept in order, so what is equal is written alike.
        let times = seen.entry(value.to_string()).or_default();
        if *times == 1 {
            errors.push(Error::duplicate(&path.index(i), value));
        }
        *times += 1;
    }
    errors
}

fn map_keys(path: &Path<'_>, schema: &Value, list: &[Value]) -> ErrorList {
    let wrong = |(_, v): &(usize, &Value)| !v.is_object() && !v.is_null();
    if let Some((i, value)) = list.iter().enumerate().find(wrong) {
        let sentence = "must be an object for an array of list-type map";
        return vec![Error::invalid(&path.index(i), value, sentence)];
    }
    let names: Vec<&str> = schema
        .list("x-kubernetes-list-map-keys")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let key = |element: &Value| {
        let fields = names.iter().filter_map(|name| {
            let value = element.get(*name)?;
            Some(((*name).to_owned(), value.clone()))
        });
        Value::Object(fields.collect::<Map<_, _>>())
    };
    duplicates(path, &list.iter().map(key).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sets_and_maps_hold_nothing_twice() {
        let schema = json!({"properties": {
            "s": {"x-kubernetes-list-type": "set", "items": {}},
            "m": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {}},
        }});
        let check = |value: Value| -> Vec<String> {
            let errors = validate(&Path::ROOT, &schema, &value);
            errors.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            check(json!({"s": ["a", "b", "a", "a"]})),
            [r#"s[2]: Duplicate value: "a""#]
        );
        assert_eq!(
            check(json!({"m": [{"k": 1}, {"k": 2}, {"k": 1, "v": 3}]})),
            [r#"m[2]: Duplicate value: {"k":1}"#]
        );
        assert_eq!(
            check(json!({"m": [{}, 5]})),
            ["m[1]: Invalid value: 5: must be an object for an array of list-type map"]
        );
    }
}
