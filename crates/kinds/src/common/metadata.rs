//! `metadata`, which all kinds have.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`. Most kinds run these checks as
//! part of their own (`validate`, `validate_update`) with their own rule for names; the server runs
//! them too, with `names::path_segment` as the rule: after `validate`, and before `validate_update`.

use super::{IMMUTABLE, NEGATIVE, NameRule, labels};
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::HashSet;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path, Raw};
use stowplan_apimachinery::limits::ERRORS_TOLD_BYTES_MAX;
use stowplan_apimachinery::{View, go, names};

const ANNOTATIONS_BYTES_MAX: usize = 256 << 10;
const MANAGER_BYTES_MAX: usize = 128;
const SUBRESOURCE_BYTES_MAX: usize = 256;

/// Faults of the metadata of a new object (`ValidateObjectMeta`), whose name has been generated.
pub fn validate(
    metadata: &Value,
    namespaced: bool,
    rule: NameRule<'_>,
    path: &Path<'_>,
) -> ErrorList {
    let mut errors = validate_names(metadata, rule, path);
    errors.extend(validate_namespace(metadata, namespaced, path));
    let generation = metadata.int("generation").unwrap_or_default();
    if generation < 0 {
        errors.push(Error::invalid(
            &path.child("generation"),
            generation,
            NEGATIVE,
        ));
    }
    errors.extend(labels::validate(
        metadata.at("labels"),
        &path.child("labels"),
    ));
    errors.extend(validate_annotations(
        metadata.at("annotations"),
        &path.child("annotations"),
    ));
    errors.extend(validate_owner_references(
        metadata.list("ownerReferences"),
        &path.child("ownerReferences"),
    ));
    errors.extend(validate_finalizers(
        metadata.list("finalizers"),
        &path.child("finalizers"),
    ));
    errors.extend(validate_managed_fields(
        metadata.list("managedFields"),
        &path.child("managedFields"),
    ));
    errors
}

/// Faults of the name of a new object, and of what it was generated from.
pub fn validate_names(metadata: &Value, rule: NameRule<'_>, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let generate_name = metadata.text("generateName");
    if !generate_name.is_empty() {
        let at = path.child("generateName");
        let faults = rule(generate_name, true).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(&at, generate_name, fault)));
    }
    let name = metadata.text("name");
    let at = path.child("name");
    if name.is_empty() {
        errors.push(Error::required(&at, "name or generateName is required"));
    } else {
        let faults = rule(name, false).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(&at, name, fault)));
    }
    errors
}

fn validate_namespace(metadata: &Value, namespaced: bool, path: &Path<'_>) -> ErrorList {
    let at = path.child("namespace");
    let namespace = metadata.text("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => vec![Error::required(&at, "")],
        (true, false) => {
            let faults = names::dns1123_label(namespace).into_iter();
            faults
                .map(|fault| Error::invalid(&at, namespace, fault))
                .collect()
        }
        (false, true) => ErrorList::new(),
        (false, false) => vec![Error::forbidden(&at, "not allowed on this type")],
    }
}

/// Faults of a change of metadata (`ValidateObjectMetaUpdate`).
pub fn validate_update(new: &Value, old: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if old.has("deletionTimestamp") {
        errors.extend(validate_no_new_finalizers(new, old, path));
    }
    if new.text("resourceVersion").is_empty() {
        errors.push(Error::invalid(
            &path.child("resourceVersion"),
            "",
            "must be specified for an update",
        ));
    }
    let generation = new.int("generation").unwrap_or_default();
    if generation < old.int("generation").unwrap_or_default() {
        errors.push(Error::invalid(
            &path.child("generation"),
            generation,
            "must not be decremented",
        ));
    }
    for field in ["name", "namespace", "uid"] {
        if new.text(field) != old.text(field) {
            errors.push(Error::invalid(
                &path.child(field),
                new.text(field),
                IMMUTABLE,
            ));
        }
    }
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        errors.extend(immutable(new, old, path, field));
    }
    errors.extend(labels::validate(new.at("labels"), &path.child("labels")));
    errors.extend(validate_annotations(
        new.at("annotations"),
        &path.child("annotations"),
    ));
    errors.extend(validate_owner_references(
        new.list("ownerReferences"),
        &path.child("ownerReferences"),
    ));
    errors.extend(validate_managed_fields(
        new.list("managedFields"),
        &path.child("managedFields"),
    ));
    errors
}

/// A field that has to stay as it was: absent and null are the same.
pub fn immutable(new: &Value, old: &Value, path: &Path<'_>, field: &str) -> Option<Error> {
    let (new, old) = (new.at(field), old.at(field));
    (new != old).then(|| Error::invalid(&path.child(field), new, IMMUTABLE))
}

