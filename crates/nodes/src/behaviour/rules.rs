//! Rules: what pods do that are selected by labels.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::BTreeMap;
use stowplan_base::Duration;

/// How much a pod uses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Usage {
    /// Always as much, whatever it requests.
    Constant {
        /// Thousandths of a cpu.
        cpu_m: i64,
        /// Bytes.
        memory: i64,
    },
    /// A part of what it requests: 1.0 is all of it.
    Fraction(f64),
    /// Up and down between two parts of what it requests.
    Sine {
        /// The least part.
        low: f64,
        /// The greatest part.
        high: f64,
        /// How long it takes from one peak to the next.
        period: Duration,
    },
}

/// What the pods do that it selects. A field that is `None` leaves the matter to commands and defaults.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Which pods are meant; all if it is empty.
    pub selector: LabelSelector,
    /// In which namespace; in all if there is none.
    pub namespace: Option<String>,
    /// How long they take until their containers start.
    pub start_after: Option<Duration>,
    /// How long their containers run.
    pub run_for: Option<Duration>,
    /// With which code those exit.
    pub exit_code: Option<i32>,
    /// How much they use.
    pub usage: Option<Usage>,
}

/// Rules, of which the first that selects a pod holds for it.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// These rules, in their order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// The rule for a pod.
    pub(crate) fn of(&self, pod: &Pod) -> Option<&Rule> {
        let meta = &pod.metadata;
        let empty = BTreeMap::new();
        let labels = meta.labels.as_ref().unwrap_or(&empty);
        self.0.iter().find(|rule| {
            let here = |namespace: &String| Some(namespace) == meta.namespace.as_ref();
            rule.namespace.as_ref().is_none_or(here) && selects(&rule.selector, labels)
        })
    }
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let mut wanted = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    wanted.all(|(key, value)| labels.get(key) == Some(value))
        && expressions.all(|expression| holds(expression, labels))
}

fn holds(expression: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&expression.key);
    let is_in = |value: &String| expression.values.iter().flatten().any(|one| one == value);
    match expression.operator.as_str() {
        "In" => value.is_some_and(is_in),
        "NotIn" => !value.is_some_and(is_in),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_rule_that_selects_a_pod_holds() {
        let rule = |selector, namespace: Option<&str>, code| Rule {
            selector: serde_json::from_value(selector).unwrap(),
            namespace: namespace.map(str::to_owned),
            exit_code: Some(code),
            ..Rule::default()
        };
        let tiers =
            json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["db"]}]});
        let rules = Rules::new(vec![
            rule(json!({"matchLabels": {"app": "web"}}), Some("shop"), 1),
            rule(tiers, None, 2),
            rule(json!({}), Some("test"), 3),
        ]);
        let rows = [
            ("shop", json!({"app": "web", "tier": "db"}), Some(1)),
            ("test", json!({"app": "web", "tier": "db"}), Some(2)),
            ("test", json!({"app": "web"}), Some(3)),
            ("shop", json!({"tier": "cache"}), None),
        ];
        for (namespace, labels, code) in rows {
            let pod = json!({"metadata": {"namespace": namespace, "labels": labels}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let found = rules.of(&pod).and_then(|rule| rule.exit_code);
            assert_eq!(found, code, "{namespace} {labels}");
        }
    }
}
