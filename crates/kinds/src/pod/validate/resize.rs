//! What `pods/resize` may change.

use super::super::options::Options;
use super::super::resources::qos_class;
use super::{SPEC, annotations, validate_metadata_and_spec};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::kube_metadata;
use crate::pod::resources::is_sidecar;
use serde_json::{Map, Value};
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

const ONLY_CPU_AND_MEMORY: &str = "only cpu and memory resources are mutable";

/// Faults of a resize (`ValidatePodResize`).
pub(in crate::pod) fn validate_resize(new: &Value, old: &Value) -> ErrorList {
    let mut errors = kube_metadata::validate_update(new, old);
    validate_metadata_and_spec(new, &Options::for_pod(old), &mut errors);
    let nowhere = Path::ROOT;
    if annotations::is_mirror(old.at("metadata")) {
        let detail = "static pods cannot be resized";
        return vec![Error::forbidden(&nowhere.key(""), detail)];
    }
    if old.path(&["spec", "os"]).text("name") == "windows" {
        let detail = "windows pods cannot be resized";
        return vec![Error::forbidden(&nowhere.key(""), detail)];
    }
    let stored = old.at("status").text("qosClass");
    let class = match stored.is_empty() {
        true => qos_class(old.at("spec")),
        false => stored,
    };
    if class != qos_class(new.at("spec")) {
        errors.invalid(
            &SPEC,
            new.at("status").text("qosClass"),
            "Pod QOS Class may not change as a result of resizing",
        );
    }
    let mut statuses = old.at("status").list("containerStatuses").iter();
    let running = statuses.find(|status| status.at("state").has("running"));
    if running.is_some_and(|status| !status.has("resources")) {
        let detail = "Pod running on node without support for resize";
        errors.forbidden(&SPEC, detail);
    }
    let mut munged = new.at("spec").clone();
    let (new, old) = (new.at("spec"), old.at("spec"));
    if has_own_resources(old) || has_own_resources(new) {
        validate_own(new, old, &mut munged, &mut errors);
    }
    if !validate_order(new, old, &mut errors) {
        return errors;
    }
    validate_removals(new, old, &mut errors);
    validate_others_unchanged(&mut munged, old, &mut errors);
    if errors.is_empty() && !same(&munged, old) {
        errors.forbidden(&SPEC, ONLY_CPU_AND_MEMORY);
    }
    errors
}

fn has_own_resources(spec: &Value) -> bool {
    let resources = spec.at("resources");
    let has = |half: &str| resources.entries(half).next().is_some();
    has("requests") || has("limits")
}

fn removed(new: &Value, old: &Value, half: &str) -> bool {
    old.entries(half).any(|(name, _)| !new.at(half).has(name))
}

/// What the pod asks for as a whole.
fn validate_own(new: &Value, old: &Value, munged: &mut Value, errors: &mut ErrorList) {
    let at = SPEC.child("resources");
    let (after, before) = (new.at("resources"), old.at("resources"));
    if !before.is_null() && after.is_null() {
        errors.forbidden(&at, "pod-level resources cannot be removed");
        return;
    }
    if !before.is_null() {
        for half in ["requests", "limits"] {
            if removed(after, before, half) {
                let detail = format!("pod-level resource {half} cannot be removed");
                errors.forbidden(&at.child(half), detail);
            }
        }
    }
    let mut own = with_old_amounts(after, before);
    let empty = own.as_object().is_some_and(Map::is_empty);
    if before.is_null() && empty {
        own = Value::Null;
    }
    if !same(&own, before) {
        let detail = "only cpu and memory resources are mutable at pod-level";
        errors.forbidden(&SPEC, detail);
    }
    match own {
        Value::Null => {
            munged.unset("resources");
        }
        own => munged.set("resources", own),
    }
}

/// The new resources with the old amounts of cpu and memory. Lists without entries are left out.
fn with_old_amounts(new: &Value, old: &Value) -> Value {
    let mut out = new.clone();
    for half in ["requests", "limits"] {
        let list = out.at_mut(half);
        for name in ["cpu", "memory"] {
            match old.at(half).at(name) {
                Value::Null => {
                    list.unset(name);
                }
                amount => list.set(name, amount.clone()),
            }
        }
        if list.as_object().is_some_and(Map::is_empty) {
            out.unset(half);
        }
    }
    out
}

/// Containers may be neither added, removed, renamed nor put in another order.
fn validate_order(new: &Value, old: &Value, errors: &mut ErrorList) -> bool {
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        let at = SPEC.child(list);
        if new.list(list).len() != old.list(list).len() {
            let detail = format!("{list} may not be added or removed on resize");
            errors.forbidden(&at, detail);
            continue;
        }
        for (i, (after, before)) in new.list(list).iter().zip(old.list(list)).enumerate() {
            if after.text("name") != before.text("name") {
                let detail = format!("{list} may not be renamed or reordered on resize");
                errors.forbidden(&at.index(i).child("name"), detail);
            }
        }
    }
    errors.len() == before
}

fn validate_removals(new: &Value, old: &Value, errors: &mut ErrorList) {
    for list in ["initContainers", "containers"] {
        let list_at = SPEC.child(list);
        for (i, (after, before)) in new.list(list).iter().zip(old.list(list)).enumerate() {
            let container = list_at.index(i);
            let at = container.child("resources");
            for half in ["requests", "limits"] {
                if removed(after.at("resources"), before.at("resources"), half) {
                    let detail = format!("resource {half} cannot be removed");
                    errors.forbidden(&at.child(half), detail);
                }
            }
        }
    }
}

/// Beyond cpu and memory the containers are what they were.
fn validate_others_unchanged(munged: &mut Value, old: &Value, errors: &mut ErrorList) {
    for (container, before) in munged.each_mut("containers").zip(old.list("containers")) {
        mask(container, before);
        if !same(container, before) {
            errors.forbidden(&SPEC, ONLY_CPU_AND_MEMORY);
        }
    }
    let list = SPEC.child("initContainers");
    let pairs = munged
        .each_mut("initContainers")
        .zip(old.list("initContainers"));
    for (i, (container, before)) in pairs.enumerate() {
        let at = list.index(i);
        let modified = !same(container, before);
        mask(container, before);
        if !same(container, before) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            errors.forbidden(&at, detail);
        }
        if !modified || is_sidecar(container) {
            continue;
        }
        for policy in container.list("resizePolicy") {
            if policy.text("restartPolicy") == "RestartContainer" {
                errors.forbidden(
                    &at,
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                );
            }
        }
    }
}

/// Gives a container its old cpu and memory. Claims of devices are lost on the way, as upstream's
/// are, so that a pod with claims cannot be resized.
fn mask(container: &mut Value, old: &Value) {
    let mut resources = with_old_amounts(container.at("resources"), old.at("resources"));
    resources.unset("claims");
    container.set("resources", resources);
}