/// Faults of a map of annotations.
pub fn validate_annotations(annotations: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        // A qualified name, except that case does not matter.
        let faults = names::label_key(&key.to_lowercase()).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(path, key, fault)));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_BYTES_MAX {
        errors.push(Error::too_long(path, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

fn validate_owner_references(references: &[Value], path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let named = |owner: &Value| format!("{}/{}", owner.text("kind"), owner.text("name"));
    let mut controller = None;
    // All are shown with each that is one too many: that is enough of them.
    let shown: OnceCell<String> = OnceCell::new();
    let mut shown_bytes = 0;
    for reference in references {
        errors.extend(validate_owner_reference(reference, path));
        if !reference.flag("controller") {
            continue;
        }
        match controller {
            None => controller = Some(reference),
            Some(_) if shown_bytes > ERRORS_TOLD_BYTES_MAX => {}
            Some(first) => {
                let (first, this) = (named(first), named(reference));
                let shown = shown.get_or_init(|| {
                    let shown: Vec<String> = references.iter().map(shown_owner).collect();
                    format!("[{}]", shown.join(","))
                });
                shown_bytes += shown.len();
                errors.push(Error::invalid(
                    path,
                    Raw(shown),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    ),
                ));
            }
        }
    }
    errors
}

fn validate_owner_reference(reference: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let api_version = reference.text("apiVersion");
    let (group, version) = split_api_version(api_version);
    if version.is_empty() {
        errors.push(Error::invalid(
            &path.child("apiVersion"),
            api_version,
            "version must not be empty",
        ));
    }
    for field in ["kind", "name", "uid"] {
        if reference.text(field).is_empty() {
            errors.push(Error::invalid(&path.child(field), "", "must not be empty"));
        }
    }
    if (group, version, reference.text("kind")) == ("", "v1", "Event") {
        errors.push(Error::invalid(
            path,
            Raw(&shown_owner(reference)),
            "/v1, Kind=Event is disallowed from being an owner",
        ));
    }
    errors
}

/// Group and version; what has more than one slash has neither.
fn split_api_version(text: &str) -> (&str, &str) {
    match text.split_once('/') {
        None => ("", text),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(both) => both,
    }
}

/// An owner reference as Go's encoder writes it.
fn shown_owner(reference: &Value) -> String {
    let mut parts: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .into_iter()
        .map(|field| format!("\"{field}\":{}", Value::from(reference.text(field))))
        .collect();
    for field in ["controller", "blockOwnerDeletion"] {
        if reference.has(field) {
            parts.push(format!("\"{field}\":{}", reference.at(field)));
        }
    }
    format!("{{{}}}", parts.join(","))
}

fn validate_finalizers(finalizers: &[Value], path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let texts = || finalizers.iter().filter_map(Value::as_str);
    for finalizer in texts() {
        errors.extend(validate_finalizer_name(finalizer, path));
    }
    if texts().any(|f| f == "orphan") && texts().any(|f| f == "foregroundDeletion") {
        errors.push(Error::invalid(
            path,
            Value::Array(finalizers.to_vec()),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

/// Faults of one finalizer of any kind (`ValidateFinalizerName` of apimachinery).
pub fn validate_finalizer_name(finalizer: &str, path: &Path<'_>) -> ErrorList {
    let faults = names::label_key(finalizer).into_iter();
    faults
        .map(|fault| Error::invalid(path, finalizer, fault))
        .collect()
}

fn validate_no_new_finalizers(new: &Value, old: &Value, path: &Path<'_>) -> Option<Error> {
    let before: HashSet<&Value> = old.list("finalizers").iter().collect();
    let mut added: Vec<&str> = new
        .list("finalizers")
        .iter()
        .filter(|f| !before.contains(*f))
        .filter_map(Value::as_str)
        .collect();
    added.sort_unstable();
    added.dedup();
    let quoted: Vec<String> = added.iter().map(|f| go::quote(f)).collect();
    (!added.is_empty()).then(|| {
        Error::forbidden(
            &path.child("finalizers"),
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                quoted.join(", ")
            ),
        )
    })
}

fn validate_managed_fields(entries: &[Value], path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for (i, entry) in entries.iter().enumerate() {
        let path = path.index(i);
        let operation = entry.text("operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push(Error::invalid(
                &path.child("operation"),
                operation,
                "must be `Apply` or `Update`",
            ));
        }
        let fields_type = entry.text("fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(Error::invalid(
                &path.child("fieldsType"),
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        errors.extend(validate_field_manager(
            entry.text("manager"),
            &path.child("manager"),
        ));
        if entry.text("subresource").len() > SUBRESOURCE_BYTES_MAX {
            errors.push(Error::too_long(
                &path.child("subresource"),
                SUBRESOURCE_BYTES_MAX,
            ));
        }
    }
    errors
}

/// Faults of the name of a field manager, in an object or among a request's options.
pub fn validate_field_manager(manager: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if manager.len() > MANAGER_BYTES_MAX {
        errors.push(Error::too_long(path, MANAGER_BYTES_MAX));
    }
    for (i, c) in manager.char_indices() {
        if !go::is_printable(c) {
            errors.push(Error::invalid(
                path,
                manager,
                format!("invalid character U+{:04X} (at position {i})", u32::from(c)),
            ));
        }
    }
    errors
}

/// Faults of an integer that may not be negative.
pub fn non_negative(value: i64, path: &Path<'_>) -> Option<Error> {
    (value < 0).then(|| Error::other(ErrorKind::Invalid, path, Some(value.to_string()), NEGATIVE))
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
