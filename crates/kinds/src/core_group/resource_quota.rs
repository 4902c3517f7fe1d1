//! ResourceQuota.
//!
//! Upstream: `ValidateResourceQuota` of `pkg/apis/core/validation/validation.go`,
//! `pkg/registry/core/resourcequota/strategy.go`.

use crate::common::faults::Faults;
use crate::common::resource_name_rules::{is_standard_for_quota, validate_for_quota};
use crate::common::{IMMUTABLE, kube_metadata, name_rules, quantities};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::limits::ERRORS_TOLD_BYTES_MAX;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View};

pub(crate) struct ResourceQuota;

impl CreateStrategy for ResourceQuota {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({}));
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        errors.extend(validate_spec(object.at("spec")));
        errors.extend(validate_status(object.at("status")));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ResourceQuota {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate_spec(new.at("spec")));
        let scopes = |object: &'_ Value| -> BTreeSet<String> {
            let scopes = object.at("spec").list("scopes").iter();
            scopes
                .filter_map(|s| s.as_str().map(str::to_owned))
                .collect()
        };
        if scopes(new) != scopes(old) {
            let path = Path::new("spec");
            let value = new.at("spec").at("scopes");
            errors.invalid(&path.child("scopes"), value, IMMUTABLE);
        }
        errors
    }
}

