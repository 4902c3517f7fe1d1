//! What an autoscaler goes by. Upstream: `pkg/apis/autoscaling/validation/validation.go`.

use super::validate::{VersionRule, reference, version_fault};
use crate::common::faults::Faults;
use crate::common::resource_name_rules::validate_for_containers;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, names};

/// The sources, in the order in which they are looked at, and their types.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];
const TYPES: &[&str] = &[
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

pub(super) fn validate(spec: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut ErrorList) {
    let rule = VersionRule {
        allow_core: true,
        ..VersionRule::default()
    };
    let was_bad = |metric: &Value| {
        let object = metric.at("object").at("describedObject");
        let version = object.text("apiVersion");
        metric.text("type") == "Object"
            && !object.is_null()
            && version_fault(version, rule).is_some()
    };
    let rule = VersionRule {
        allow_invalid: old.is_some_and(|old| old.list("metrics").iter().any(was_bad)),
        ..rule
    };
    let metrics = spec.list("metrics");
    for (i, metric) in metrics.iter().enumerate() {
        validate_metric(metric, rule, &path.index(i), errors);
    }
    let beyond_pods = |m: &Value| matches!(m.text("type"), "Object" | "External");
    if spec.int("minReplicas") == Some(0) && !metrics.iter().any(beyond_pods) {
        let fault = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(path, fault);
    }
}

fn validate_metric(metric: &Value, rule: VersionRule, path: &Path<'_>, errors: &mut ErrorList) {
    let kind = metric.text("type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "must specify a metric source type");
    }
    if !TYPES.contains(&kind) {
        errors.not_supported(&path.child("type"), kind, TYPES);
    }
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|(field, _)| *field)
        .filter(|field| metric.has(field))
        .collect();
    if let Some(first) = present.first() {
        validate_source(metric.at(first), first, rule, &path.child(first), errors);
    }
    let expected = SOURCES.iter().find(|(_, word)| *word == kind);
    match expected {
        Some((field, _)) if !metric.has(field) => {
            let fault = "must populate information for the given metric source";
            errors.required(&path.child(field), fault);
        }
        Some(_) => {}
        None => errors.not_supported(&path.child("type"), kind, TYPES),
    }
    if present.len() > 1 {
        let own = expected.map_or("", |(field, _)| *field);
        for field in present.into_iter().filter(|field| *field != own) {
            let fault = "must populate the given metric source only";
            errors.forbidden(&path.child(field), fault);
        }
    }
}

fn validate_source(
    source: &Value,
    field: &str,
    rule: VersionRule,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if field == "object" {
        let object = source.at("describedObject");
        reference(object, rule, &path.child("describedObject"), errors);
    }
    match field {
        "resource" | "containerResource" => validate_resource(source, field, path, errors),
        _ => {
            let at = path.child("metric");
            match source.at("metric").text("name") {
                "" => errors.required(&at.child("name"), "must specify a metric name"),
                name => {
                    let faults = names::path_segment(name, false);
                    errors.invalid_each(&at.child("name"), name, faults);
                }
            }
        }
    }
    let at = path.child("target");
    let target = source.at("target");
    validate_target(target, &at, errors);
    let has = |field: &str| target.has(field);
    let neither = !has("value") && !has("averageValue");
    match field {
        "object" if neither => errors.required(
            &at.child("averageValue"),
            "must set either a target value or averageValue",
        ),
        "external" if neither => errors.required(
            &at.child("averageValue"),
            "must set either a target value for metric or a per-pod target",
        ),
        "external" if has("value") && has("averageValue") => errors.forbidden(
            &at.child("value"),
            "may not set both a target value for metric and a per-pod target",
        ),
        "pods" if !has("averageValue") => errors.required(
            &at.child("averageValue"),
            "must specify a positive target averageValue",
        ),
        "resource" | "containerResource" => {
            match (has("averageUtilization"), has("averageValue")) {
                (false, false) => errors.required(
                    &at.child("averageUtilization"),
                    "must set either a target raw value or a target utilization",
                ),
                (true, true) => errors.forbidden(
                    &at.child("averageValue"),
                    "may not set both a target raw value and a target utilization",
                ),
                _ => {}
            }
        }
        _ => {}
    }
}

fn validate_resource(source: &Value, field: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let of_container = field == "containerResource";
    match source.text("name") {
        "" => errors.required(&path.child("name"), "must specify a resource name"),
        name if of_container => validate_for_containers(name, &path.child("name"), errors),
        _ => {}
    }
    if of_container {
        match source.text("container") {
            "" => errors.required(&path.child("container"), "must specify a container"),
            name => {
                let faults = names::dns1123_label(name);
                errors.invalid_each(&path.child("container"), name, faults);
            }
        }
    }
}

fn validate_target(target: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let kind = target.text("type");
    let at = path.child("type");
    if kind.is_empty() {
        errors.required(&at, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let fault = "must be either Utilization, Value, or AverageValue";
        errors.invalid(&at, kind, fault);
    }
    for field in ["value", "averageValue"] {
        if !target.has(field) {
            continue;
        }
        let amount = Quantity::of(target.at(field));
        if amount.is_zero() || amount.is_negative() {
            errors.invalid(&path.child(field), amount.to_string(), "must be positive");
        }
    }
    if let Some(percent @ ..1) = target.int("averageUtilization") {
        let at = path.child("averageUtilization");
        errors.invalid(&at, percent, "must be greater than 0");
    }
}
