//! The spec of a persistent volume, of its own or inline in a VolumeAttachment.
//!
//! Upstream: `ValidatePersistentVolumeSpec` of `pkg/apis/core/validation/validation.go`.

use super::sources;
use crate::common::faults::Faults;
use crate::common::{name_rules, node_selector, quantities};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const INLINE: &str = "may not be specified in the context of inline volumes";

/// Faults of the spec of a PersistentVolume of that name. `allow_invalid_values`: the stored
/// volume's affinity has bad values already.
pub(super) fn validate(
    spec: &Value,
    name: &str,
    allow_invalid_values: bool,
    path: &Path<'_>,
) -> ErrorList {
    let mut errors = ErrorList::new();
    validate_access(spec, path, &mut errors);
    validate_capacity(spec, path, &mut errors);
    let policy = spec.text("persistentVolumeReclaimPolicy");
    if !matches!(policy, "" | "Delete" | "Recycle" | "Retain") {
        let known = &["Delete", "Recycle", "Retain"];
        errors.not_supported(&path.child("persistentVolumeReclaimPolicy"), policy, known);
    }
    validate_affinity(spec, allow_invalid_values, path, &mut errors);
    sources::validate(spec, name, path, &mut errors);
    validate_recycling(spec, path, &mut errors);
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        let faults = name_rules::dns_subdomain(class, false);
        errors.invalid_each(&path.child("storageClassName"), class, faults);
    }
    if let Some(mode) = spec.at("volumeMode").as_str()
        && !matches!(mode, "Block" | "Filesystem")
    {
        let known = &["Block", "Filesystem"];
        errors.not_supported(&path.child("volumeMode"), mode, known);
    }
    if let Some(class) = spec.at("volumeAttributesClassName").as_str() {
        let at = path.child("volumeAttributesClassName");
        match class {
            "" => errors.required(&at, "an empty string is disallowed"),
            class => errors.invalid_each(&at, class, name_rules::dns_subdomain(class, false)),
        }
        if !spec.has("csi") {
            let fault = "has to be specified when using volumeAttributesClassName";
            errors.required(&path.child("csi"), fault);
        }
    }
    errors
}

/// Faults of a spec that stands for a volume without an object.
pub(crate) fn validate_inline(spec: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if spec.has("claimRef") {
        errors.forbidden(&path.child("claimRef"), INLINE);
    }
    if spec.entries("capacity").next().is_some() {
        errors.forbidden(&path.child("capacity"), INLINE);
    }
    if !spec.has("csi") {
        let fault = "has to be specified in the context of inline volumes";
        errors.required(&path.child("csi"), fault);
    }
    validate_access(spec, path, &mut errors);
    if !matches!(spec.text("persistentVolumeReclaimPolicy"), "" | "Retain") {
        let fault = "may only be Retain in the context of inline volumes";
        errors.forbidden(&path.child("persistentVolumeReclaimPolicy"), fault);
    }
    if spec.has("nodeAffinity") {
        errors.forbidden(&path.child("nodeAffinity"), INLINE);
    }
    sources::validate(spec, "", path, &mut errors);
    validate_recycling(spec, path, &mut errors);
    if !spec.text("storageClassName").is_empty() {
        errors.forbidden(&path.child("storageClassName"), INLINE);
    }
    if !matches!(spec.at("volumeMode").as_str(), None | Some("Filesystem")) {
        let fault =
            "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.forbidden(&path.child("volumeMode"), fault);
    }
    errors
}

fn validate_access(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let path = path.child("accessModes");
    let modes = || spec.list("accessModes").iter().filter_map(Value::as_str);
    if modes().next().is_none() {
        errors.required(&path, "");
    }
    for mode in modes().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.not_supported(&path, mode, ACCESS_MODES);
    }
    let alone = |mode: &str| mode == "ReadWriteOncePod";
    let other = |mode: &str| !alone(mode) && ACCESS_MODES.contains(&mode);
    if modes().any(alone) && modes().any(other) {
        errors.forbidden(
            &path,
            "may not use ReadWriteOncePod with other access modes",
        );
    }
}

fn validate_capacity(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let path = path.child("capacity");
    let capacity = spec.at("capacity");
    let count = spec.entries("capacity").count();
    if count == 0 {
        errors.required(&path, "");
    }
    if !capacity.has("storage") || count > 1 {
        errors.not_supported(&path, capacity, &["storage"]);
    }
    for (resource, amount) in spec.entries("capacity") {
        let path = path.key(resource);
        let amount = Quantity::of(amount);
        if amount.value() < 0 {
            errors.invalid(&path, amount.value(), "must be a valid resource quantity");
        }
        quantities::positive(&amount, &path, errors);
    }
}

fn validate_affinity(
    spec: &Value,
    allow_invalid_values: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if !spec.has("nodeAffinity") {
        return;
    }
    let path = path.child("nodeAffinity");
    let path = path.child("required");
    match spec.at("nodeAffinity").at("required") {
        Value::Null => errors.required(&path, "must specify required node constraints"),
        required => {
            errors.extend(node_selector::validate(
                required,
                allow_invalid_values,
                &path,
            ));
        }
    }
}

/// The root of a host is not swept clean.
fn validate_recycling(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let target = spec.at("hostPath").text("path");
    let root = target.starts_with('/') && target.split('/').all(|part| matches!(part, "" | "."));
    if root && spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        let fault = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(&path.child("persistentVolumeReclaimPolicy"), fault);
    }
}
