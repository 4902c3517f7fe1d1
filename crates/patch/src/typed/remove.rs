//! An object without some of its fields.
//!
//! Upstream: `structured-merge-diff/v6/typed/remove.go`.

use super::{Shape, element};
use crate::fields::{Element, Set};
use serde_json::{Map, Value};
use stowplan_schema::{List, ListKind, Object, Type};

/// The value without these fields. What loses everything in it becomes null.
pub(crate) fn remove(ty: &Type, value: &Value, fields: &Set<'_>) -> Value {
    match (Shape::of(ty, Some(value)), value) {
        (Shape::Scalar(_), scalar) => scalar.clone(),
        (Shape::List(list), Value::Array(items)) if list.kind != ListKind::Atomic => {
            remove_items(list, items, fields)
        }
        (Shape::Map(object), Value::Object(map)) if !object.atomic => {
            remove_keys(object, map, fields)
        }
        _ => Value::Null,
    }
}

fn remove_items(list: &List, items: &[Value], fields: &Set<'_>) -> Value {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let entry = match element(list, item) {
            Ok(element) => fields.get(&element),
            Err(_) => None,
        };
        match entry {
            Some(entry) if entry.member => {}
            Some(entry) => kept.push(remove(&list.item, item, &entry.children)),
            None => kept.push(item.clone()),
        }
    }
    match kept.is_empty() {
        true => Value::Null,
        false => Value::Array(kept),
    }
}

fn remove_keys(object: &Object, map: &Map<String, Value>, fields: &Set<'_>) -> Value {
    let mut kept = Map::new();
    for (key, value) in map {
        let value = match (fields.get(&Element::Field(key)), object.key(key)) {
            (Some(entry), _) if entry.member => continue,
            (Some(entry), Some(ty)) => remove(ty, value, &entry.children),
            (Some(_), None) => Value::Null,
            (None, _) => value.clone(),
        };
        kept.insert(key.clone(), value);
    }
    match kept.is_empty() {
        true => Value::Null,
        false => Value::Object(kept),
    }
}
