//! Faults of the schema of a version.

use super::{each_schema, field_path, structural};
use crate::prune::{additional, items, property};
use crate::{embedded, prune, validate as values};
use serde_json::{Value, json};
use std::collections::HashSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::limits::ERRORS_TOLD_BYTES_MAX;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What may stand at the root if there is a `status` subresource, as JSON and as Go has it.
const AT_ROOT: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];
const AT_ROOT_IN_GO: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";

/// Whether any schema of a definition has a default.
pub(super) fn has_defaults(spec: &Value) -> bool {
    let mut found = false;
    let own = spec.list("versions").iter().map(|v| v.at("schema"));
    for holder in std::iter::once(spec.at("validation")).chain(own) {
        each_schema(holder.at("openAPIV3Schema"), &mut |s| {
            found |= s.has("default")
        });
    }
    found
}

/// Faults of what `place` holds. Upstream: `validateCustomResourceDefinitionValidation`.
pub(super) fn validate(holder: &Value, has_status: bool, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let schema = holder.at("openAPIV3Schema");
    if schema.is_null() {
        return errors;
    }
    let at = place.child("openAPIV3Schema");
    if has_status {
        errors.extend(root_faults(schema, place));
    }
    if schema.flag("nullable") {
        let at = place.child("openAPIV3Schema.nullable");
        errors.push(Error::forbidden(&at, "nullable cannot be true at the root"));
    }
    let mut faults = structural::validate(schema, &at);
    if faults.is_empty() {
        faults = defaults(schema, &at);
    }
    let sound = faults.is_empty();
    errors.extend(faults);
    let rules = Rules {
        defaults: None,
        in_meta: false,
    };
    let mut found = one(schema, &at, rules, true);
    // The rules of objects are looked at if all else is well.
    if sound && found.is_empty() {
        found.extend(crate::rules::check(schema, &at));
    }
    errors.extend(found);
    errors
}

fn root_faults(schema: &Value, place: &Path<'_>) -> Option<Error> {
    for (key, value) in schema.as_object().into_iter().flatten() {
        if key == "type" {
            let kind = schema.text("type");
            if kind != "object" {
                let at = place.child("openAPIV3Schema.type");
                let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                return Some(Error::invalid(&at, kind, why));
            }
        } else if !AT_ROOT.contains(&key.as_str()) && *value != json!(false) {
            let at = place.child("openAPIV3Schema");
            let why = format!(
                "only {AT_ROOT_IN_GO} fields are allowed at the root of the schema if the status subresource is enabled"
            );
            return Some(Error::invalid(&at, json!({"Type": schema.at("type")}), why));
        }
    }
    None
}

/// Defaults have to be what their schema asks for. Upstream: `defaulting.ValidateDefaults`.
fn defaults(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if let Some(default) = schema.get("default").filter(|d| !d.is_null()) {
        let at = place.child("default");
        if prune::is_unknown(default, schema) {
            errors.push(Error::invalid(&at, default, "must not have unknown fields"));
        }
        let mut found = embedded::validate(&at, default, schema);
        if found.is_empty() {
            found = values::validate(&at, schema, default);
        }
        errors.extend(found);
    }
    if let Some(items) = items(schema) {
        errors.extend(defaults(items, &place.child("items")));
    }
    let properties = place.child("properties");
    for (name, property) in schema.entries("properties") {
        errors.extend(defaults(property, &properties.key(name)));
    }
    errors
}

/// What holds on the way down.
#[derive(Clone, Copy)]
struct Rules<'a> {
    /// Why there may be no defaults.
    defaults: Option<&'a str>,
    /// Whether this describes the metadata of an object.
    in_meta: bool,
}

