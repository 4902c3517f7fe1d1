//! Node affinity that the scheduler can parse. Upstream's
//! `component-helpers/scheduling/corev1/nodeaffinity` and `labels.NewRequirement`.

use super::super::{ConfigError, Path};
use crate::names;
use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm};

type Errors = Vec<ConfigError>;

pub(super) fn node_affinity(affinity: &NodeAffinity, path: &Path, errors: &mut Errors) {
    if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution {
        let path = path
            .child("requiredDuringSchedulingIgnoredDuringExecution")
            .child("nodeSelectorTerms");
        for (i, selector) in required.node_selector_terms.iter().enumerate() {
            term(selector, &path.index(i), errors);
        }
    }
    let preferred = affinity
        .preferred_during_scheduling_ignored_during_execution
        .iter()
        .flatten();
    let path = path.child("preferredDuringSchedulingIgnoredDuringExecution");
    for (i, preference) in preferred.enumerate() {
        if preference.weight != 0 {
            term(&preference.preference, &path.index(i), errors);
        }
    }
}

fn term(term: &NodeSelectorTerm, path: &Path, errors: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (i, requirement) in term.match_expressions.iter().flatten().enumerate() {
        expression(requirement, &expressions.index(i), errors);
    }
    let fields = path.child("matchFields");
    for (i, requirement) in term.match_fields.iter().flatten().enumerate() {
        field(requirement, &fields.index(i), errors);
    }
}

fn expression(requirement: &NodeSelectorRequirement, path: &Path, errors: &mut Errors) {
    let values = requirement.values.as_deref().unwrap_or_default();
    let values_path = path.child("values");
    let wrong_values = match requirement.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some("values set must be empty for exists and does not exist")
        }
        "Gt" | "Lt" if values.len() != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => None,
        other => {
            let supported = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
            errors.push(path.child("operator").not_supported(other, &supported));
            return;
        }
    };
    let key = &requirement.key;
    let wrong_key = names::label_key(key);
    if !wrong_key.is_empty() {
        errors.push(path.child("key").invalid(key, wrong_key.join("; ")));
    }
    if let Some(detail) = wrong_values {
        errors.push(values_path.invalid(values, detail));
    }
    if matches!(requirement.operator.as_str(), "Gt" | "Lt") {
        for (i, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(values_path.index(i).invalid(value, detail));
            }
        }
    }
    for (i, value) in values.iter().enumerate() {
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            let path = values_path.index(i).key(key);
            errors.push(path.invalid(value, wrong.join("; ")));
        }
    }
}

fn field(requirement: &NodeSelectorRequirement, path: &Path, errors: &mut Errors) {
    let values = requirement.values.as_deref().unwrap_or_default();
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            errors.push(
                path.child("values")
                    .invalid(values, "must have one element"),
            );
        }
        other => errors.push(
            path.child("operator")
                .not_supported(other, &["In", "NotIn"]),
        ),
    }
}
