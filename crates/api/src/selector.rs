//! Selectors over API objects: label selectors, and the nodes a pod may go to.
//!
//! The engine has its own, over interned names; these serve the few who read plain objects.

use k8s_openapi::api::core::v1::{Node, NodeSelectorTerm, PodSpec, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

/// Whether a selector restricts nothing.
pub fn is_empty(selector: &LabelSelector) -> bool {
    selector
        .match_labels
        .as_ref()
        .is_none_or(BTreeMap::is_empty)
        && selector
            .match_expressions
            .as_ref()
            .is_none_or(Vec::is_empty)
}

/// Whether a selector selects these labels. An empty one selects everything.
pub fn matches(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let value = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
    };
    selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, wanted)| value(key) == Some(wanted))
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|expression| {
                let values = expression.values.as_deref().unwrap_or_default();
                holds(&expression.operator, values, value(&expression.key))
            })
}

/// Whether one requirement holds for the value that a key has, if any.
fn holds(operator: &str, values: &[String], value: Option<&str>) -> bool {
    let among = || value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
    let compared = |compare: fn(i64, i64) -> bool| {
        let bound = values.first().and_then(|bound| bound.parse().ok());
        match (value.and_then(|value| value.parse().ok()), bound) {
            (Some(value), Some(bound)) => compare(value, bound),
            _ => false,
        }
    };
    match operator {
        "In" => among(),
        "NotIn" => !among(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(|value, bound| value > bound),
        "Lt" => compared(|value, bound| value < bound),
        _ => false,
    }
}

/// Whether `nodeSelector` and the required node affinity of a pod select a node. Upstream's
/// `GetRequiredNodeAffinity(pod).Match(node)`.
pub fn selects_node(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let selected = spec
        .node_selector
        .iter()
        .flatten()
        .all(|(key, wanted)| label(key) == Some(wanted));
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| {
            affinity
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        });
    selected
        && required.is_none_or(|required| {
            required
                .node_selector_terms
                .iter()
                .any(|term| term_matches(term, node))
        })
}

fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let labels = node.metadata.labels.as_ref();
    expressions.iter().all(|expression| {
        let value = labels
            .and_then(|labels| labels.get(&expression.key))
            .map(String::as_str);
        holds(
            &expression.operator,
            expression.values.as_deref().unwrap_or_default(),
            value,
        )
    }) && fields.iter().all(|field| {
        let name = node
            .metadata
            .name
            .as_deref()
            .filter(|_| field.key == "metadata.name");
        holds(
            &field.operator,
            field.values.as_deref().unwrap_or_default(),
            name,
        )
    })
}

/// Upstream's `ToleratesTaint`, without the comparing operators.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let is = |field: &Option<String>, text: &str| {
        field
            .as_deref()
            .is_none_or(|field| field.is_empty() || field == text)
    };
    if !is(&toleration.effect, &taint.effect) || !is(&toleration.key, &taint.key) {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => {
            toleration.value.as_deref().unwrap_or_default()
                == taint.value.as_deref().unwrap_or_default()
        }
        "Exists" => true,
        _ => false,
    }
}
