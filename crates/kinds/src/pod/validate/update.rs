//! What may change about a pod.

use super::super::options::Options;
use super::{METADATA, SPEC, annotations, validate_metadata_and_spec};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::{kube_metadata, taints};
use crate::subresource::keep;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

/// Faults of a change (`ValidatePodUpdate`).
pub(in crate::pod) fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let options = Options::for_pod(old);
    let mut errors = kube_metadata::validate_update(new, old);
    validate_metadata_and_spec(new, &options, &mut errors);
    annotations::validate_update(
        new,
        old,
        options.bad_deletion_cost,
        &METADATA.child("annotations"),
        &mut errors,
    );
    let (new, old) = (new.at("spec"), old.at("spec"));
    for list in ["containers", "initContainers"] {
        if !validate_containers(new, old, list, &mut errors) {
            return errors;
        }
    }
    if !validate_deadline(new, old, &SPEC.child("activeDeadlineSeconds"), &mut errors) {
        return errors;
    }
    validate_added_tolerations(new, old, &SPEC.child("tolerations"), &mut errors);
    validate_deleted_gates(new, old, &SPEC.child("schedulingGates"), &mut errors);
    if same(new, old) {
        return errors;
    }
    let mut munged = without_mutable_fields(new, old);
    if !old.list("schedulingGates").is_empty() {
        validate_gated(&mut munged, old, &mut errors);
    }
    if !same(&munged, old) {
        errors.forbidden(
            &SPEC,
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n  core.PodSpec{\n  \t... // fields differ\n  }\n",
        );
    }
    errors
}

/// Says whether it is worth looking further.
fn validate_containers(new: &Value, old: &Value, list: &str, errors: &mut ErrorList) -> bool {
    let path = SPEC.child(list);
    if new.list(list).len() != old.list(list).len() {
        errors.forbidden(&path, "pod updates may not add or remove containers");
        return false;
    }
    for (i, container) in new.list(list).iter().enumerate() {
        let at = path.index(i);
        if container.text("image").is_empty() {
            errors.required(&at.child("image"), "");
        }
        super::containers::validate_image_padding(container, &at, errors);
    }
    true
}

/// A deadline may be set, and brought forward. Says whether it is worth looking further.
fn validate_deadline(new: &Value, old: &Value, path: &Path<'_>, errors: &mut ErrorList) -> bool {
    let seconds = |spec: &Value| spec.int("activeDeadlineSeconds");
    match (seconds(new), seconds(old)) {
        (Some(after), before) => {
            let faults = names::in_range(after, 0, i64::from(i32::MAX));
            if !faults.is_empty() {
                errors.invalid_each(path, after, faults);
                return false;
            }
            if before.is_some_and(|before| before < after) {
                let detail = "must be less than or equal to previous value";
                errors.invalid(path, after, detail);
                return false;
            }
        }
        (None, Some(_)) => errors.invalid(
            path,
            &Value::Null,
            "must not update from a positive integer to nil value",
        ),
        (None, None) => {}
    }
    true
}

fn validate_added_tolerations(new: &Value, old: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.unset("tolerationSeconds");
        toleration
    };
    let after: HashSet<Value> = new
        .list("tolerations")
        .iter()
        .map(without_seconds)
        .collect();
    let kept = |toleration: &Value| after.contains(&without_seconds(toleration));
    if !old.list("tolerations").iter().all(kept) {
        errors.forbidden(
            path,
            "existing toleration can not be modified except its tolerationSeconds",
        );
        return;
    }
    let tolerations = new.list("tolerations");
    errors.extend(taints::validate_tolerations(tolerations, path));
}

fn validate_deleted_gates(new: &Value, old: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let before = old.list("schedulingGates").iter();
    let before: HashSet<&str> = before.map(|gate| gate.text("name")).collect();
    let gates = new.list("schedulingGates").iter().enumerate();
    let last: HashMap<&str, usize> = gates.map(|(i, gate)| (gate.text("name"), i)).collect();
    for (i, gate) in new.list("schedulingGates").iter().enumerate() {
        let name = gate.text("name");
        // Of several of a name the last one is reported.
        if !before.contains(name) && last.get(name) == Some(&i) {
            errors.forbidden(
                &path.index(i).child("name"),
                format!("only deletion is allowed, but found new scheduling gate '{name}'"),
            );
        }
    }
}

/// The new spec with the old one's values where they may change.
fn without_mutable_fields(new: &Value, old: &Value) -> Value {
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        for (container, before) in munged.each_mut(list).zip(old.list(list)) {
            keep(container, before, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        keep(&mut munged, old, field);
    }
    let field = "terminationGracePeriodSeconds";
    let was_negative = old.int(field).is_some_and(|seconds| seconds < 0);
    if was_negative && munged.int(field) == Some(1) {
        keep(&mut munged, old, field);
    }
    munged
}

/// A pod that waits behind gates may still be narrowed down to fewer nodes.
fn validate_gated(munged: &mut Value, old: &Value, errors: &mut ErrorList) {
    let selector = munged.at("nodeSelector").clone();
    let before = old.at("nodeSelector");
    if !same(&selector, before) {
        let mut entries = before.as_object().into_iter().flatten();
        if !entries.all(|(key, value)| selector.get(key) == Some(value)) {
            errors.invalid(
                &SPEC.child("nodeSelector"),
                &selector,
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            );
        }
        keep(munged, old, "nodeSelector");
    }
    let new_affinity = munged.at("affinity").at("nodeAffinity").clone();
    let old_affinity = old.at("affinity").at("nodeAffinity");
    if same(&new_affinity, old_affinity) {
        return;
    }
    validate_narrowed(&new_affinity, old_affinity, errors);
    let affinity = munged.at("affinity");
    let of_pods = affinity.has("podAffinity") || affinity.has("podAntiAffinity");
    if !affinity.is_null() && !old.has("affinity") && !of_pods {
        munged.unset("affinity");
    } else if !affinity.is_null() || !old_affinity.is_null() {
        keep(
            munged.at_mut("affinity"),
            old.at("affinity"),
            "nodeAffinity",
        );
    }
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

fn validate_narrowed(new: &Value, old: &Value, errors: &mut ErrorList) {
    if !old.has(REQUIRED) {
        return;
    }
    let terms = |affinity: &Value| affinity.at(REQUIRED).at("nodeSelectorTerms").clone();
    let (new, old) = (terms(new), terms(old));
    let (affinity, nodes, required);
    affinity = SPEC.child("affinity");
    nodes = affinity.child("nodeAffinity");
    required = nodes.child(REQUIRED);
    let path = required.child("nodeSelectorTerms");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (after, before) = (list(&new), list(&old));
    if !before.is_empty() && before.len() != after.len() {
        errors.invalid(
            &path,
            Internal(&new),
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        );
        return;
    }
    for (i, (after, before)) in after.iter().zip(&before).enumerate() {
        if !has_only_additions(after, before) {
            errors.invalid(
                &path.index(i),
                Internal(after),
                "only additions are allowed (no mutations or deletions)",
            );
        }
    }
}

fn has_only_additions(new: &Value, old: &Value) -> bool {
    let fields = ["matchExpressions", "matchFields"];
    let empty = |term: &Value| fields.iter().all(|field| term.list(field).is_empty());
    if empty(old) && !empty(new) {
        return false;
    }
    fields.iter().all(|field| {
        let (after, before) = (new.list(field), old.list(field));
        after.len() >= before.len() && after.iter().zip(before).all(|(a, b)| same(a, b))
    })
}
