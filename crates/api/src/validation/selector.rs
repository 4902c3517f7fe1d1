//! Labels, and selectors of pods and nodes.

use super::Errors;
use crate::field::Path;
use crate::names;
use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::collections::BTreeMap;

const NO_OPERATOR: &str = "not a valid selector operator";

/// A label key, or another qualified name.
pub(super) fn label_key(key: &str, path: &Path, errors: &mut Errors) {
    for detail in names::label_key(key) {
        errors.push(path.invalid(key, detail));
    }
}

/// A set of labels.
pub(super) fn labels(labels: Option<&BTreeMap<String, String>>, path: &Path, errors: &mut Errors) {
    for (key, value) in labels.into_iter().flatten() {
        label_key(key, path, errors);
        for detail in names::label_value(value) {
            errors.push(path.invalid(value, detail));
        }
    }
}

/// Values go with `In` and `NotIn` only.
fn values_of(operator: &str, count: usize, path: &Path, errors: &mut Errors) {
    match operator {
        "In" | "NotIn" if count == 0 => {
            errors.push(path.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            errors.push(
                path.forbidden(
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ),
            );
        }
        _ => {}
    }
}

/// Upstream's `ValidateLabelSelector`.
pub(super) fn selector(given: Option<&LabelSelector>, path: &Path, errors: &mut Errors) {
    let Some(given) = given else { return };
    labels(
        given.match_labels.as_ref(),
        &path.child("matchLabels"),
        errors,
    );
    let expressions = path.child("matchExpressions");
    for (i, expression) in given.match_expressions.iter().flatten().enumerate() {
        let path = expressions.index(i);
        let values = expression.values.as_deref().unwrap_or_default();
        match expression.operator.as_str() {
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {
                values_of(
                    &expression.operator,
                    values.len(),
                    &path.child("values"),
                    errors,
                );
            }
            other => errors.push(path.child("operator").invalid(other, NO_OPERATOR)),
        }
        label_key(&expression.key, &path.child("key"), errors);
        for (i, value) in values.iter().enumerate() {
            for detail in names::label_value(value) {
                errors.push(path.child("values").index(i).invalid(value, detail));
            }
        }
    }
}

/// Upstream's `ValidateNodeSelector`.
pub(super) fn node_selector(given: &NodeSelector, path: &Path, errors: &mut Errors) {
    let terms = path.child("nodeSelectorTerms");
    if given.node_selector_terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for (i, term) in given.node_selector_terms.iter().enumerate() {
        node_selector_term(term, true, &terms.index(i), errors);
    }
}

/// Values of preferred terms are not looked at: upstream lets them pass, and the attempt fails.
pub(super) fn node_selector_term(
    term: &NodeSelectorTerm,
    check_values: bool,
    path: &Path,
    errors: &mut Errors,
) {
    let expressions = path.child("matchExpressions");
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        node_expression(expression, check_values, &expressions.index(i), errors);
    }
    let fields = path.child("matchFields");
    for (i, field) in term.match_fields.iter().flatten().enumerate() {
        node_field(field, &fields.index(i), errors);
    }
}

fn node_expression(
    given: &NodeSelectorRequirement,
    check_values: bool,
    path: &Path,
    errors: &mut Errors,
) {
    let values = given.values.as_deref().unwrap_or_default();
    let values_path = path.child("values");
    match given.operator.as_str() {
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {
            values_of(&given.operator, values.len(), &values_path, errors);
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                errors
                    .push(values_path.required(
                        "must be specified single value when `operator` is 'Lt' or 'Gt'",
                    ));
            }
        }
        other => errors.push(path.child("operator").invalid(other, NO_OPERATOR)),
    }
    label_key(&given.key, &path.child("key"), errors);
    for (i, value) in values.iter().enumerate().filter(|_| check_values) {
        for detail in names::label_value(value) {
            errors.push(values_path.index(i).invalid(value, detail));
        }
    }
}

fn node_field(given: &NodeSelectorRequirement, path: &Path, errors: &mut Errors) {
    let values = given.values.as_deref().unwrap_or_default();
    match given.operator.as_str() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => errors.push(path.child("values").required(
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )),
        other => errors.push(path.child("operator").invalid(other, NO_OPERATOR)),
    }
    if given.key != "metadata.name" {
        errors.push(
            path.child("key")
                .invalid(&given.key, "not a valid field selector key"),
        );
    }
}
