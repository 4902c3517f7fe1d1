//! Which nodes a pod may be on by its node selector and required node affinity. Upstream's
//! `component-helpers/scheduling/corev1/nodeaffinity`.

use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

/// Whether the pod may be on the node.
pub(super) fn matches(spec: &PodSpec, node: &Node) -> bool {
    let label = |key: &str| node.metadata.labels.as_ref()?.get(key).map(String::as_str);
    let mut selector = spec.node_selector.iter().flatten();
    if !selector.all(|(key, value)| label(key) == Some(value)) {
        return false;
    }
    let affinity = spec
        .affinity
        .as_ref()
        .and_then(|one| one.node_affinity.as_ref());
    let required = affinity.and_then(|one| {
        one.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let Some(required) = required else {
        return true;
    };
    required
        .node_selector_terms
        .iter()
        .any(|term| holds(term, node))
}

/// A term without any requirement selects nothing.
fn holds(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let label = |key: &str| node.metadata.labels.as_ref()?.get(key).map(String::as_str);
    let field = |key: &str| match key {
        "metadata.name" => node.metadata.name.as_deref(),
        _ => None,
    };
    expressions.iter().all(|one| is_met(one, label(&one.key)))
        && fields.iter().all(|one| is_met(one, field(&one.key)))
}

fn is_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let is_in = |value: &str| values.iter().any(|one| one == value);
    let number = |value: &str| value.parse::<i64>().ok();
    let bound = values.first().and_then(|bound| number(bound));
    let compared = value.and_then(number).zip(bound);
    match requirement.operator.as_str() {
        "In" => value.is_some_and(is_in),
        "NotIn" => !value.is_some_and(is_in),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared.is_some_and(|(value, bound)| value > bound),
        "Lt" => compared.is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}
