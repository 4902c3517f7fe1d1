//! What a job makes of pods that fail, and when it has succeeded.

use super::indexes;
use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const PATTERNS_MAX: usize = 20;
const INDEXES_BYTES_MAX: usize = 64 * 1024;

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// `valid values: ["a" "b"]`, as Go prints a list of texts.
fn valid_values(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

/// A fault of something that is not printed.
pub(super) fn unshown(path: &Path<'_>, detail: impl Into<String>) -> Error {
    Error::other(ErrorKind::Invalid, path, None, detail)
}

pub(super) fn validate_failure(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let list = path.child("rules");
    let rules = spec.at("podFailurePolicy").list("rules");
    if rules.len() > RULES_MAX {
        errors.push(Error::too_many(&list, rules.len(), RULES_MAX));
    }
    let pod = spec.path(&["template", "spec"]);
    let containers: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.list(list))
        .map(|container| container.text("name"))
        .collect();
    for (i, rule) in rules.iter().enumerate() {
        let at = list.index(i);
        let action_at = at.child("action");
        match rule.text("action") {
            "" => errors.required(&action_at, valid_values(&ACTIONS)),
            "FailIndex" if !spec.has("backoffLimitPerIndex") => errors.invalid(
                &action_at,
                "FailIndex",
                "requires the backoffLimitPerIndex to be set",
            ),
            action if ACTIONS.contains(&action) => {}
            other => errors.not_supported(&action_at, other, &ACTIONS),
        }
        validate_requirements(rule, &containers, &at, errors);
    }
}

fn validate_requirements(
    rule: &Value,
    containers: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let by_code = rule.has("onExitCodes");
    let by_condition = !rule.list("onPodConditions").is_empty();
    if by_code {
        let codes = rule.at("onExitCodes");
        validate_exit_codes(codes, containers, &path.child("onExitCodes"), errors);
    }
    if by_condition {
        let patterns = rule.list("onPodConditions");
        validate_conditions(patterns, &path.child("onPodConditions"), errors);
    }
    match (by_code, by_condition) {
        (true, true) => errors.push(unshown(
            path,
            "specifying both OnExitCodes and OnPodConditions is not supported",
        )),
        (false, false) => errors.push(unshown(
            path,
            "specifying one of OnExitCodes and OnPodConditions is required",
        )),
        _ => {}
    }
}

fn validate_conditions(patterns: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
    if patterns.len() > PATTERNS_MAX {
        errors.push(Error::too_many(path, patterns.len(), PATTERNS_MAX));
    }
    for (i, pattern) in patterns.iter().enumerate() {
        let at = path.index(i);
        let kind = pattern.text("type");
        errors.invalid_each(&at.child("type"), kind, names::label_key(kind));
        match pattern.text("status") {
            "" => errors.required(&at.child("status"), valid_values(&STATUSES)),
            status if STATUSES.contains(&status) => {}
            other => errors.not_supported(&at.child("status"), other, &STATUSES),
        }
    }
}

fn validate_exit_codes(
    codes: &Value,
    containers: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    let operator = codes.text("operator");
    match operator {
        "" => errors.required(&path.child("operator"), valid_values(&OPERATORS)),
        known if OPERATORS.contains(&known) => {}
        other => errors.not_supported(&path.child("operator"), other, &OPERATORS),
    }
    let container = codes.text("containerName");
    if codes.has("containerName") && !containers.contains(container) {
        errors.invalid(
            &path.child("containerName"),
            container,
            "must be one of the container or initContainer names in the pod template",
        );
    }
    let at = path.child("values");
    let values: Vec<i64> = codes
        .list("values")
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    if values.is_empty() {
        errors.invalid(&at, codes.at("values"), "at least one value is required");
    } else if values.len() > EXIT_CODES_MAX {
        errors.push(Error::too_many(&at, values.len(), EXIT_CODES_MAX));
    }
    let mut taken = BTreeSet::new();
    for (i, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            errors.invalid(&at.index(i), *value, "must not be 0 for the In operator");
        }
        if !taken.insert(*value) {
            errors.duplicate(&at.index(i), *value);
        }
    }
    if !values.is_sorted() {
        errors.invalid(&at, codes.at("values"), "must be ordered");
    }
}

pub(super) fn validate_success(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let list = path.child("rules");
    let rules = spec.at("successPolicy").list("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(&list, detail);
    }
    if rules.len() > RULES_MAX {
        errors.push(Error::too_many(&list, rules.len(), RULES_MAX));
    }
    let completions = spec.int("completions").unwrap_or_default();
    for (i, rule) in rules.iter().enumerate() {
        validate_success_rule(rule, completions, &list.index(i), errors);
    }
}

fn validate_success_rule(rule: &Value, completions: i64, path: &Path<'_>, errors: &mut ErrorList) {
    let (count, indexed) = (rule.int("succeededCount"), rule.has("succeededIndexes"));
    if count.is_none() && !indexed {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.required(path, detail);
    }
    let mut total = 0;
    if indexed {
        let (text, at) = (
            rule.text("succeededIndexes"),
            path.child("succeededIndexes"),
        );
        if text.len() > INDEXES_BYTES_MAX {
            errors.push(Error::too_long(&at, INDEXES_BYTES_MAX));
        }
        match indexes::count(text, completions) {
            Ok(count) => total = count,
            Err(fault) => {
                let detail = format!("error parsing succeededIndexes: {fault}");
                errors.invalid(&at, text, detail);
            }
        }
    }
    let Some(count) = count else {
        return;
    };
    let at = path.child("succeededCount");
    if count < 0 {
        errors.invalid(&at, count, NEGATIVE);
    }
    if count > completions {
        errors.invalid(
            &at,
            count,
            format!(
                "must be less than or equal to {completions} (the number of specified completions)"
            ),
        );
    }
    if indexed && count > total {
        errors.invalid(
            &at,
            count,
            format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            ),
        );
    }
}
