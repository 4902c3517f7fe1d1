//! Objects by their schema.

use super::corpus::Corpus;
use super::{once_in, pick, values};
use serde_json::{Map, Value, json};
use stowplan_base::Rng;
use stowplan_kinds::{Kind, table};
use stowplan_schema::{Object, Scalar, Type, type_of};

const DEPTH_MAX: usize = 7;

/// Any kind.
pub(super) fn kind(rng: &mut Rng) -> &'static Kind {
    table::KINDS[rng.below(table::KINDS.len())]
}

/// The kind that an object says it is, or any.
pub(super) fn kind_of(object: &Value, rng: &mut Rng) -> &'static Kind {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = object["kind"].as_str().unwrap_or_default();
    table::by_kind(group, version, name).unwrap_or_else(|| kind(rng))
}

/// An object of a kind with some of its fields.
pub(super) fn object(kind: &Kind, rng: &mut Rng, corpus: &Corpus) -> Value {
    let mut object = match type_of(kind.schema) {
        Some(ty) => value(ty, 0, rng, corpus),
        None => json!({}),
    };
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), kind.api_version().into());
        map.insert("kind".to_owned(), kind.kind.into());
        let metadata = map.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            let name = pick(rng, &["a", "b", "c", "default"]).copied();
            metadata.insert("name".to_owned(), json!(name));
            for field in ["namespace", "resourceVersion", "managedFields"] {
                metadata.remove(field);
            }
        }
    }
    object
}

/// Puts a value of the right type into some field of an object, known to its kind.
pub(super) fn place_field(object: &mut Value, rng: &mut Rng, corpus: &Corpus) {
    let Some(mut ty) = type_of(kind_of(object, rng).schema) else {
        return;
    };
    let mut at = object;
    for depth in 0.. {
        if depth > 0 && (once_in(rng, 4) || depth > DEPTH_MAX) {
            break;
        }
        let fields = ty.map.as_ref().map_or(&[][..], Object::fields);
        if let Some(field) = pick(rng, fields) {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[field.name.as_ref()];
            ty = &field.ty;
        } else if let Some(list) = &ty.list {
            if at.as_array().is_none_or(Vec::is_empty) {
                *at = json!([null]);
            }
            let length = at.as_array().map_or(1, Vec::len);
            at = &mut at[rng.below(length)];
            ty = &list.item;
        } else {
            break;
        }
    }
    *at = value(ty, DEPTH_MAX / 2, rng, corpus);
}

/// A value of a type.
fn value(ty: &Type, depth: usize, rng: &mut Rng, corpus: &Corpus) -> Value {
    if once_in(rng, 40) {
        return values::odd(rng, corpus);
    }
    if let Some(map) = &ty.map
        && (ty.scalar.is_none() || once_in(rng, 8))
    {
        let mut out = Map::new();
        // The deeper, the fewer.
        let sparse = 2 + depth;
        for field in map.fields().iter().filter(|_| depth < DEPTH_MAX) {
            if once_in(rng, sparse) {
                let value = value(&field.ty, depth + 1, rng, corpus);
                out.insert(field.name.to_string(), value);
            }
        }
        if let Some(rest) = &map.rest {
            for _ in 0..rng.below(3) {
                let value = value(rest, depth + 1, rng, corpus);
                out.insert(values::text(rng, corpus), value);
            }
        }
        return Value::Object(out);
    }
    if let Some(list) = &ty.list
        && ty.scalar.is_none()
    {
        let items = (0..rng.below(3)).map(|_| value(&list.item, depth + 1, rng, corpus));
        return items.collect();
    }
    match ty.scalar {
        Some(Scalar::Boolean) => json!(once_in(rng, 2)),
        Some(Scalar::Number) => json!(rng.below(100)),
        Some(Scalar::String) => values::text(rng, corpus).into(),
        _ => values::odd(rng, corpus),
    }
}
