//! Annotations of pods that mean something to the cluster.

use crate::common::faults::Faults;
use crate::common::{paths, taints};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, go};

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether the pod mirrors one that a kubelet found in a file.
pub(super) fn is_mirror(metadata: &Value) -> bool {
    metadata.at("annotations").has(MIRROR)
}

/// Whether the deletion cost is there and no number as Go reads it.
pub(in crate::pod) fn has_bad_deletion_cost(annotations: &Value) -> bool {
    let cost = annotations.text(DELETION_COST);
    let plain =
        cost == "0" || cost.starts_with('-') || cost.starts_with(|c| ('1'..='9').contains(&c));
    annotations.has(DELETION_COST) && (!plain || cost.parse::<i32>().is_err())
}

/// The tolerations that an annotation lists, or what Go says about it. Upstream:
/// `GetTolerationsFromPodAnnotations`; the type that it reads into has no names of its own for JSON.
fn tolerations(text: &str) -> Result<Vec<Value>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |value: &Value, ty: &str| {
        let value = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Null | Value::Object(_) => "object",
        };
        Err(format!("json: cannot unmarshal {value} into Go {ty}"))
    };
    let listed = match stowplan_schema::parse_any(text.as_bytes()) {
        Err(fault) => return Err(fault.to_string()),
        Ok(Value::Null) => return Ok(Vec::new()),
        Ok(Value::Array(listed)) => listed,
        Ok(other) => return wrong(&other, "value of type []core.Toleration"),
    };
    let mut tolerations = Vec::new();
    for one in &listed {
        let mut toleration = Map::new();
        if !one.is_null() && !one.is_object() {
            return wrong(one, "value of type core.Toleration");
        }
        for (given, value) in one.as_object().into_iter().flatten() {
            let mut fields = ["Key", "Operator", "Value", "Effect", "TolerationSeconds"].iter();
            let Some(field) = fields.find(|field| field.eq_ignore_ascii_case(given)) else {
                continue;
            };
            let ty = match *field {
                "TolerationSeconds" => "int64",
                "Operator" => "core.TolerationOperator",
                "Effect" => "core.TaintEffect",
                _ => "string",
            };
            let fits = match ty {
                "int64" => value.is_i64(),
                _ => value.is_string(),
            };
            if !value.is_null() && !fits {
                return wrong(
                    value,
                    &format!("struct field Toleration.{field} of type {ty}"),
                );
            }
            let (first, rest) = field.split_at(1);
            toleration.insert(first.to_lowercase() + rest, value.clone());
        }
        tolerations.push(Value::Object(toleration));
    }
    Ok(tolerations)
}

/// Faults of the annotations of a pod or template with that spec.
pub(super) fn validate(
    annotations: &Value,
    spec: &Value,
    bad_deletion_cost: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if annotations.has(MIRROR) && spec.text("nodeName").is_empty() {
        errors.invalid(
            &path.key(MIRROR),
            annotations.text(MIRROR),
            "must set spec.nodeName if mirror pod annotation is set",
        );
    }
    match tolerations(annotations.text(TOLERATIONS)) {
        Err(why) => errors.invalid(path, TOLERATIONS, why),
        Ok(tolerations) => {
            let at = path.child(TOLERATIONS);
            errors.extend(taints::validate_tolerations(&tolerations, &at));
        }
    }
    if !bad_deletion_cost && has_bad_deletion_cost(annotations) {
        errors.invalid(
            &path.key(DELETION_COST),
            annotations.text(DELETION_COST),
            "must be a 32bit integer",
        );
    }
    if annotations.has(SECCOMP_POD) {
        let profile = annotations.text(SECCOMP_POD);
        validate_seccomp(profile, &path.child(SECCOMP_POD), errors);
    }
    let texts = || {
        let map = annotations.as_object().into_iter().flatten();
        map.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
    };
    for (key, profile) in texts().filter(|(key, _)| key.starts_with(SECCOMP_CONTAINER)) {
        validate_seccomp(profile, &path.child(key), errors);
    }
    let mut containers: Option<BTreeSet<&str>> = None;
    for (key, profile) in texts() {
        let Some(container) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        let at = path.key(key);
        let all = || crate::pod::options::all_containers(spec);
        let names = containers.get_or_insert_with(|| all().map(|c| c.text("name")).collect());
        if !names.contains(container) {
            errors.invalid(&at, container, "container not found");
        }
        let known = matches!(profile, "" | "runtime/default" | "unconfined");
        if !known && !profile.starts_with("localhost/") {
            let detail = format!("invalid AppArmor profile name: {}", go::quote(profile));
            errors.invalid(&at, profile, detail);
        }
    }
}

