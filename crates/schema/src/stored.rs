//! The form that an object has after it was stored.

use crate::go::Kind;
use crate::types::{Field, Type, TypeRef};
use serde_json::{Map, Value};

/// Gives an object of a built-in type the form that it has after upstream stored it, whatever was
/// done to it since it was decoded: what Go omits is gone, what it always writes is there, and empty
/// lists and maps are null where they are written at all, because protobuf cannot tell them from
/// nothing.
pub fn to_stored_form(ty: &Type, object: &mut Value) {
    match (&ty.go.kind, object) {
        (Kind::Struct(_), Value::Object(fields)) => settle_fields(ty, fields),
        (Kind::Slice(_), list) if list.as_array().is_some_and(Vec::is_empty) => {
            *list = Value::Null;
        }
        (Kind::Map, map) if map.as_object().is_some_and(Map::is_empty) => *map = Value::Null,
        (Kind::Slice(_), Value::Array(items)) => {
            if let Some(list) = &ty.list {
                items.iter_mut().for_each(|item| settle(&list.item, item));
            }
        }
        (Kind::Map, Value::Object(map)) => {
            if let Some(rest) = ty.map.as_ref().and_then(|object| object.rest.as_ref()) {
                map.values_mut().for_each(|value| settle(rest, value));
            }
        }
        _ => {}
    }
}

/// An element of a list or map.
fn settle(ty: &TypeRef, value: &mut Value) {
    match (&ty.go.kind, value) {
        (Kind::Bytes, value @ Value::Null) => *value = Value::String(String::new()),
        // A list of its own in protobuf is there even if it is empty.
        (Kind::Slice(_), value @ Value::Null) => *value = Value::Array(Vec::new()),
        (Kind::Slice(_), Value::Array(items)) if items.is_empty() => {}
        (_, value) => {
            ty.settle(value);
            to_stored_form(ty, value);
        }
    }
}

fn settle_fields(ty: &Type, fields: &mut Map<String, Value>) {
    let Some(object) = &ty.map else { return };
    // Mostly nothing goes, and to look is cheaper than to retain.
    let mut gone = Vec::new();
    for (name, value) in fields.iter_mut() {
        let stays = object
            .field(name)
            .is_some_and(|field| settle_field(field, value));
        if !stays {
            gone.push(name.clone());
        }
    }
    for name in gone {
        fields.remove(&name);
    }
    ty.complete(fields);
}

/// Says whether the field is written.
fn settle_field(field: &Field, value: &mut Value) -> bool {
    // A pointer to what is written as null comes only from decoding; nil is not told from it.
    let nil = field.ty.pointer && value.is_null() && !field.ty.writes_null();
    if !nil {
        field.ty.settle(value);
        to_stored_form(&field.ty, value);
    }
    field.is_written(value, nil)
}
