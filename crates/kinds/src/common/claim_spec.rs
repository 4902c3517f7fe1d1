//! The spec of a claim for storage, wherever it stands: in a PersistentVolumeClaim, a template of a
//! StatefulSet, an ephemeral volume.
//!
//! Upstream: `ValidatePersistentVolumeClaimSpec` in `pkg/apis/core/validation/validation.go` and
//! `pkg/api/persistentvolumeclaim/util.go`.

use super::faults::Faults;
use super::labels::{self, SelectorOptions};
use super::{name_rules, quantities};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, names};

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// What an old claim may be forgiven.
#[derive(Clone, Copy, Default, Debug)]
pub struct ClaimOptions {
    /// The stored claim has a bad value in its selector already.
    pub allow_invalid_selector_values: bool,
    /// The stored claim names the API group of its source already.
    pub allow_invalid_api_group: bool,
}

/// Faults of a claim's spec.
pub fn validate(spec: &Value, options: ClaimOptions, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    validate_access(spec, options, path, &mut errors);
    validate_storage(spec, path, &mut errors);
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        let faults = name_rules::dns_subdomain(class, false);
        errors.invalid_each(&path.child("storageClassName"), class, faults);
    }
    let mode = spec.text("volumeMode");
    if spec.has("volumeMode") && !VOLUME_MODES.contains(&mode) {
        errors.not_supported(&path.child("volumeMode"), mode, &VOLUME_MODES);
    }
    validate_sources(spec, options, path, &mut errors);
    let class = spec.text("volumeAttributesClassName");
    if !class.is_empty() {
        let faults = name_rules::dns_subdomain(class, false);
        errors.invalid_each(&path.child("volumeAttributesClassName"), class, faults);
    }
    errors
}

fn validate_access(spec: &Value, options: ClaimOptions, path: &Path<'_>, errors: &mut ErrorList) {
    let at = path.child("accessModes");
    let modes = || spec.list("accessModes").iter().filter_map(Value::as_str);
    if modes().next().is_none() {
        errors.required(&at, "at least 1 access mode is required");
    }
    if spec.has("selector") {
        let options = SelectorOptions {
            allow_invalid_values: options.allow_invalid_selector_values,
        };
        let selector = spec.at("selector");
        errors.extend(labels::validate_selector(
            selector,
            options,
            &path.child("selector"),
        ));
    }
    for mode in modes().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.not_supported(&at, mode, &ACCESS_MODES);
    }
    let alone = |mode: &str| mode == "ReadWriteOncePod";
    let other = |mode: &str| !alone(mode) && ACCESS_MODES.contains(&mode);
    if modes().any(alone) && modes().any(other) {
        errors.forbidden(&at, "may not use ReadWriteOncePod with other access modes");
    }
}

fn validate_storage(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let resources = path.child("resources");
    let at = resources.key("storage");
    let storage = spec.path(&["resources", "requests", "storage"]);
    if storage.is_null() {
        errors.required(&at, "");
    } else {
        quantities::positive(&Quantity::of(storage), &at, errors);
    }
}

fn validate_sources(spec: &Value, options: ClaimOptions, path: &Path<'_>, errors: &mut ErrorList) {
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    if !source.is_null() {
        validate_source(source, options, &path.child("dataSource"), errors);
    }
    if !reference.is_null() {
        let at = path.child("dataSourceRef");
        validate_source(reference, options, &at, errors);
        let namespace = reference.text("namespace");
        if !namespace.is_empty() {
            let faults = names::dns1123_label(namespace);
            errors.invalid_each(&at.child("namespace"), namespace, faults);
        }
    }
    if source.is_null() || reference.is_null() {
        return;
    }
    // Upstream prints a path where the value should be, and that has nothing to show.
    let nothing = Raw("{}");
    if !reference.text("namespace").is_empty() {
        errors.invalid(
            path,
            nothing,
            "may not be specified when dataSourceRef.namespace is specified",
        );
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|field| source.at(field) != reference.at(field))
    {
        errors.invalid(path, nothing, "must match dataSourceRef");
    }
}

fn validate_source(source: &Value, options: ClaimOptions, path: &Path<'_>, errors: &mut ErrorList) {
    for field in ["name", "kind"] {
        if source.text(field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
    let group = source.text("apiGroup");
    let kind = source.text("kind");
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.invalid(
            path,
            kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        );
    }
    if !group.is_empty() && !options.allow_invalid_api_group {
        let faults = names::dns1123_subdomain(group);
        errors.invalid_each(&path.child("apiGroup"), group, faults);
    }
}

/// What to tell of an accepted claim: storage is counted in whole bytes.
pub fn warnings(spec: &Value, path: &Path<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let resources = path.child("resources");
    for half in ["requests", "limits"] {
        let storage = spec.at("resources").at(half).at("storage");
        if storage.is_null() {
            continue;
        }
        let quantity = Quantity::of(storage);
        if quantity.milli_value() % 1000 != 0 {
            let list = resources.child(half);
            warnings.push(format!(
                "{}: fractional byte value \"{quantity}\" is invalid, must be an integer",
                list.key("storage")
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(spec: Value) -> Vec<String> {
        let errors = validate(&spec, ClaimOptions::default(), &Path::new("spec"));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn access_and_storage_are_needed() {
        assert_eq!(
            faults(json!({})),
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ]
        );
        assert_eq!(
            faults(json!({
                "accessModes": ["ReadWriteOncePod", "ReadOnlyMany", "x"],
                "resources": {"requests": {"storage": "0"}},
            })),
            [
                "spec.accessModes: Unsupported value: \"x\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
                "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
            ]
        );
    }

    #[test]
    fn sources_agree() {
        let spec = json!({
            "accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1"}},
            "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
            "dataSourceRef": {"kind": "VolumeSnapshot", "name": "a"},
        });
        assert_eq!(
            faults(spec),
            [
                "spec.dataSourceRef: Invalid value: \"VolumeSnapshot\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
                "spec: Invalid value: {}: must match dataSourceRef",
            ]
        );
    }

    #[test]
    fn bytes_are_whole() {
        let spec = json!({"resources": {"requests": {"storage": "1500m"}}});
        assert_eq!(
            warnings(&spec, &Path::new("spec")),
            [
                "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer"
            ]
        );
    }
}
