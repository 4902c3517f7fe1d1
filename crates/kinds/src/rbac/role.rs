//! Role and ClusterRole.

use super::name_rule;
use crate::common::faults::Faults;
use crate::common::kube_metadata;
use crate::common::labels::{self, SelectorOptions};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::labels::{Operator, Requirement};

pub(crate) struct Role;
pub(crate) struct ClusterRole;

impl CreateStrategy for Role {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rule);
        errors.extend(validate_rules(object, true));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rule(name, prefix)
    }
}

impl UpdateStrategy for Role {
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        errors.extend(kube_metadata::validate_update(new, old));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for Role {}

impl CreateStrategy for ClusterRole {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate_cluster_role(object, SelectorOptions::default())
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rule(name, prefix)
    }
}

impl UpdateStrategy for ClusterRole {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let options = SelectorOptions {
            allow_invalid_values: selectors(old).iter().any(is_faulty),
        };
        let mut errors = validate_cluster_role(new, options);
        errors.extend(kube_metadata::validate_update(new, old));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for ClusterRole {}

fn selectors(role: &Value) -> &[Value] {
    role.at("aggregationRule").list("clusterRoleSelectors")
}

fn is_faulty(selector: &Value) -> bool {
    let faults = labels::validate_selector(selector, SelectorOptions::default(), &Path::ROOT);
    !faults.is_empty()
}

fn validate_cluster_role(role: &Value, options: SelectorOptions) -> ErrorList {
    let mut errors = kube_metadata::validate(role, false, &name_rule);
    errors.extend(validate_rules(role, false));
    if !role.has("aggregationRule") {
        return errors;
    }
    let path = Path::new("aggregationRule");
    let path = path.child("clusterRoleSelectors");
    if selectors(role).is_empty() {
        let fault = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.required(&path, fault);
    }
    for (i, selector) in selectors(role).iter().enumerate() {
        let path = path.index(i);
        errors.extend(labels::validate_selector(selector, options, &path));
        if !can_select(selector) {
            // By then upstream's variable holds no selector any more.
            errors.invalid(&path, Raw("null"), "invalid label selector.");
        }
    }
    errors
}

/// Whether `LabelSelectorAsSelector` makes a selector of it.
fn can_select(selector: &Value) -> bool {
    let requirement = |key: &str, operator, values: Vec<String>| {
        Requirement::new(key, operator, values, &Path::ROOT).is_ok()
    };
    let texts = |list: &[Value]| -> Vec<String> {
        let texts = list.iter().filter_map(|v| v.as_str().map(str::to_owned));
        texts.collect()
    };
    let mut exact = selector.entries("matchLabels");
    let exact = exact.all(|(key, value)| {
        let value = value.as_str().unwrap_or_default().to_owned();
        requirement(key, Operator::Equals, vec![value])
    });
    let mut expressions = selector.list("matchExpressions").iter();
    exact
        && expressions.all(|expression| {
            let operator = match expression.text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return false,
            };
            let values = texts(expression.list("values"));
            requirement(expression.text("key"), operator, values)
        })
}

fn validate_rules(role: &Value, namespaced: bool) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("rules");
    for (i, rule) in role.list("rules").iter().enumerate() {
        validate_rule(rule, namespaced, &path.index(i), &mut errors);
    }
    errors
}

fn validate_rule(rule: &Value, namespaced: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let empty = |field: &str| rule.list(field).is_empty();
    if empty("verbs") {
        let fault = "verbs must contain at least one value";
        errors.required(&path.child("verbs"), fault);
    }
    if !empty("nonResourceURLs") {
        let path = path.child("nonResourceURLs");
        let urls = rule.at("nonResourceURLs");
        if namespaced {
            let fault = "namespaced rules cannot apply to non-resource URLs";
            errors.invalid(&path, urls, fault);
        }
        if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
            let fault = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(&path, urls, fault);
        }
        return;
    }
    if empty("apiGroups") {
        let fault = "resource rules must supply at least one api group";
        errors.required(&path.child("apiGroups"), fault);
    }
    if empty("resources") {
        let fault = "resource rules must supply at least one resource";
        errors.required(&path.child("resources"), fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;
    use serde_json::json;

    #[test]
    fn rules_are_about_resources_or_urls() {
        let rules = json!([{}, {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["a"]}]);
        let role = json!({"metadata": {"name": "a:b", "namespace": "n"}, "rules": rules});
        assert_eq!(
            faults(&Role, &role),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
                "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
                "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
            ]
        );
    }

    #[test]
    fn aggregation_needs_selectors() {
        let role = |selectors: serde_json::Value| {
            json!({"metadata": {"name": "a"},
                "aggregationRule": {"clusterRoleSelectors": selectors}})
        };
        assert_eq!(faults(&ClusterRole, &role(json!([]))).len(), 1);
        let selectors = json!([{"matchExpressions": [{"key": "a", "operator": "Equals"}]}]);
        assert_eq!(
            faults(&ClusterRole, &role(selectors)),
            [
                "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: \"Equals\": not a valid selector operator",
                "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
            ]
        );
    }

    #[test]
    fn names_fit_into_paths() {
        assert!(Role.validate_name("system:x", false).is_empty());
        assert_eq!(Role.validate_name("..", true), ["may not be '..'"]);
    }
}
