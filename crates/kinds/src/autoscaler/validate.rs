//! Upstream: `pkg/apis/autoscaling/validation/validation.go`.

use super::metrics;
use crate::common::faults::Faults;
use crate::common::quantities;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, go, names};

static SPEC: Path<'static> = Path::new("spec");
const WINDOW_S_MAX: i64 = 3600;
const PERIOD_S_MAX: i64 = 1800;

/// How strictly the version of a reference is judged.
#[derive(Clone, Copy, Default)]
pub(super) struct VersionRule {
    pub(super) allow_invalid: bool,
    pub(super) allow_core: bool,
}

pub(super) fn spec(spec: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = ErrorList::new();
    let least = spec.int("minReplicas");
    let most = spec.int("maxReplicas").unwrap_or_default();
    let from_zero = old.is_some_and(|old| old.int("minReplicas") == Some(0));
    let bound = i64::from(!from_zero);
    if let Some(least) = least.filter(|least| *least < bound) {
        let fault = format!("must be greater than or equal to {bound}");
        errors.invalid(&SPEC.child("minReplicas"), least, fault);
    }
    let path = SPEC.child("maxReplicas");
    if most == 0 {
        errors.required(&path, "must be set and greater than 0");
    } else if most < 0 {
        errors.invalid(&path, most, "must be greater than or equal to 1");
    }
    if least.is_some_and(|least| most < least) {
        let fault = "must be greater than or equal to `minReplicas`";
        errors.invalid(&path, most, fault);
    }
    let target = spec.at("scaleTargetRef");
    let same = |field: &str| {
        old.is_some_and(|old| old.at("scaleTargetRef").text(field) == target.text(field))
    };
    let rule = VersionRule {
        allow_invalid: same("apiVersion") && same("kind"),
        allow_core: target.text("kind") == "ReplicationController",
    };
    reference(target, rule, &SPEC.child("scaleTargetRef"), &mut errors);
    metrics::validate(spec, old, &SPEC.child("metrics"), &mut errors);
    let path = SPEC.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = spec.at("behavior").at(direction);
        if !rules.is_null() {
            validate_rules(rules, &path.child(direction), &mut errors);
        }
    }
    errors
}

/// A reference to an object that may be of several versions.
pub(super) fn reference(to: &Value, rule: VersionRule, path: &Path<'_>, errors: &mut ErrorList) {
    for field in ["kind", "name"] {
        match to.text(field) {
            "" => errors.required(&path.child(field), ""),
            text => {
                let faults = names::path_segment(text, false);
                errors.invalid_each(&path.child(field), text, faults);
            }
        }
    }
    let version = to.text("apiVersion");
    if let Some(fault) = version_fault(version, rule) {
        errors.invalid(&path.child("apiVersion"), version, fault);
    }
}

/// What is wrong with `group/version`.
pub(super) fn version_fault(version: &str, rule: VersionRule) -> Option<String> {
    if rule.allow_invalid {
        return None;
    }
    match version.matches('/').count() {
        0 if rule.allow_core => None,
        0 => Some("apiVersion must specify API group".to_owned()),
        1 if version.starts_with('/') && !rule.allow_core => {
            Some("apiVersion must specify API group".to_owned())
        }
        1 => None,
        _ => Some(format!(
            "unexpected GroupVersion string: {}",
            go::quote(version).trim_matches('"')
        )),
    }
}

fn validate_rules(rules: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let at = path.child("stabilizationWindowSeconds");
    match rules.int("stabilizationWindowSeconds") {
        Some(seconds @ ..0) => {
            errors.invalid(&at, seconds, "must be greater than or equal to zero");
        }
        Some(seconds) if seconds > WINDOW_S_MAX => {
            let fault = format!("must be less than or equal to {WINDOW_S_MAX}");
            errors.invalid(&at, seconds, fault);
        }
        _ => {}
    }
    if let Some(policy) = rules.at("selectPolicy").as_str()
        && !matches!(policy, "Max" | "Min" | "Disabled")
    {
        let known = &["Disabled", "Max", "Min"];
        errors.not_supported(&path.child("selectPolicy"), policy, known);
    }
    let at = path.child("policies");
    if rules.list("policies").is_empty() {
        errors.required(&at, "must specify at least one Policy");
    }
    for (i, policy) in rules.list("policies").iter().enumerate() {
        validate_policy(policy, &at.index(i), errors);
    }
    if rules.has("tolerance") {
        let tolerance = Quantity::of(rules.at("tolerance"));
        quantities::non_negative(&tolerance, &path.child("tolerance"), errors);
    }
}

fn validate_policy(policy: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let kind = policy.text("type");
    if !matches!(kind, "Pods" | "Percent") {
        errors.not_supported(&path.child("type"), kind, &["Percent", "Pods"]);
    }
    for field in ["value", "periodSeconds"] {
        let number = policy.int(field).unwrap_or_default();
        if number <= 0 {
            errors.invalid(&path.child(field), number, "must be greater than zero");
        }
    }
    let period = policy.int("periodSeconds").unwrap_or_default();
    if period > PERIOD_S_MAX {
        let fault = format!("must be less than or equal to {PERIOD_S_MAX}");
        errors.invalid(&path.child("periodSeconds"), period, fault);
    }
}
