//! Where a pod may go: selectors, affinity, spread, tolerations.

use super::names;
use crate::field::{FieldErrors, Path};
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodAffinityTerm, Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::collections::{BTreeMap, BTreeSet};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_OPERATOR: &str = "not a valid selector operator";

/// A label key, or another qualified name.
pub(super) fn label_key(key: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    for detail in names::label_key(key) {
        errors.invalid(path, key, detail);
    }
}

/// A set of labels.
pub(super) fn labels(
    labels: Option<&BTreeMap<String, String>>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    for (key, value) in labels.into_iter().flatten() {
        label_key(key, path, errors);
        if let Some(detail) = names::label_value(value) {
            errors.invalid(path, value, detail);
        }
    }
}

/// Values go with `In` and `NotIn` only.
fn values_of(operator: &str, count: usize, path: &Path<'_>, errors: &mut FieldErrors) {
    match operator {
        "In" | "NotIn" if count == 0 => {
            errors.required(path, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            errors.forbidden(
                path,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            );
        }
        _ => {}
    }
}

/// Upstream's `ValidateLabelSelector`.
pub(super) fn selector(given: Option<&LabelSelector>, path: &Path<'_>, errors: &mut FieldErrors) {
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
            other => errors.invalid(&path.child("operator"), other, NO_OPERATOR),
        }
        label_key(&expression.key, &path.child("key"), errors);
        for (i, value) in values.iter().enumerate() {
            if let Some(detail) = names::label_value(value) {
                errors.invalid(&path.child("values").index(i), value, detail);
            }
        }
    }
}

/// Upstream's `ValidateNodeSelector`.
pub(super) fn node_selector(given: &NodeSelector, path: &Path<'_>, errors: &mut FieldErrors) {
    let terms = path.child("nodeSelectorTerms");
    if given.node_selector_terms.is_empty() {
        errors.required(&terms, "must have at least one node selector term");
    }
    for (i, term) in given.node_selector_terms.iter().enumerate() {
        node_selector_term(term, true, &terms.index(i), errors);
    }
}

/// Values of preferred terms are not looked at: upstream lets them pass, and the attempt fails.
fn node_selector_term(
    term: &NodeSelectorTerm,
    check_values: bool,
    path: &Path<'_>,
    errors: &mut FieldErrors,
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
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let values = given.values.as_deref().unwrap_or_default();
    let values_path = path.child("values");
    match given.operator.as_str() {
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {
            values_of(&given.operator, values.len(), &values_path, errors);
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                errors.required(
                    &values_path,
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                );
            }
        }
        other => errors.invalid(&path.child("operator"), other, NO_OPERATOR),
    }
    label_key(&given.key, &path.child("key"), errors);
    for (i, value) in values.iter().enumerate().filter(|_| check_values) {
        if let Some(detail) = names::label_value(value) {
            errors.invalid(&values_path.index(i), value, detail);
        }
    }
}

fn node_field(given: &NodeSelectorRequirement, path: &Path<'_>, errors: &mut FieldErrors) {
    let values = given.values.as_deref().unwrap_or_default();
    match given.operator.as_str() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => errors.required(
            &path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
        other => errors.invalid(&path.child("operator"), other, NO_OPERATOR),
    }
    if given.key != "metadata.name" {
        errors.invalid(
            &path.child("key"),
            &given.key,
            "not a valid field selector key",
        );
    }
}

/// `spec.affinity`.
pub(super) fn affinity(given: &Affinity, path: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(given) = &given.node_affinity {
        node_affinity(given, &path.child("nodeAffinity"), errors);
    }
    if let Some(given) = &given.pod_affinity {
        let path = path.child("podAffinity");
        pod_terms(
            given
                .required_during_scheduling_ignored_during_execution
                .as_deref(),
            &path,
            errors,
        );
        weighted_terms(
            given
                .preferred_during_scheduling_ignored_during_execution
                .as_deref(),
            &path,
            errors,
        );
    }
    if let Some(given) = &given.pod_anti_affinity {
        let path = path.child("podAntiAffinity");
        pod_terms(
            given
                .required_during_scheduling_ignored_during_execution
                .as_deref(),
            &path,
            errors,
        );
        weighted_terms(
            given
                .preferred_during_scheduling_ignored_during_execution
                .as_deref(),
            &path,
            errors,
        );
    }
}

fn node_affinity(given: &NodeAffinity, path: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(required) = &given.required_during_scheduling_ignored_during_execution {
        node_selector(required, &path.child(REQUIRED), errors);
    }
    let path = path.child(PREFERRED);
    let preferred = given
        .preferred_during_scheduling_ignored_during_execution
        .iter()
        .flatten();
    for (i, term) in preferred.enumerate() {
        let path = path.index(i);
        weight(term.weight, &path, errors);
        node_selector_term(&term.preference, false, &path.child("preference"), errors);
    }
}

