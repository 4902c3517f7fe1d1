//! Volumes, claims, classes.

use super::{Errors, resources, selector};
use crate::field::Path;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaimSpec};
use k8s_openapi::api::storage::v1::{CSIStorageCapacity, StorageClass};

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

fn access_modes(modes: Option<&[String]>, path: &Path, errors: &mut Errors) {
    let path = path.child("accessModes");
    let modes = modes.unwrap_or_default();
    if modes.is_empty() {
        errors.push(path.required("at least 1 access mode is required"));
    }
    for mode in modes {
        if !ACCESS_MODES.contains(&mode.as_str()) {
            errors.push(path.not_supported(mode, ACCESS_MODES));
        }
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        errors.push(path.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

fn volume_mode(mode: Option<&str>, path: &Path, errors: &mut Errors) {
    if let Some(mode) = mode
        && !["Block", "Filesystem"].contains(&mode)
    {
        errors.push(
            path.child("volumeMode")
                .not_supported(mode, &["Block", "Filesystem"]),
        );
    }
}

/// Upstream's `ValidatePersistentVolumeClaimSpec`.
pub(super) fn claim_spec(given: &PersistentVolumeClaimSpec, path: &Path, errors: &mut Errors) {
    access_modes(given.access_modes.as_deref(), path, errors);
    selector::selector(given.selector.as_ref(), &path.child("selector"), errors);
    let resources_path = path.child("resources");
    let storage_path = resources_path.key("storage");
    let requests = given
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    match requests.and_then(|requests| requests.get("storage")) {
        Some(text) => resources::positive(text, &storage_path, errors),
        None => errors.push(storage_path.required("")),
    }
    volume_mode(given.volume_mode.as_deref(), path, errors);
}

/// A PersistentVolume.
pub(super) fn volume(given: &PersistentVolume, errors: &mut Errors) {
    let path = Path::new("spec");
    let Some(spec) = &given.spec else {
        return errors.push(path.required(""));
    };
    access_modes(spec.access_modes.as_deref(), &path, errors);
    let capacity = path.child("capacity");
    match spec
        .capacity
        .as_ref()
        .and_then(|capacity| capacity.get("storage"))
    {
        Some(text) => resources::positive(text, &capacity.key("storage"), errors),
        None => errors.push(capacity.key("storage").required("")),
    }
    let required = spec
        .node_affinity
        .as_ref()
        .and_then(|affinity| affinity.required.as_ref());
    if let Some(required) = required {
        selector::node_selector(required, &path.child("nodeAffinity.required"), errors);
    }
    volume_mode(spec.volume_mode.as_deref(), &path, errors);
}

/// A StorageClass.
pub(super) fn class(given: &StorageClass, errors: &mut Errors) {
    const MODES: &[&str] = &["Immediate", "WaitForFirstConsumer"];
    if given.provisioner.is_empty() {
        errors.push(Path::new("provisioner").required(""));
    }
    if let Some(mode) = given.volume_binding_mode.as_deref()
        && !MODES.contains(&mode)
    {
        errors.push(Path::new("volumeBindingMode").not_supported(mode, MODES));
    }
}

/// A CSIStorageCapacity.
pub(super) fn capacity(given: &CSIStorageCapacity, errors: &mut Errors) {
    if given.storage_class_name.is_empty() {
        errors.push(Path::new("storageClassName").required(""));
    }
    selector::selector(
        given.node_topology.as_ref(),
        &Path::new("nodeTopology"),
        errors,
    );
    for (field, text) in [
        ("capacity", &given.capacity),
        ("maximumVolumeSize", &given.maximum_volume_size),
    ] {
        if let Some(text) = text
            && let path = Path::new(field)
            && resources::quantity(text, &path, errors).is_some_and(|amount| amount.is_negative())
        {
            errors.push(path.invalid(&text.0, "must be greater than or equal to 0"));
        }
    }
}
