//! Whole objects of other kinds inside of custom resources.
//!
//! Upstream: `pkg/apiserver/schema/objectmeta`.

use crate::object::metadata;
use crate::prune::{additional, items, property};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};
use stowplan_kinds::common::metadata::validate as validate_metadata;
use stowplan_schema::DecodeError;

fn is_embedded(schema: &Value) -> bool {
    schema.flag("x-kubernetes-embedded-resource")
}

/// Gives the metadata of embedded objects its form, and refuses what has the wrong type.
pub(crate) fn coerce(
    object: &mut Value,
    schema: &Value,
    problems: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let mut unknown = Vec::new();
    coerce_in(&Path::ROOT, object, schema, &mut unknown)
        .map_err(|error| DecodeError::text(error.to_string()))?;
    unknown.sort_unstable();
    problems.extend(unknown);
    Ok(())
}

fn coerce_in(
    path: &Path<'_>,
    value: &mut Value,
    schema: &Value,
    unknown: &mut Vec<String>,
) -> Result<(), Error> {
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                let place = path.child(name);
                if is_embedded(schema) {
                    coerce_meta(&place, name, value, unknown)?;
                }
                if let Some(own) = property(schema, name) {
                    coerce_in(&place, value, own, unknown)?;
                } else if let Some(Some(others)) = additional(schema) {
                    coerce_in(&path.key(name), value, others, unknown)?;
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = items(schema) {
                for (i, element) in list.iter_mut().enumerate() {
                    coerce_in(&path.index(i), element, items, unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_meta(
    place: &Path<'_>,
    name: &str,
    value: &mut Value,
    unknown: &mut Vec<String>,
) -> Result<(), Error> {
    match name {
        "apiVersion" | "kind" if !value.is_string() => {
            Err(Error::invalid(place, &*value, "must be a string"))
        }
        "metadata" => {
            let decoded = metadata(value, &place.to_string())
                .map_err(|why| Error::invalid(place, &*value, why.to_string()))?;
            unknown.extend(decoded.problems);
            *value = decoded.object;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Faults of embedded objects.
pub(crate) fn validate(path: &Path<'_>, value: &Value, schema: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    match value {
        Value::Object(map) => {
            if is_embedded(schema) {
                errors.extend(validate_one(path, value));
            }
            for (name, value) in map {
                if let Some(own) = property(schema, name) {
                    errors.extend(validate(&path.child(name), value, own));
                } else if let Some(Some(others)) = additional(schema) {
                    errors.extend(validate(&path.key(name), value, others));
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = items(schema) {
                for (i, element) in list.iter().enumerate() {
                    errors.extend(validate(&path.index(i), element, items));
                }
            }
        }
        _ => {}
    }
    errors
}

fn validate_one(path: &Path<'_>, object: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    for name in ["apiVersion", "kind"] {
        if object.get(name).is_none() {
            errors.push(Error::required(&path.child(name), ""));
        }
    }
    for (name, judge) in [
        ("apiVersion", api_version as fn(&str) -> Option<String>),
        ("kind", kind),
    ] {
        let (place, value) = (path.child(name), object.at(name));
        match value {
            Value::String(text) if text.is_empty() => {
                errors.push(Error::invalid(&place, value, "must not be empty"));
            }
            Value::String(text) => {
                errors.extend(judge(text).map(|why| Error::invalid(&place, value, why)));
            }
            _ if object.get(name).is_none() => {}
            _ => errors.push(Error::invalid(&place, value, "must be a string")),
        }
    }
    if let Some(own) = object.get("metadata") {
        let place = path.child("metadata");
        match metadata(own, "") {
            Err(why) => errors.push(Error::invalid(&place, own, why.to_string())),
            Ok(decoded) => {
                let mut own = decoded.object;
                if own.text("name").is_empty() {
                    own.set("name", "fakename");
                }
                let namespaced = own.has("namespace");
                errors.extend(validate_metadata(
                    &own,
                    namespaced,
                    &names::path_segment,
                    &place,
                ));
            }
        }
    }
    errors
}

fn api_version(text: &str) -> Option<String> {
    let parts = text.split('/').count();
    (parts > 2).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind(text: &str) -> Option<String> {
    let faults = names::dns1035_label(&text.to_lowercase());
    (!faults.is_empty()).then(|| {
        let faults = faults.join(",");
        format!("may have mixed case, but should otherwise match: {faults}")
    })
}
