//! Where containers mount volumes, and block devices.

use super::volumes::Volumes;
use crate::common::faults::Faults;
use crate::common::paths;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

/// What the elements of a list have in a field.
fn texts<'a>(list: &'a [Value], field: &str) -> BTreeSet<&'a str> {
    list.iter().map(|element| element.text(field)).collect()
}

pub(super) fn validate_mounts(
    container: &Value,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let devices = texts(container.list("volumeDevices"), "name");
    let device_paths = texts(container.list("volumeDevices"), "devicePath");
    let mut taken = BTreeSet::new();
    for (i, mount) in container.list("volumeMounts").iter().enumerate() {
        let at = path.index(i);
        let (name, target) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.required(&at.child("name"), "");
        }
        if !volumes.contains_key(name) {
            errors.not_found(&at.child("name"), name);
        }
        if target.is_empty() {
            errors.required(&at.child("mountPath"), "");
        }
        if !taken.insert(target) {
            errors.invalid(&at.child("mountPath"), target, "must be unique");
        }
        if devices.contains(name) {
            let detail = "must not already exist in volumeDevices";
            errors.invalid(&at.child("name"), name, detail);
        }
        if device_paths.contains(target) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.invalid(&at.child("mountPath"), target, detail);
        }
        validate_sub_paths(mount, &at, path, errors);
        if mount.has("mountPropagation") {
            validate_propagation(mount, container, &path.child("mountPropagation"), errors);
        }
        validate_recursive_read_only(mount, &path.child("recursiveReadOnly"), errors);
    }
}

/// Upstream places most of these faults at the list.
fn validate_sub_paths(mount: &Value, at: &Path<'_>, list: &Path<'_>, errors: &mut ErrorList) {
    let (sub_path, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
    if !sub_path.is_empty() {
        paths::local_descending(sub_path, &list.child("subPath"), errors);
    }
    if !expression.is_empty() {
        if !sub_path.is_empty() {
            errors.invalid(
                &at.child("subPathExpr"),
                expression,
                "subPathExpr and subPath are mutually exclusive",
            );
        }
        paths::local_descending(expression, &list.child("subPathExpr"), errors);
    }
}

fn validate_propagation(mount: &Value, container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const KNOWN: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    let mode = mount.text("mountPropagation");
    if !KNOWN.contains(&mode) {
        errors.not_supported(path, mode, &KNOWN);
    }
    let privileged = container.at("securityContext").flag("privileged");
    if mode == "Bidirectional" && !privileged {
        errors.forbidden(
            path,
            "Bidirectional mount propagation is available only to privileged containers",
        );
    }
}

fn validate_recursive_read_only(mount: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !mount.has("recursiveReadOnly") {
        return;
    }
    match mount.text("recursiveReadOnly") {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.flag("readOnly") {
                errors.forbidden(path, "may only be specified when readOnly is true");
            }
            if !matches!(mount.text("mountPropagation"), "" | "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.forbidden(path, detail);
            }
        }
        other => errors.not_supported(path, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

pub(super) fn validate_devices(
    container: &Value,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mounts = texts(container.list("volumeMounts"), "name");
    let mount_paths = texts(container.list("volumeMounts"), "mountPath");
    let (mut names, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for (i, device) in container.list("volumeDevices").iter().enumerate() {
        let at = path.index(i);
        let (name_at, path_at) = (at.child("name"), at.child("devicePath"));
        let (name, target) = (device.text("name"), device.text("devicePath"));
        if name.is_empty() {
            errors.required(&name_at, "");
        }
        if names.contains(name) {
            errors.invalid(&name_at, name, "must be unique");
        }
        match volumes.get(name) {
            None => errors.not_found(&name_at, name),
            Some(v) if v.has("persistentVolumeClaim") || v.has("ephemeral") => {}
            Some(_) => errors.invalid(
                &name_at,
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            ),
        }
        if target.is_empty() {
            errors.required(&path_at, "");
        }
        if targets.contains(target) {
            errors.invalid(&path_at, target, "must be unique");
        }
        if target.split('/').any(|part| part == "..") {
            errors.invalid(&path_at, target, "can not contain backsteps ('..')");
        } else {
            targets.insert(target);
        }
        if mounts.contains(name) {
            errors.invalid(&name_at, name, "must not already exist in volumeMounts");
        }
        if mount_paths.contains(target) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.invalid(&path_at, target, detail);
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
