//! Whether a schema is structural: every value it speaks of has one known form.
//!
//! Upstream: `pkg/apiserver/schema/{validation,complete}.go`.

use crate::prune::{additional, items};
use serde_json::{Value, json};
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Faults, ordered by their text.
pub(super) fn validate(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = invariants(schema, Level::Root, place);
    errors.extend(complete(schema, Some(schema), place, place));
    errors.sort_by_key(ToString::to_string);
    errors
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

fn invariants(schema: &Value, level: Level, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let kind = schema.text("type");
    let at_items = place.child("items");
    match items(schema) {
        Some(items) => errors.extend(invariants(items, Level::Item, &at_items)),
        None if kind == "array" => errors.push(Error::required(&at_items, "must be specified")),
        None => {}
    }
    let properties = place.child("properties");
    for (name, property) in schema.entries("properties") {
        errors.extend(invariants(property, Level::Field, &properties.key(name)));
    }
    let at_others = place.child("additionalProperties");
    if let Some(others) = additional(schema) {
        if level == Level::Root {
            errors.push(Error::forbidden(&at_others, "must not be used at the root"));
        }
        if let Some(others) = others {
            errors.extend(invariants(others, Level::Field, &at_others));
        }
        if schema.flag(EMBEDDED) {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(Error::forbidden(&at_others, why));
        }
    }
    if schema.flag(INT_OR_STRING) {
        for other in [PRESERVE, EMBEDDED] {
            if schema.flag(other) {
                let why = "must be false if x-kubernetes-int-or-string is true";
                errors.push(Error::invalid(&place.child(other), true, why));
            }
        }
    }
    errors.extend(values(schema, is_int_or_string(schema), level, place));
    errors.extend(type_faults(schema, level, place));
    errors.extend(meta_faults(schema, level, place));
    errors
}

fn type_faults(schema: &Value, level: Level, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let (kind, at) = (schema.text("type"), place.child("type"));
    if schema.flag(EMBEDDED) && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => Error::required(&at, why),
            kind => Error::invalid(&at, kind, why),
        });
    } else if kind.is_empty() && !schema.flag(INT_OR_STRING) && !schema.flag(PRESERVE) {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(Error::required(&at, why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(Error::invalid(&at, kind, "must be object at the root"));
    }
    errors
}

fn meta_faults(schema: &Value, level: Level, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let checked = level == Level::Root || schema.flag(EMBEDDED);
    let properties = place.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(own) = schema.at("properties").get(name)
            && checked
            && own.text("type") != "string"
        {
            let at = properties.key(name);
            errors.push(Error::invalid(
                &at.child("type"),
                own.text("type"),
                "must be string",
            ));
        }
    }
    if let Some(own) = schema.at("properties").get("metadata") {
        let at = properties.key("metadata");
        if checked && own.text("type") != "object" {
            errors.push(Error::invalid(
                &at.child("type"),
                own.text("type"),
                "must be object",
            ));
        }
        if level == Level::Root && says_more_than_name(own) {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(Error::forbidden(&at, why));
        }
    }
    let empty = schema.entries("properties").next().is_none();
    if schema.flag(EMBEDDED) && !schema.flag(PRESERVE) && empty {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(Error::required(&properties, why));
    }
    errors
}

fn says_more_than_name(metadata: &Value) -> bool {
    let known = |name: &str| matches!(name, "name" | "generateName");
    let others = metadata.entries("properties").any(|(name, _)| !known(name));
    let fields = metadata.as_object().into_iter().flatten();
    let mut fields = fields.map(|(key, _)| key.as_str());
    others || fields.any(|key| !matches!(key, "type" | "properties" | "default"))
}

fn is_int_or_string(schema: &Value) -> (bool, bool) {
    let pattern = json!([{"type": "integer"}, {"type": "string"}]);
    let first = schema.list("allOf").first();
    (
        schema.at("anyOf") == &pattern,
        first.is_some_and(|first| first.at("anyOf") == &pattern),
    )
}

/// Faults in the parts of a schema that only restrict values.
fn values(
    schema: &Value,
    (skip_any, skip_first): (bool, bool),
    level: Level,
    place: &Path<'_>,
) -> ErrorList {
    let mut errors = ErrorList::new();
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skip_any {
            continue;
        }
        let at = place.child(key);
        for (i, branch) in schema.list(key).iter().enumerate() {
            let skip = key == "allOf" && skip_first && i == 0;
            errors.extend(nested(branch, skip, level, &at.index(i)));
        }
    }
    if schema.has("not") {
        errors.extend(nested(schema.at("not"), false, level, &place.child("not")));
    }
    let pattern = schema.text("pattern");
    if let Some(why) = stowplan_apimachinery::regexp::fault(pattern) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(Error::invalid(&place.child("pattern"), pattern, why));
    }
    errors
}

fn nested(schema: &Value, skip_any: bool, level: Level, place: &Path<'_>) -> ErrorList {
    let mut errors = values(schema, (skip_any, false), level, place);
    if let Some(items) = items(schema) {
        errors.extend(nested(items, false, level, &place.child("items")));
    }
    let properties = place.child("properties");
    for (name, property) in schema.entries("properties") {
        errors.extend(nested(property, false, Level::Field, &properties.key(name)));
    }
    for (key, word) in [
        ("type", "empty"),
        ("additionalProperties", "undefined"),
        ("default", "undefined"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        (PRESERVE, "false"),
        (EMBEDDED, "false"),
        (INT_OR_STRING, "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        let value = schema.at(key);
        let nothing = match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty() && word == "empty",
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        if !nothing {
            let why = format!("must be {word} to be structural");
            errors.push(Error::forbidden(&place.child(key), why));
        }
    }
    if schema.at("properties").get("metadata").is_some() {
        let why = "must not be specified in a nested context";
        errors.push(Error::forbidden(&properties.key("metadata"), why));
    }
    errors
}

/// What value restrictions speak of has to be described outside of them.
fn complete(
    values: &Value,
    described: Option<&Value>,
    place: &Path<'_>,
    at: &Path<'_>,
) -> ErrorList {
    let mut errors = ErrorList::new();
    if values.has("not") {
        errors.extend(complete_nested(
            values.at("not"),
            described,
            place,
            &at.child("not"),
        ));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let here = at.child(key);
        for (i, branch) in values.list(key).iter().enumerate() {
            errors.extend(complete_nested(branch, described, place, &here.index(i)));
        }
    }
    errors
}

fn complete_nested(
    values: &Value,
    described: Option<&Value>,
    place: &Path<'_>,
    at: &Path<'_>,
) -> ErrorList {
    let because = |at: &Path<'_>| format!("because it is defined in {at}");
    let Some(described) = described else {
        return vec![Error::required(place, because(at))];
    };
    let mut errors = complete(values, Some(described), place, at);
    if let Some(own) = items(values) {
        let (place, at) = (place.child("items"), at.child("items"));
        errors.extend(complete_nested(own, items(described), &place, &at));
    }
    let (places, ats) = (place.child("properties"), at.child("properties"));
    for (name, own) in values.entries("properties") {
        let (place, at) = (places.key(name), ats.key(name));
        match described.at("properties").get(name) {
            None => errors.push(Error::required(&place, because(&at))),
            found => errors.extend(complete_nested(own, found, &place, &at)),
        }
    }
    errors
}
