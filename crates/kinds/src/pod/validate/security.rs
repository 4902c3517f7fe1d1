//! Security contexts, of pods and of containers.

use super::windows;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::paths;
use crate::pod::options::Options;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const PROFILE_BYTES_MAX: usize = 4095;
const SYSCTL_BYTES_MAX: usize = 253;

fn validate_ids(context: &Value, fields: &[&str], path: &Path<'_>, errors: &mut ErrorList) {
    for field in fields {
        if let Some(id) = context.int(field) {
            errors.invalid_each(&path.child(field), id, names::user_or_group_id(id));
        }
    }
}

pub(super) fn validate_container(
    context: &Value,
    host_users: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if context.is_null() {
        return;
    }
    validate_ids(context, &["runAsUser", "runAsGroup"], path, errors);
    if context.has("procMount") {
        let (mount, at) = (context.text("procMount"), path.child("procMount"));
        if !matches!(mount, "Default" | "Unmasked") {
            errors.not_supported(&at, mount, &["Default", "Unmasked"]);
        }
        if host_users && mount == "Unmasked" {
            errors.invalid(&at, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    validate_seccomp(context, &path.child("seccompProfile"), errors);
    if context.at("allowPrivilegeEscalation") == &Value::Bool(false) {
        if context.flag("privileged") {
            errors.invalid(
                path,
                Internal(context),
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            );
        }
        for capability in context.at("capabilities").list("add") {
            if capability == "CAP_SYS_ADMIN" {
                errors.invalid(
                    path,
                    Internal(context),
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
                );
            }
        }
    }
    windows::validate_options(context, &path.child("windowsOptions"), errors);
    validate_app_armor(context, &path.child("appArmorProfile"), errors);
}

pub(super) fn validate_pod(
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let context = spec.at("securityContext");
    validate_ids(
        context,
        &["fsGroup", "runAsUser", "runAsGroup"],
        path,
        errors,
    );
    let groups = path.child("supplementalGroups");
    for (i, id) in context.list("supplementalGroups").iter().enumerate() {
        let id = id.as_i64().unwrap_or_default();
        errors.invalid_each(&groups.index(i), id, names::user_or_group_id(id));
    }
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        errors.invalid(
            &path.child("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        );
    }
    validate_sysctls(spec, options, &path.child("sysctls"), errors);
    let word = |field: &str, known: &[&str], errors: &mut ErrorList| {
        let word = context.text(field);
        if context.has(field) && !known.contains(&word) {
            errors.not_supported(&path.child(field), word, known);
        }
    };
    word("fsGroupChangePolicy", &["Always", "OnRootMismatch"], errors);
    validate_seccomp(context, &path.child("seccompProfile"), errors);
    windows::validate_options(context, &path.child("windowsOptions"), errors);
    validate_app_armor(context, &path.child("appArmorProfile"), errors);
    word("supplementalGroupsPolicy", &["Merge", "Strict"], errors);
    match options.any_selinux_policy {
        true => word("seLinuxChangePolicy", &["MountOption", "Recursive"], errors),
        false => word("seLinuxChangePolicy", &["Recursive"], errors),
    }
}

fn validate_seccomp(context: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let profile = context.at("seccompProfile");
    if profile.is_null() {
        return;
    }
    let kind = profile.text("type");
    match kind {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => errors.required(
            &path.child("type"),
            "type is required when seccompProfile is set",
        ),
        other => errors.not_supported(
            &path.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
    let at = path.child("localhostProfile");
    match (kind == "Localhost", profile.has("localhostProfile")) {
        (true, false) => errors.required(&at, "must be set when seccomp type is Localhost"),
        (true, true) => paths::local_descending(profile.text("localhostProfile"), &at, errors),
        (false, true) => errors.invalid(
            &at,
            Internal(profile),
            "can only be set when seccomp type is Localhost",
        ),
        (false, false) => {}
    }
}

fn validate_app_armor(context: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const NEEDED: &str = "must be set when AppArmor type is Localhost";
    let profile = context.at("appArmorProfile");
    if profile.is_null() {
        return;
    }
    let at = path.child("localhostProfile");
    let given = profile.has("localhostProfile");
    let name = profile.text("localhostProfile");
    match profile.text("type") {
        "Localhost" if !given => errors.required(&at, NEEDED),
        "Localhost" => {
            if name.trim() != name {
                errors.invalid(&at, name, "must not be padded with whitespace");
            } else if name.is_empty() {
                errors.required(&at, NEEDED);
            }
            if name.len() > PROFILE_BYTES_MAX {
                errors.push(Error::too_long(&at, PROFILE_BYTES_MAX));
            }
        }
        "RuntimeDefault" | "Unconfined" if given => {
            errors.invalid(&at, name, "can only be set when AppArmor type is Localhost");
        }
        "RuntimeDefault" | "Unconfined" => {}
        "" => errors.required(
            &path.child("type"),
            "type is required when appArmorProfile is set",
        ),
        other => errors.not_supported(
            &path.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
}

fn validate_sysctls(spec: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    for (i, sysctl) in spec
        .at("securityContext")
        .list("sysctls")
        .iter()
        .enumerate()
    {
        let item = path.index(i);
        let at = item.child("name");
        let name = sysctl.text("name");
        if name.is_empty() {
            errors.required(&at, "");
        } else if !is_sysctl(name) {
            errors.invalid(
                &at,
                name,
                format!(
                    "must have at most {SYSCTL_BYTES_MAX} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
                ),
            );
        } else if taken.contains(name) {
            errors.duplicate(&at, name);
        }
        if !options.host_sysctls
            && let Some(fault) = host_sysctl_fault(name, spec)
        {
            errors.invalid(&at, name, fault);
        }
        taken.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let segment = |text: &str| {
        let bytes = text.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        let inner = |b: u8| edge(b) || matches!(b, b'-' | b'_');
        ends.iter().all(|b| b.is_some_and(|b| edge(*b))) && text.bytes().all(inner)
    };
    name.len() <= SYSCTL_BYTES_MAX && name.split(['.', '/']).all(segment)
}

/// A sysctl of a namespace that the pod shares with its host is not the pod's to set.
fn host_sysctl_fault(name: &str, spec: &Value) -> Option<&'static str> {
    let name = normalized(name);
    let name = name.split('*').next().unwrap_or_default();
    let of_ipc = name.starts_with("fs.mqueue.")
        || matches!(
            name,
            "kernel.sem"
                | "kernel.shmall"
                | "kernel.shmmax"
                | "kernel.shmmni"
                | "kernel.shm_rmid_forced"
                | "kernel.shm"
                | "kernel.msgmax"
                | "kernel.msgmnb"
                | "kernel.msgmni"
                | "kernel.msg"
        );
    if spec.flag("hostNetwork") && name.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if spec.flag("hostIPC") && of_ipc {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

/// If a slash comes first, slashes separate and dots are part of the names.
fn normalized(name: &str) -> String {
    match name.find(['.', '/']).map(|at| name[at..].starts_with('/')) {
        Some(true) => name
            .chars()
            .map(|c| match c {
                '.' => '/',
                '/' => '.',
                other => other,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

/// Whether a stored pod sets a sysctl that it shares with its host.
pub(in crate::pod) fn has_host_sysctls(spec: &Value) -> bool {
    let sysctls = spec.at("securityContext").list("sysctls").iter();
    sysctls
        .map(|sysctl| sysctl.text("name"))
        .any(|name| host_sysctl_fault(name, spec).is_some())
}

/// A pod with users of its own shares no other namespace with its host.
pub(super) fn validate_host_users(
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    const REFUSED: &str = "when `hostUsers` is false";
    if spec.at("hostUsers") != &Value::Bool(false) {
        return;
    }
    if spec.flag("hostNetwork") && !options.user_namespace_on_host_network {
        errors.forbidden(&path.child("hostNetwork"), REFUSED);
    }
    if spec.flag("hostPID") {
        errors.forbidden(&path.child("HostPID"), REFUSED);
    }
    if spec.flag("hostIPC") {
        errors.forbidden(&path.child("HostIPC"), REFUSED);
    }
    if !options.user_namespace_with_devices {
        super::each_container(spec, path, |container, at| {
            if !container.list("volumeDevices").is_empty() {
                errors.forbidden(&at.child("volumeDevices"), REFUSED);
            }
        });
    }
}