fn weight(weight: i32, path: &Path<'_>, errors: &mut FieldErrors) {
    if !(1..=100).contains(&weight) {
        errors.invalid_number(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod_terms(terms: Option<&[PodAffinityTerm]>, path: &Path<'_>, errors: &mut FieldErrors) {
    let path = path.child(REQUIRED);
    for (i, term) in terms.into_iter().flatten().enumerate() {
        pod_term(term, &path.index(i), errors);
    }
}

fn weighted_terms(
    terms: Option<&[WeightedPodAffinityTerm]>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let path = path.child(PREFERRED);
    for (i, term) in terms.into_iter().flatten().enumerate() {
        let path = path.index(i);
        weight(term.weight, &path, errors);
        pod_term(
            &term.pod_affinity_term,
            &path.child("podAffinityTerm"),
            errors,
        );
    }
}

fn pod_term(term: &PodAffinityTerm, path: &Path<'_>, errors: &mut FieldErrors) {
    selector(
        term.label_selector.as_ref(),
        &path.child("labelSelector"),
        errors,
    );
    selector(
        term.namespace_selector.as_ref(),
        &path.child("namespaceSelector"),
        errors,
    );
    let match_keys = term.match_label_keys.as_deref().unwrap_or_default();
    let mismatch_keys = term.mismatch_label_keys.as_deref().unwrap_or_default();
    label_keys(
        match_keys,
        term.label_selector.is_some(),
        &path.child("matchLabelKeys"),
        errors,
    );
    label_keys(
        mismatch_keys,
        term.label_selector.is_some(),
        &path.child("mismatchLabelKeys"),
        errors,
    );
    for (i, key) in match_keys.iter().enumerate() {
        if mismatch_keys.contains(key) {
            let path = path.child("matchLabelKeys");
            errors.invalid(
                &path.index(i),
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            );
        }
    }
    if term.topology_key.is_empty() {
        errors.required(&path.child("topologyKey"), "can not be empty");
    } else {
        label_key(&term.topology_key, &path.child("topologyKey"), errors);
    }
}

fn label_keys(keys: &[String], has_selector: bool, path: &Path<'_>, errors: &mut FieldErrors) {
    if !keys.is_empty() && !has_selector {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
    }
    for (i, key) in keys.iter().enumerate() {
        label_key(key, &path.index(i), errors);
    }
}

/// Upstream's `validateTopologySpreadConstraints`.
pub(super) fn spread(
    constraints: &[TopologySpreadConstraint],
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut seen = BTreeSet::new();
    for (i, given) in constraints.iter().enumerate() {
        let path = path.index(i);
        let when = given.when_unsatisfiable.as_str();
        if given.max_skew <= 0 {
            errors.invalid_number(
                &path.child("maxSkew"),
                given.max_skew,
                "must be greater than zero",
            );
        }
        if given.topology_key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&when) {
            errors.unsupported(
                &path.child("whenUnsatisfiable"),
                when,
                &["DoNotSchedule", "ScheduleAnyway"],
            );
        }
        if !seen.insert((&given.topology_key, when)) {
            let pair = format!("{{{}, {when}}}", given.topology_key);
            errors.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), &pair, "");
        }
        if let Some(min) = given.min_domains {
            if min <= 0 {
                errors.invalid_number(&path.child("minDomains"), min, "must be greater than zero");
            }
            if when != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                );
                errors.invalid_number(&path.child("minDomains"), min, &detail);
            }
        }
        for (field, policy) in [
            ("nodeAffinityPolicy", &given.node_affinity_policy),
            ("nodeTaintsPolicy", &given.node_taints_policy),
        ] {
            if let Some(policy) = policy.as_deref()
                && !["Honor", "Ignore"].contains(&policy)
            {
                errors.unsupported(&path.child(field), policy, &["Honor", "Ignore"]);
            }
        }
        let keys = given.match_label_keys.as_deref().unwrap_or_default();
        label_keys(
            keys,
            given.label_selector.is_some(),
            &path.child("matchLabelKeys"),
            errors,
        );
        selector(
            given.label_selector.as_ref(),
            &path.child("labelSelector"),
            errors,
        );
    }
}

/// Upstream's `ValidateTolerations`.
pub(super) fn tolerations(given: &[Toleration], path: &Path<'_>, errors: &mut FieldErrors) {
    for (i, toleration) in given.iter().enumerate() {
        let path = path.index(i);
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (key, operator) = (text(&toleration.key), text(&toleration.operator));
        let (value, given_effect) = (text(&toleration.value), text(&toleration.effect));
        if !key.is_empty() {
            label_key(&key, &path.child("key"), errors);
        } else if operator != "Exists" {
            errors.invalid(
                &path.child("operator"),
                &operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            );
        }
        if toleration.toleration_seconds.is_some() && given_effect != "NoExecute" {
            errors.invalid(
                &path.child("effect"),
                &given_effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            );
        }
        match operator.as_str() {
            "" | "Equal" => {
                if let Some(detail) = names::label_value(&value) {
                    errors.invalid(&path.child("operator"), &value, detail);
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => errors.invalid(
                &path.child("operator"),
                &value,
                "value must be empty when `operator` is 'Exists'",
            ),
            // The comparing operators exist, but are switched off in 1.36.
            "Lt" | "Gt" => {
                errors.unsupported(
                    &path.child("operator"),
                    &operator,
                    &["Equal", "Exists", "Lt", "Gt"],
                );
            }
            _ => errors.unsupported(&path.child("operator"), &operator, &["Equal", "Exists"]),
        }
        if !given_effect.is_empty() {
            effect(&given_effect, &path.child("effect"), errors);
        }
    }
}

/// The effect of a taint or toleration.
pub(super) fn effect(effect: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if effect.is_empty() {
        errors.required(path, "");
    } else if !EFFECTS.contains(&effect) {
        errors.unsupported(path, effect, EFFECTS);
    }
}
