//! Where a pod may go: affinity, spread, tolerations.

use super::Errors;
use super::selector::{label_key, node_selector, node_selector_term, selector};
use crate::field::Path;
use crate::names;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, PodAffinityTerm, Toleration, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
use std::collections::BTreeSet;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// `spec.affinity`.
pub(super) fn affinity(given: &Affinity, path: &Path, errors: &mut Errors) {
    if let Some(given) = &given.node_affinity {
        node_affinity(given, &path.child("nodeAffinity"), errors);
    }
    if let Some(given) = &given.pod_affinity {
        let path = path.child("podAffinity");
        let required = given
            .required_during_scheduling_ignored_during_execution
            .as_deref();
        let preferred = given
            .preferred_during_scheduling_ignored_during_execution
            .as_deref();
        pod_terms(required, preferred, &path, errors);
    }
    if let Some(given) = &given.pod_anti_affinity {
        let path = path.child("podAntiAffinity");
        let required = given
            .required_during_scheduling_ignored_during_execution
            .as_deref();
        let preferred = given
            .preferred_during_scheduling_ignored_during_execution
            .as_deref();
        pod_terms(required, preferred, &path, errors);
    }
}

fn node_affinity(given: &NodeAffinity, path: &Path, errors: &mut Errors) {
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

fn weight(weight: i32, path: &Path, errors: &mut Errors) {
    if !(1..=100).contains(&weight) {
        errors.push(
            path.child("weight")
                .invalid(weight, "must be in the range 1-100"),
        );
    }
}

fn pod_terms(
    required: Option<&[PodAffinityTerm]>,
    preferred: Option<&[WeightedPodAffinityTerm]>,
    path: &Path,
    errors: &mut Errors,
) {
    let required_path = path.child(REQUIRED);
    for (i, term) in required.into_iter().flatten().enumerate() {
        pod_term(term, &required_path.index(i), errors);
    }
    let preferred_path = path.child(PREFERRED);
    for (i, term) in preferred.into_iter().flatten().enumerate() {
        let path = preferred_path.index(i);
        weight(term.weight, &path, errors);
        pod_term(
            &term.pod_affinity_term,
            &path.child("podAffinityTerm"),
            errors,
        );
    }
}

fn pod_term(term: &PodAffinityTerm, path: &Path, errors: &mut Errors) {
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
            errors.push(
                path.index(i)
                    .invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys"),
            );
        }
    }
    if term.topology_key.is_empty() {
        errors.push(path.child("topologyKey").required("can not be empty"));
    } else {
        label_key(&term.topology_key, &path.child("topologyKey"), errors);
    }
}

fn label_keys(keys: &[String], has_selector: bool, path: &Path, errors: &mut Errors) {
    if !keys.is_empty() && !has_selector {
        errors.push(path.forbidden("must not be specified when labelSelector is not set"));
    }
    for (i, key) in keys.iter().enumerate() {
        label_key(key, &path.index(i), errors);
    }
}

/// Upstream's `validateTopologySpreadConstraints`.
pub(super) fn spread(constraints: &[TopologySpreadConstraint], path: &Path, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (i, given) in constraints.iter().enumerate() {
        let path = path.index(i);
        let when = given.when_unsatisfiable.as_str();
        if given.max_skew <= 0 {
            errors.push(
                path.child("maxSkew")
                    .invalid(given.max_skew, "must be greater than zero"),
            );
        }
        if given.topology_key.is_empty() {
            errors.push(path.child("topologyKey").required("can not be empty"));
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&when) {
            errors.push(
                path.child("whenUnsatisfiable")
                    .not_supported(when, &["DoNotSchedule", "ScheduleAnyway"]),
            );
        }
        if !seen.insert((&given.topology_key, when)) {
            let pair = format!("{{{}, {when}}}", given.topology_key);
            errors.push(
                path.child("{topologyKey, whenUnsatisfiable}")
                    .duplicate(&pair),
            );
        }
        if let Some(min) = given.min_domains {
            if min <= 0 {
                errors.push(
                    path.child("minDomains")
                        .invalid(min, "must be greater than zero"),
                );
            }
            if when != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                );
                errors.push(path.child("minDomains").invalid(min, &detail));
            }
        }
        for (field, policy) in [
            ("nodeAffinityPolicy", &given.node_affinity_policy),
            ("nodeTaintsPolicy", &given.node_taints_policy),
        ] {
            if let Some(policy) = policy.as_deref()
                && !["Honor", "Ignore"].contains(&policy)
            {
                errors.push(
                    path.child(field)
                        .not_supported(policy, &["Honor", "Ignore"]),
                );
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
pub(super) fn tolerations(given: &[Toleration], path: &Path, errors: &mut Errors) {
    for (i, toleration) in given.iter().enumerate() {
        let path = path.index(i);
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (key, operator) = (text(&toleration.key), text(&toleration.operator));
        let (value, given_effect) = (text(&toleration.value), text(&toleration.effect));
        if !key.is_empty() {
            label_key(&key, &path.child("key"), errors);
        } else if operator != "Exists" {
            errors.push(path.child("operator").invalid(&operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
        }
        if toleration.toleration_seconds.is_some() && given_effect != "NoExecute" {
            errors.push(path.child("effect").invalid(
                &given_effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            ));
        }
        match operator.as_str() {
            "" | "Equal" => {
                for detail in names::label_value(&value) {
                    errors.push(path.child("operator").invalid(&value, detail));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => errors.push(
                path.child("operator")
                    .invalid(&value, "value must be empty when `operator` is 'Exists'"),
            ),
            // The comparing operators exist, but are switched off in 1.36.
            "Lt" | "Gt" => {
                errors.push(
                    path.child("operator")
                        .not_supported(&operator, &["Equal", "Exists", "Lt", "Gt"]),
                );
            }
            _ => errors.push(
                path.child("operator")
                    .not_supported(&operator, &["Equal", "Exists"]),
            ),
        }
        if !given_effect.is_empty() {
            effect(&given_effect, &path.child("effect"), errors);
        }
    }
}

/// The effect of a taint or toleration.
pub(super) fn effect(effect: &str, path: &Path, errors: &mut Errors) {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if effect.is_empty() {
        errors.push(path.required(""));
    } else if !EFFECTS.contains(&effect) {
        errors.push(path.not_supported(effect, EFFECTS));
    }
}
