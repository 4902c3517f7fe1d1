//! The checks of AppArmor, SELinux and seccomp settings.

use super::checks::{Pod, Violation, plural, quoted, quoted_set, setters, these_containers};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::{View, go};

const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

fn is_usual(kind: &str) -> bool {
    matches!(kind, "RuntimeDefault" | "Localhost")
}

/// The type of a profile, where it is set to something unusual.
fn unusual<'a>(context: &'a Value, field: &str) -> Option<&'a str> {
    let profile = context.at(field);
    let kind = profile.text("type");
    (!profile.is_null() && !is_usual(kind)).then_some(kind)
}

/// Who sets an unusual profile, and which they are.
fn unusual_setters<'a>(pod: &Pod<'a>, field: &str) -> (bool, Vec<&'a str>, BTreeSet<String>) {
    let mut values = BTreeSet::new();
    let by_pod = unusual(pod.context(), field);
    values.extend(by_pod.map(str::to_owned));
    let mut names = Vec::new();
    for container in pod.containers() {
        if let Some(kind) = unusual(container.at("securityContext"), field) {
            names.push(container.text("name"));
            values.insert(kind.to_owned());
        }
    }
    (by_pod.is_some(), names, values)
}

pub(super) fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    let (by_pod, names, values) = unusual_setters(pod, "appArmorProfile");
    let mut who: Vec<String> = setters(by_pod, &names).into_iter().collect();
    let allowed =
        |value: &str| matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
    let mut values: Vec<String> = values.into_iter().collect();
    let annotations = pod.metadata.entries("annotations");
    let mut annotated: Vec<String> = annotations
        .filter(|(key, _)| key.starts_with(APP_ARMOR_ANNOTATION))
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        .filter(|(_, value)| !allowed(value))
        .map(|(key, value)| format!("{key}={}", go::quote(value)))
        .collect();
    if !annotated.is_empty() {
        annotated.sort();
        who.push(plural("annotation", "annotations", annotated.len()).to_owned());
        values.extend(annotated);
    }
    if who.is_empty() {
        return None;
    }
    Violation::new(
        plural(
            "forbidden AppArmor profile",
            "forbidden AppArmor profiles",
            values.len(),
        ),
        format!(
            "{} must not set AppArmor profile type to {}",
            who.join(" and "),
            quoted(values.iter().map(String::as_str))
        ),
    )
}

pub(super) fn se_linux(pod: &Pod<'_>) -> Option<Violation> {
    let allowed = |kind: &str| {
        matches!(
            kind,
            "" | "container_t" | "container_init_t" | "container_kvm_t"
        ) || (pod.minor >= 31 && kind == "container_engine_t")
    };
    let mut kinds = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut is_bad = |context: &Value| {
        let options = context.at("seLinuxOptions");
        let kind = options.text("type");
        if !allowed(kind) {
            kinds.insert(kind.to_owned());
        }
        let sets = |field: &str| !options.text(field).is_empty();
        user |= sets("user");
        role |= sets("role");
        !allowed(kind) || sets("user") || sets("role")
    };
    let by_pod = is_bad(pod.context());
    let mut names = Vec::new();
    for container in pod.containers() {
        if is_bad(container.at("securityContext")) {
            names.push(container.text("name"));
        }
    }
    let who = setters(by_pod, &names)?;
    let mut data = Vec::new();
    if !kinds.is_empty() {
        let word = plural("type", "types", kinds.len());
        data.push(format!("{word} {}", quoted_set(&kinds)));
    }
    if user {
        data.push("user may not be set".to_owned());
    }
    if role {
        data.push("role may not be set".to_owned());
    }
    Violation::new(
        "seLinuxOptions",
        format!(
            "{who} set forbidden securityContext.seLinuxOptions: {}",
            data.join("; ")
        ),
    )
}

/// Before 1.19 seccomp was set in annotations.
pub(super) fn seccomp_baseline(pod: &Pod<'_>) -> Option<Violation> {
    match pod.minor < 19 {
        true => seccomp_annotations(pod),
        false => explicit_seccomp(pod),
    }
}

fn seccomp_annotations(pod: &Pod<'_>) -> Option<Violation> {
    let annotations = pod.metadata.at("annotations");
    let names = pod.containers().map(|c| c.text("name"));
    let keys = names.map(|name| format!("{SECCOMP_ANNOTATION}{name}"));
    let allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let mut forbidden = BTreeSet::new();
    for key in [SECCOMP_POD_ANNOTATION.to_owned()].into_iter().chain(keys) {
        if let Some(value) = annotations.at(&key).as_str().filter(|v| !allowed(v)) {
            forbidden.insert(format!("{key}={}", go::quote(value)));
        }
    }
    if forbidden.is_empty() {
        return None;
    }
    let word = plural("annotation", "annotations", forbidden.len());
    let list: Vec<String> = forbidden.into_iter().collect();
    Violation::new(
        "seccompProfile",
        format!("forbidden {word} {}", list.join(", ")),
    )
}

fn explicit_seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let (by_pod, names, values) = unusual_setters(pod, "seccompProfile");
    let who = setters(by_pod, &names)?;
    Violation::new(
        "seccompProfile",
        format!(
            "{who} must not set securityContext.seccompProfile.type to {}",
            quoted_set(&values)
        ),
    )
}

/// Restricted pods have to choose a profile.
pub(super) fn seccomp_restricted(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_exempt_windows() {
        return None;
    }
    if let Some(violation) = explicit_seccomp(pod) {
        return Some(violation);
    }
    let silent = pod.named(|context| !context.has("seccompProfile"));
    match pod.context().has("seccompProfile") || silent.is_empty() {
        true => None,
        false => Violation::new(
            "seccompProfile",
            format!(
                "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
                these_containers(&silent)
            ),
        ),
    }
}