impl Strategy for ResourceQuota {
    fn set_defaults(&self, object: &mut Value) {
        if let Some(spec) = object.child_mut("spec") {
            quantities::round_up_list(spec, "hard");
        }
        if let Some(status) = object.child_mut("status") {
            quantities::round_up_list(status, "hard");
            quantities::round_up_list(status, "used");
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            None => requests_above_limits(new.at("spec").at("hard")),
            Some(_) => Vec::new(),
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&ResourceQuotaStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct ResourceQuotaStatus;

impl CreateStrategy for ResourceQuotaStatus {
    inherit!(create: ResourceQuota);
}

impl UpdateStrategy for ResourceQuotaStatus {
    inherit!(update: ResourceQuota);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        if new.at("metadata").text("resourceVersion").is_empty() {
            errors.required(&Path::new("resourceVersion"), "");
        }
        errors.extend(validate_status(new.at("status")));
        errors
    }
}

impl Strategy for ResourceQuotaStatus {
    inherit!(ResourceQuota);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

fn validate_amounts(holder: &Value, key: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = path.child(key);
    for (resource, amount) in holder.entries(key) {
        let path = path.key(resource);
        validate_for_quota(resource, &path, &mut errors);
        quantities::of_resource(resource, &Quantity::of(amount), &path, &mut errors);
    }
    errors
}

fn validate_status(status: &Value) -> ErrorList {
    let path = Path::new("status");
    let mut errors = validate_amounts(status, "hard", &path);
    errors.extend(validate_amounts(status, "used", &path));
    errors
}

fn validate_spec(spec: &Value) -> ErrorList {
    let path = Path::new("spec");
    let mut errors = validate_amounts(spec, "hard", &path);
    errors.extend(validate_scopes(spec, &path));
    if spec.has("scopeSelector") {
        errors.extend(validate_scope_selector(spec, &path));
    }
    errors
}

fn validate_scopes(spec: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = path.child("scopes");
    let all = spec.at("scopes");
    let scopes: Vec<&str> = spec
        .list("scopes")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let hard = standard_resources(spec);
    // All scopes are shown with each that is wrong: that is enough of them.
    let enough = 1 + ERRORS_TOLD_BYTES_MAX / all.to_string().len();
    for scope in &scopes {
        if errors.len() > enough {
            break;
        }
        if !is_standard_scope(scope) {
            errors.invalid(&path, all, "unsupported scope");
        }
        let unfit = hard.iter().filter(|resource| !fits(scope, resource));
        for _ in unfit.take(enough) {
            errors.invalid(&path, all, "unsupported scope applied to resource");
        }
    }
    for _ in conflicts(&scopes) {
        errors.invalid(&path, all, "conflicting scopes");
    }
    errors
}

/// The resources that are limited and that scopes are told of.
fn standard_resources(spec: &Value) -> Vec<&str> {
    let hard = spec.entries("hard").map(|(resource, _)| resource);
    hard.filter(|resource| is_standard_for_quota(resource))
        .collect()
}

fn validate_scope_selector(spec: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = path.child("scopeSelector");
    let path = path.child("matchExpressions");
    let selector = spec.at("scopeSelector");
    let requirements = selector.list("matchExpressions");
    let hard = standard_resources(spec);
    let mut shown_bytes = 0;
    for requirement in requirements {
        let scope = requirement.text("scopeName");
        let (operator, values) = (requirement.text("operator"), requirement.list("values"));
        if !is_standard_scope(scope) {
            errors.invalid(&path.child("scopeName"), scope, "unsupported scope");
        }
        for _ in hard.iter().filter(|resource| !fits(scope, resource)) {
            // The selector is shown with each that is wrong: that is enough of them.
            if shown_bytes > ERRORS_TOLD_BYTES_MAX {
                break;
            }
            let shown = shown_selector(selector).to_string();
            shown_bytes += shown.len();
            errors.invalid(&path, Raw(&shown), "unsupported scope applied to resource");
        }
        let unary = matches!(
            scope,
            "BestEffort"
                | "NotBestEffort"
                | "Terminating"
                | "NotTerminating"
                | "CrossNamespacePodAffinity"
        );
        if unary && operator != "Exists" {
            errors.invalid(
                &path.child("operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            );
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.required(
                &path.child("values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            ),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.invalid(
                &path.child("values"),
                requirement.at("values"),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.invalid(
                &path.child("operator"),
                operator,
                "not a valid selector operator",
            ),
        }
    }
    let scopes: Vec<&str> = requirements.iter().map(|r| r.text("scopeName")).collect();
    for _ in conflicts(&scopes) {
        errors.invalid(&path, spec.at("scopes"), "conflicting scopes");
    }
    errors
}

/// The selector in the form of upstream's internal type.
fn shown_selector(selector: &Value) -> Value {
    let requirements = selector.list("matchExpressions").iter().map(|r| {
        json!({"ScopeName": r.at("scopeName"), "Operator": r.at("operator"), "Values": r.at("values")})
    });
    json!({"MatchExpressions": requirements.collect::<Vec<_>>()})
}

fn is_standard_scope(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "VolumeAttributesClass"
            | "CrossNamespacePodAffinity"
    )
}

/// Whether a scope can select uses of a resource, as far as upstream knows the resource.
fn fits(scope: &str, resource: &str) -> bool {
    if !is_standard_for_quota(resource) {
        return true;
    }
    let of_pods = matches!(
        resource,
        "pods"
            | "cpu"
            | "memory"
            | "limits.cpu"
            | "limits.memory"
            | "requests.cpu"
            | "requests.memory"
    );
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => of_pods,
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => true,
    }
}

/// Pairs of scopes of which nothing is in both.
fn conflicts(scopes: &[&str]) -> impl Iterator<Item = ()> {
    let pairs = [
        ["BestEffort", "NotBestEffort"],
        ["NotTerminating", "Terminating"],
    ];
    let both = pairs.map(|pair| pair.iter().all(|scope| scopes.contains(scope)));
    both.into_iter().filter(|both| *both).map(|_| ())
}

fn requests_above_limits(hard: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut request = format!("requests.{resource}");
        if !hard.has(&request) && matches!(resource, "cpu" | "memory") && hard.has(resource) {
            resource.clone_into(&mut request);
        }
        let limit = format!("limits.{resource}");
        if !hard.has(&request) || !hard.has(&limit) {
            continue;
        }
        let (asked, most) = (
            Quantity::of(hard.at(&request)),
            Quantity::of(hard.at(&limit)),
        );
        if asked > most {
            warnings.push(format!(
                "ResourceQuota {request} ({asked}) should be less than {limit} ({most})"
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};

    fn quota(spec: Value) -> Value {
        let metadata = json!({"name": "a", "namespace": "n", "resourceVersion": "1"});
        json!({"metadata": metadata, "spec": spec})
    }

    #[test]
    fn scopes_fit_resources() {
        let spec =
            json!({"hard": {"services": "1", "pods": "-1"}, "scopes": ["BestEffort", "Odd"]});
        assert_eq!(
            faults(&ResourceQuota, &quota(spec)),
            [
                "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.scopes: Invalid value: [\"BestEffort\",\"Odd\"]: unsupported scope applied to resource",
                "spec.scopes: Invalid value: [\"BestEffort\",\"Odd\"]: unsupported scope",
            ]
        );
        let spec = json!({"scopes": ["Terminating", "NotTerminating"]});
        assert_eq!(
            faults(&ResourceQuota, &quota(spec)),
            [
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes"
            ]
        );
    }

    #[test]
    fn scope_selectors_are_checked() {
        let requirements = json!([
            {"scopeName": "BestEffort", "operator": "In"},
            {"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]},
            {"scopeName": "Odd", "operator": "?"},
        ]);
        let spec = json!({"scopeSelector": {"matchExpressions": requirements}});
        let found: Vec<String> = faults(&ResourceQuota, &quota(spec));
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        let at = "spec.scopeSelector.matchExpressions";
        let expected = ["operator", "values", "values", "scopeName", "operator"];
        assert_eq!(fields, expected.map(|field| format!("{at}.{field}")));
    }

    #[test]
    fn scopes_stay_as_a_set() {
        let old = quota(json!({"scopes": ["BestEffort", "PriorityClass"]}));
        let turned = quota(json!({"scopes": ["PriorityClass", "BestEffort"]}));
        assert!(update_faults(&ResourceQuota, &turned, &old).is_empty());
        let fewer = quota(json!({"scopes": ["BestEffort"]}));
        assert_eq!(
            update_faults(&ResourceQuota, &fewer, &old),
            ["spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable"]
        );
    }

    #[test]
    fn requests_above_limits_are_pointed_out() {
        let object = quota(json!({"hard": {"cpu": "2", "limits.cpu": "1"}}));
        assert_eq!(
            ResourceQuota.warnings(&object, None),
            ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]
        );
        assert!(ResourceQuota.warnings(&object, Some(&object)).is_empty());
    }
}