/// Upstream: `ValidateCustomResourceDefinitionOpenAPISchema`.
fn one(schema: &Value, place: &Path<'_>, rules: Rules<'_>, root: bool) -> ErrorList {
    let mut errors = own(schema, place, rules);
    if schema.flag("uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(Error::forbidden(&place.child("uniqueItems"), why));
    }
    let others = place.child("additionalProperties");
    let has_properties = schema.entries("properties").next().is_some();
    if has_properties && schema.has("additionalProperties") && additional(schema) != Some(None) {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(Error::forbidden(&others, why));
    }
    if let Some(Some(below)) = additional(schema) {
        let inside = "inside additionalProperties applying to object metadata";
        let rules = match rules.in_meta {
            true => Rules {
                defaults: Some(inside),
                ..rules
            },
            false => rules,
        };
        errors.extend(one(below, &others, rules, false));
    }
    let properties = place.child("properties");
    let embedded = schema.flag("x-kubernetes-embedded-resource");
    for (name, property) in schema.entries("properties") {
        let top = format!("in top-level {name}");
        let mut rules = rules;
        if (root || embedded) && matches!(name, "metadata" | "kind" | "apiVersion") {
            rules.in_meta = true;
            if root {
                rules.defaults = Some(&top);
            }
        }
        errors.extend(one(property, &properties.key(name), rules, false));
    }
    if schema.has("not") {
        errors.extend(one(schema.at("not"), &place.child("not"), rules, false));
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        let at = place.child(key);
        for (i, branch) in schema.list(key).iter().enumerate() {
            errors.extend(one(branch, &at.index(i), rules, false));
        }
    }
    if let Some(items) = items(schema) {
        errors.extend(one(items, &place.child("items"), rules, false));
    }
    errors.extend(extensions(schema, place));
    errors.extend(rule_faults(schema, place));
    errors
}

/// Upstream: `specStandardValidatorV3.validate`.
fn own(schema: &Value, place: &Path<'_>, rules: Rules<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let (kind, at) = (schema.text("type"), place.child("type"));
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(Error::not_supported(&at, kind, &TYPES));
    }
    if let Some(why) = rules.defaults
        && schema.has("default")
    {
        let why = format!("must not be set {why}");
        errors.push(Error::forbidden(&place.child("default"), why));
    }
    for key in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        let set = match schema.at(key) {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        };
        if set {
            errors.push(Error::forbidden(
                &place.child(key),
                format!("{key} is not supported"),
            ));
        }
    }
    if kind == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(Error::forbidden(&at, why));
    }
    if schema.at("items").is_array() {
        let why = "items must be a schema object and not an array";
        errors.push(Error::forbidden(&place.child("items"), why));
    }
    if rules.in_meta && schema.flag("x-kubernetes-embedded-resource") {
        let at = place.child("x-kubernetes-embedded-resource");
        errors.push(Error::forbidden(
            &at,
            "must not be used inside of resource meta",
        ));
    }
    errors
}

/// Faults of `x-kubernetes-…`.
fn extensions(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let key = "x-kubernetes-preserve-unknown-fields";
    if schema.at(key) == &json!(false) {
        errors.push(Error::invalid(
            &place.child(key),
            false,
            "must be true or undefined",
        ));
    }
    let (kind, at) = (schema.text("type"), place.child("type"));
    for (key, wanted, known) in [
        (
            "x-kubernetes-map-type",
            "object",
            &["atomic", "granular"][..],
        ),
        ("x-kubernetes-list-type", "array", &["atomic", "set", "map"]),
    ] {
        if !schema.has(key) {
            continue;
        }
        let given = schema.text(key);
        if kind != wanted {
            let why = format!("must be {wanted} if {key} is specified");
            errors.push(match kind {
                "" => Error::required(&at, why),
                kind => Error::invalid(&at, kind, why),
            });
        } else if wanted == "array" && given == "set" {
            errors.extend(set_items(schema, place));
        }
        if !known.contains(&given) {
            errors.push(Error::not_supported(&place.child(key), given, known));
        }
    }
    errors.extend(map_keys(schema, place));
    errors.extend(keyed_items(schema, place));
    errors
}

/// The items of a set are compared as wholes.
fn set_items(schema: &Value, place: &Path<'_>) -> Option<Error> {
    let item = items(schema)?;
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let at = place.child("items");
    let (list, map) = (
        item.at("x-kubernetes-list-type"),
        item.text("x-kubernetes-map-type"),
    );
    match item.text("type") {
        "array" if !list.is_null() && list != "atomic" => Some(Error::invalid(
            &at.child("x-kubernetes-list-type"),
            list,
            why,
        )),
        "object" if map != "atomic" => Some(Error::invalid(
            &at.child("x-kubernetes-map-type"),
            list,
            why,
        )),
        _ => None,
    }
}

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";

