//! PodDisruptionBudgets: how many pods may be away at once.
//!
//! Upstream: `pkg/apis/policy`, `pkg/registry/policy/poddisruptionbudget`.

use crate::common::conditions;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::labels::{self, SelectorOptions};
use crate::common::name_rules;
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{NEGATIVE, generation};
use crate::subresource::keep;
use crate::workloads::int_or_percent::{validate_at_most_all, validate_positive};
use crate::workloads::spec_changed;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

const SPEC: Path<'static> = Path::new("spec");

/// A label that once told "all pods" from "no pods". It stands alone or not at all.
const EMPTY_SELECTOR: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// How pod disruption budgets behave.
pub(crate) struct PodDisruptionBudget;

static STATUS: StatusStrategy = StatusStrategy {
    whole: &PodDisruptionBudget,
    kept_metadata: &[],
    also: nothing_else,
    reset_fields: &[&["spec"]],
    validate_update: |new, _| {
        let path = Path::new("status");
        let status = new.at("status");
        let mut errors = ErrorList::new();
        let list = status.list("conditions");
        conditions::validate(list, &path.child("conditions"), &mut errors);
        for field in [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ] {
            let value = status.int(field).unwrap_or_default();
            if value < 0 {
                errors.invalid(&path.child(field), value, NEGATIVE);
            }
        }
        errors
    },
};

impl CreateStrategy for PodDisruptionBudget {
    fn prepare_for_create(&self, object: &mut Value, _cx: &Context<'_>) {
        object.set(
            "status",
            json!({
                "disruptionsAllowed": 0, "currentHealthy": 0,
                "desiredHealthy": 0, "expectedPods": 0,
            }),
        );
        generation::start(object);
    }

    fn validate(&self, object: &Value, _cx: &Context<'_>) -> ErrorList {
        validate(object.at("spec"), SelectorOptions::default())
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for PodDisruptionBudget {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        keep(new, old, "status");
        let changed = spec_changed(new, old);
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        let before = old.path(&["spec", "selector"]);
        let strict = SelectorOptions::default();
        let faults = labels::validate_selector(before, strict, &Path::ROOT);
        let options = SelectorOptions {
            allow_invalid_values: !faults.is_empty(),
        };
        validate(new.at("spec"), options)
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for PodDisruptionBudget {
    fn set_defaults(&self, object: &mut Value) {
        if let Some(selector) = object
            .child_mut("spec")
            .and_then(|s| s.child_mut("selector"))
        {
            strip_empty_selector(selector);
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&STATUS)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

fn validate(spec: &Value, options: SelectorOptions) -> ErrorList {
    let mut errors = ErrorList::new();
    let fields = ["minAvailable", "maxUnavailable"];
    if fields.iter().all(|field| spec.has(field)) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid(&SPEC, Internal(spec), detail);
    }
    for field in fields.into_iter().filter(|field| spec.has(field)) {
        let at = SPEC.child(field);
        validate_positive(spec.at(field), &at, &mut errors);
        validate_at_most_all(spec.at(field), &at, &mut errors);
    }
    let selector = spec.at("selector");
    errors.extend(labels::validate_selector(
        selector,
        options,
        &SPEC.child("selector"),
    ));
    let field = "unhealthyPodEvictionPolicy";
    let policy = spec.text(field);
    if spec.has(field) && !matches!(policy, "AlwaysAllow" | "IfHealthyBudget") {
        let known = ["AlwaysAllow", "IfHealthyBudget"];
        errors.not_supported(&SPEC.child(field), policy, &known);
    }
    errors
}

/// Takes the label of old out of selectors that say something else too.
fn strip_empty_selector(selector: &mut Value) {
    let alone = |operator: &str| json!({"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": operator}]});
    if [alone("Exists"), alone("DoesNotExist")].contains(selector) {
        return;
    }
    if selector.at("matchLabels").has(EMPTY_SELECTOR) {
        let labels = selector.at_mut("matchLabels");
        labels.unset(EMPTY_SELECTOR);
        if labels.as_object().is_some_and(Map::is_empty) {
            selector.unset("matchLabels");
        }
    }
    let of_old = |expression: &Value| expression.text("key") == EMPTY_SELECTOR;
    if selector.list("matchExpressions").iter().any(of_old) {
        let expressions = selector.list_mut("matchExpressions");
        expressions.retain(|expression| !of_old(expression));
        if expressions.is_empty() {
            selector.unset("matchExpressions");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_apimachinery::lookup::Nothing;

    fn faults(spec: Value) -> Vec<String> {
        let cx = Context {
            now: "",
            cluster: &Nothing,
        };
        let errors = PodDisruptionBudget.validate(&json!({"spec": spec}), &cx);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_bound_only() {
        assert_eq!(faults(json!({"minAvailable": "50%"})), [""; 0]);
        let both = faults(json!({"minAvailable": 1, "maxUnavailable": "101%"}));
        assert_eq!(both.len(), 2);
        assert!(both[0].ends_with("minAvailable and maxUnavailable cannot be both set"));
        assert_eq!(
            both[1],
            "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"
        );
        assert_eq!(
            faults(json!({"unhealthyPodEvictionPolicy": "x"})),
            [
                "spec.unhealthyPodEvictionPolicy: Unsupported value: \"x\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\""
            ]
        );
    }

    #[test]
    fn the_label_of_old_stands_alone() {
        let defaulted = |selector: Value| {
            let mut object = json!({"spec": {"selector": selector}});
            PodDisruptionBudget.set_defaults(&mut object);
            object["spec"]["selector"].take()
        };
        let alone = json!({"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": "Exists"}]});
        assert_eq!(defaulted(alone.clone()), alone);
        let mixed = json!({"matchLabels": {EMPTY_SELECTOR: "x", "a": "b"}});
        assert_eq!(defaulted(mixed), json!({"matchLabels": {"a": "b"}}));
    }
}