fn validate_seccomp(profile: &str, path: &Path<'_>, errors: &mut ErrorList) {
    match profile.strip_prefix("localhost/") {
        Some(local) => paths::local_descending(local, path, errors),
        None if matches!(profile, "runtime/default" | "docker/default" | "unconfined") => {}
        None => errors.invalid(path, profile, "must be a valid seccomp profile"),
    }
}

/// Faults of a change: some annotations stay as they are.
pub(super) fn validate_update(
    new: &Value,
    old: &Value,
    bad_deletion_cost: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let (before, after) = (
        old.at("metadata").at("annotations"),
        new.at("metadata").at("annotations"),
    );
    for (key, value) in before.as_object().into_iter().flatten() {
        if after.get(key) == Some(value) {
            continue;
        }
        let what = match key.as_str() {
            key if key.starts_with(APP_ARMOR) => "AppArmor annotations",
            MIRROR => "mirror pod annotation",
            _ => continue,
        };
        errors.forbidden(&path.key(key), format!("may not remove or update {what}"));
    }
    for (key, _) in after.as_object().into_iter().flatten() {
        if before.has(key) {
            continue;
        }
        let what = match key.as_str() {
            key if key.starts_with(APP_ARMOR) => "AppArmor annotations",
            MIRROR => "mirror pod annotation",
            _ => continue,
        };
        errors.forbidden(&path.key(key), format!("may not add {what}"));
    }
    validate(after, new.at("spec"), bad_deletion_cost, path, errors);
}

/// Profiles that are given twice, as annotations and as fields, agree. `path` is the spec's.
pub(super) fn validate_profiles_match(object: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let annotations = object.at("metadata").at("annotations");
    if annotations.as_object().is_none_or(Map::is_empty) {
        return;
    }
    let spec = object.at("spec");
    let context = spec.at("securityContext");
    if context.has("seccompProfile") && annotations.has(SECCOMP_POD) {
        let at = path.child("securityContext");
        let at = at.child("seccompProfile");
        let annotation = annotations.text(SECCOMP_POD);
        validate_match(
            annotation,
            context.at("seccompProfile"),
            SECCOMP,
            &at,
            errors,
        );
    }
    super::each_container(spec, path, |container, at| {
        let profile = container.at("securityContext").at("seccompProfile");
        let key = format!("{SECCOMP_CONTAINER}{}", container.text("name"));
        if !profile.is_null() && annotations.has(&key) {
            let at = at.child("securityContext");
            let at = at.child("seccompProfile");
            validate_match(annotations.text(&key), profile, SECCOMP, &at, errors);
        }
    });
    if spec.at("os").text("name") == "windows" {
        return;
    }
    super::each_container(spec, path, |container, at| {
        let own = container.at("securityContext").at("appArmorProfile");
        let profile = match own {
            Value::Null => context.at("appArmorProfile"),
            own => own,
        };
        let key = format!("{APP_ARMOR}{}", container.text("name"));
        if !profile.is_null() && annotations.has(&key) {
            let at = at.child("securityContext");
            let at = at.child("appArmorProfile");
            validate_match(annotations.text(&key), profile, ARMOR, &at, errors);
        }
    });
}

const SECCOMP: &str = "seccomp";
const ARMOR: &str = "apparmor";

fn validate_match(
    annotation: &str,
    profile: &Value,
    what: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let local = annotation.strip_prefix("localhost/");
    let same_type = match profile.text("type") {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => {
            annotation == "runtime/default" || (what == SECCOMP && annotation == "docker/default")
        }
        "Localhost" => local.is_some(),
        _ => true,
    };
    if !same_type {
        let detail = format!("{what} type in annotation and field must match");
        errors.forbidden(&path.child("type"), detail);
    } else if profile.text("type") == "Localhost"
        && profile.at("localhostProfile").as_str() != local
    {
        let detail = format!("{what} profile in annotation and field must match");
        errors.forbidden(&path.child("localhostProfile"), detail);
    }
}
