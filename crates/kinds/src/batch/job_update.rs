//! What may change about a job.

use crate::common::IMMUTABLE;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::labels;
use crate::subresource::keep;
use serde_json::{Map, Value};
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View};

const SPEC: Path<'static> = Path::new("spec");

/// Faults of a change, beyond those of the job as it stands (`ValidateJobSpecUpdate`).
pub(super) fn validate(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (after, before) = (new.at("spec"), old.at("spec"));
    validate_completions(after, before, &SPEC.child("completions"), errors);
    if !same(after.at("selector"), before.at("selector")) {
        let shown = labels::shown(after.at("selector"));
        errors.invalid(&SPEC.child("selector"), Raw(&shown), IMMUTABLE);
    }
    validate_template(after, before, old, errors);
    for field in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        let value = after.at(field);
        if !same(value, before.at(field)) {
            errors.invalid(&SPEC.child(field), Internal(value), IMMUTABLE);
        }
    }
}

fn validate_completions(new: &Value, old: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let (after, before) = (new.at("completions"), old.at("completions"));
    if after == before {
        return;
    }
    if new.text("completionMode") != "Indexed" {
        errors.invalid(path, after, IMMUTABLE);
    } else if !after.is_null() && after != new.at("parallelism") {
        errors.invalid(
            path,
            after,
            "can only be modified in tandem with spec.parallelism",
        );
    }
}

fn is_true(job: &Value, condition: &str) -> bool {
    let conditions = job.at("status").list("conditions").iter();
    conditions
        .filter(|c| c.text("type") == condition)
        .any(|c| c.text("status") == "True")
}

/// A job that has not started, or has stopped altogether, may still be moved and resized.
fn is_mutable(old: &Value) -> bool {
    let status = old.at("status");
    let stopped = !status.has("startTime") || is_true(old, "Suspended");
    let active = status.int("active").unwrap_or_default();
    old.at("spec").flag("suspend") && stopped && active == 0
}

fn validate_template(new: &Value, old: &Value, old_job: &Value, errors: &mut ErrorList) {
    let after = new.at("template");
    let mut before = old.at("template").clone();
    let mutable = is_mutable(old_job);
    if mutable {
        allow_scheduling_directives(&mut before, after);
    }
    let path = SPEC.child("template");
    if !mutable {
        if !same(after, &before) {
            errors.invalid(&path, Internal(after), IMMUTABLE);
        }
        return;
    }
    allow_resources(before.at_mut("spec"), after.at("spec"));
    if !same(after.at("spec"), before.at("spec")) {
        let at = SPEC.child("template.spec");
        errors.invalid(&at, Internal(after.at("spec")), IMMUTABLE);
    }
}

/// Takes over what decides where pods go.
fn allow_scheduling_directives(old: &mut Value, new: &Value) {
    let (after, before) = (new.at("spec"), old.at_mut("spec"));
    let node_affinity = after.at("affinity").at("nodeAffinity").clone();
    match (after.has("affinity"), before.has("affinity")) {
        (false, true) => {
            let affinity = before.at_mut("affinity");
            affinity.unset("nodeAffinity");
            if affinity.as_object().is_some_and(Map::is_empty) {
                before.unset("affinity");
            }
        }
        (true, _) => {
            let affinity = before.at_mut("affinity");
            affinity.fields();
            match node_affinity {
                Value::Null => {
                    affinity.unset("nodeAffinity");
                }
                own => affinity.set("nodeAffinity", own),
            }
        }
        (false, false) => {}
    }
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        keep(before, after, field);
    }
    for field in ["annotations", "labels"] {
        keep(old.at_mut("metadata"), new.at("metadata"), field);
    }
}

/// Takes over what the containers ask for.
fn allow_resources(old: &mut Value, new: &Value) {
    for list in ["containers", "initContainers"] {
        if new.list(list).len() != old.list(list).len() {
            continue;
        }
        for (before, after) in old.each_mut(list).zip(new.list(list)) {
            if before.text("name") == after.text("name") {
                keep(before, after, "resources");
            }
        }
    }
}
