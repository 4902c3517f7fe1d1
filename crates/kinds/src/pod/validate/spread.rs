//! How pods that are alike spread over the cluster.

use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions};
use crate::common::quantities::NOT_POSITIVE;
use crate::pod::options::Options;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

pub(super) fn validate(
    constraints: &[Value],
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    fn kind(constraint: &Value) -> (&str, &str) {
        let text = |field| constraint.text(field);
        (text("topologyKey"), text("whenUnsatisfiable"))
    }
    let places = constraints.iter().enumerate();
    let last: BTreeMap<(&str, &str), usize> = places.map(|(i, c)| (kind(c), i)).collect();
    for (i, constraint) in constraints.iter().enumerate() {
        let at = path.index(i);
        let skew = constraint.int("maxSkew").unwrap_or_default();
        if skew <= 0 {
            errors.invalid(&at.child("maxSkew"), skew, NOT_POSITIVE);
        }
        let key = constraint.text("topologyKey");
        if key.is_empty() {
            errors.required(&at.child("topologyKey"), "can not be empty");
        }
        let action = constraint.text("whenUnsatisfiable");
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            errors.not_supported(&at.child("whenUnsatisfiable"), action, &known);
        }
        if last.get(&kind(constraint)) > Some(&i) {
            errors.duplicate(
                &at.child("{topologyKey, whenUnsatisfiable}"),
                format!("{{{key}, {action}}}"),
            );
        }
        validate_min_domains(constraint, &at.child("minDomains"), errors);
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.text(field);
            if constraint.has(field) && !matches!(policy, "Honor" | "Ignore") {
                errors.not_supported(&at.child(field), policy, &["Honor", "Ignore"]);
            }
        }
        match options.bad_match_label_keys {
            true => validate_legacy_keys(constraint, &at.child("matchLabelKeys"), errors),
            false => validate_label_keys(constraint, &at, errors),
        }
        if !options.bad_spread_selector {
            let selector = constraint.at("labelSelector");
            let strict = SelectorOptions::default();
            let at = at.child("labelSelector");
            errors.extend(labels::validate_selector(selector, strict, &at));
        }
    }
}

fn validate_min_domains(constraint: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let Some(domains) = constraint.int("minDomains") else {
        return;
    };
    if domains <= 0 {
        errors.invalid(path, domains, NOT_POSITIVE);
    }
    let action = constraint.text("whenUnsatisfiable");
    if action != "DoNotSchedule" {
        errors.invalid(
            path,
            domains,
            format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"),
        );
    }
}

fn keys<'a>(term: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    term.list(field).iter().filter_map(Value::as_str)
}

/// Keys whose values are the pod's own, beside a selector that does not name them itself. The
/// selector has been given the expressions that the keys stand for already.
pub(super) fn validate_label_keys(term: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let selector = term.at("labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let at = path.child(field);
        if keys(term, field).next().is_none() {
            continue;
        }
        if selector.is_null() {
            errors.forbidden(&at, "must not be specified when labelSelector is not set");
            continue;
        }
        for (i, key) in keys(term, field).enumerate() {
            errors.extend(labels::validate_name(key, &at.index(i)));
        }
    }
    if !selector.is_null() {
        let named = selector.entries("matchLabels").map(|(key, _)| key);
        let mut named: BTreeSet<&str> = named.collect();
        // Of several the last one is reported.
        let places = keys(term, "matchLabelKeys").enumerate();
        let places: BTreeMap<&str, usize> = places.map(|(i, key)| (key, i)).collect();
        for expression in selector.list("matchExpressions") {
            let key = expression.text("key");
            if let Some(i) = places.get(key)
                && named.contains(key)
            {
                let detail = "exists in both matchLabelKeys and labelSelector";
                errors.invalid(&path.index(*i), key, detail);
            }
            named.insert(key);
        }
    }
    let at = path.child("matchLabelKeys");
    let others: BTreeSet<&str> = keys(term, "mismatchLabelKeys").collect();
    for (i, key) in keys(term, "matchLabelKeys").enumerate() {
        if others.contains(key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.invalid(&at.index(i), key, detail);
        }
    }
}

/// The rule of old, for pods that were made under it.
fn validate_legacy_keys(constraint: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if keys(constraint, "matchLabelKeys").next().is_none() {
        return;
    }
    let selector = constraint.at("labelSelector");
    if selector.is_null() {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
    }
    let expressions = selector.list("matchExpressions").iter();
    let expressions: BTreeSet<&str> = expressions.map(|e| e.text("key")).collect();
    for (i, key) in keys(constraint, "matchLabelKeys").enumerate() {
        let at = path.index(i);
        errors.extend(labels::validate_name(key, &at));
        let named = selector.at("matchLabels").has(key) || expressions.contains(key);
        if named {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.invalid(&at, key, detail);
        }
    }
}

/// Whether a stored pod has a bad selector in a constraint.
pub(in crate::pod) fn has_bad_selector(spec: &Value) -> bool {
    let constraints = spec.list("topologySpreadConstraints").iter();
    constraints
        .map(|constraint| constraint.at("labelSelector"))
        .any(|selector| {
            let strict = SelectorOptions::default();
            !labels::validate_selector(selector, strict, &Path::ROOT).is_empty()
        })
}

/// Whether a stored pod has keys in a constraint that would be refused now.
pub(in crate::pod) fn has_bad_match_label_keys(spec: &Value) -> bool {
    let mut errors = ErrorList::new();
    for constraint in spec.list("topologySpreadConstraints") {
        validate_label_keys(constraint, &Path::ROOT, &mut errors);
    }
    !errors.is_empty()
}