fn map_keys(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let keys = schema.list(MAP_KEYS);
    let (list, at_list) = (schema.text(LIST_TYPE), place.child(LIST_TYPE));
    if !keys.is_empty() && list != "map" {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match schema.has(LIST_TYPE) {
            false => Error::required(&at_list, why),
            true => Error::invalid(&at_list, list, why),
        });
    }
    if list != "map" {
        return errors;
    }
    let at_keys = place.child(MAP_KEYS);
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(Error::required(&at_keys, why));
    }
    let at_items = place.child("items");
    let Some(item) = items(schema) else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        errors.push(Error::required(&at_items, why));
        return errors;
    };
    if item.text("type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(Error::invalid(
            &at_items.child("type"),
            item.text("type"),
            why,
        ));
        return errors;
    }
    let properties = at_items.child("properties");
    let mut seen = HashSet::new();
    // All keys are shown with each that is wrong: that is enough of them.
    let shown_max = ERRORS_TOLD_BYTES_MAX / schema.at(MAP_KEYS).to_string().len();
    for key in keys {
        if errors.len() > shown_max {
            break;
        }
        let name = key.as_str().unwrap_or_default();
        match property(item, name).map(|p| p.text("type")) {
            Some("array" | "object") => {
                let at = properties.key(name);
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(Error::invalid(&at.child("type"), item.text("type"), why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(Error::invalid(&at_keys, schema.at(MAP_KEYS), why));
            }
        }
        if !seen.insert(key) {
            let why = "must not contain duplicate entries";
            errors.push(Error::invalid(&at_keys, schema.at(MAP_KEYS), why));
        }
    }
    errors
}

/// Upstream: `validateMapListKeysMapSet`.
fn keyed_items(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let list = schema.text(LIST_TYPE);
    let Some(item) = items(schema).filter(|_| matches!(list, "set" | "map")) else {
        return errors;
    };
    let at = place.child("items");
    if item.flag("nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        errors.push(Error::forbidden(&at.child("nullable"), why));
    }
    if list != "map" {
        return errors;
    }
    let properties = at.child("properties");
    let required: HashSet<&Value> = item.list("required").iter().collect();
    for key in schema.list(MAP_KEYS) {
        let name = key.as_str().unwrap_or_default();
        let Some(own) = property(item, name) else {
            continue;
        };
        let at = properties.key(name);
        if !required.contains(key) && !own.has("default") {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(Error::required(&at.child("default"), why));
        }
        if own.flag("nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(Error::forbidden(&at.child("nullable"), why));
        }
    }
    errors
}

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Faults of rules, apart from what they say.
fn rule_faults(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let at = place.child("x-kubernetes-validations");
    for (i, rule) in schema.list("x-kubernetes-validations").iter().enumerate() {
        let at = at.index(i);
        let (text, message) = (rule.text("rule").trim(), rule.text("message"));
        if text.is_empty() {
            errors.push(Error::required(&at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            let why = "must be non-empty if specified";
            errors.push(Error::invalid(&at.child("message"), message, why));
        } else if breaks(message.trim()) {
            let why = "must not contain line breaks";
            errors.push(Error::invalid(&at.child("message"), message, why));
        } else if breaks(text) && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            errors.push(Error::required(&at.child("message"), why));
        }
        let expression = rule.text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            errors.push(Error::required(&at.child("messageExpression"), why));
        }
        let reason = rule.text("reason");
        if rule.has("reason") && !REASONS.contains(&reason) {
            errors.push(Error::not_supported(&at.child("reason"), reason, &REASONS));
        }
        let path = rule.text("fieldPath");
        let at = at.child("fieldPath");
        if !path.is_empty() && path.trim().is_empty() {
            errors.push(Error::invalid(&at, path, "must be non-empty if specified"));
        }
        if breaks(path) {
            errors.push(Error::invalid(&at, path, "must not contain line breaks"));
        }
        if !path.is_empty() && field_path(path, schema, true).is_err() {
            errors.push(Error::invalid(&at, path, "must be a valid path"));
        }
    }
    errors
}
