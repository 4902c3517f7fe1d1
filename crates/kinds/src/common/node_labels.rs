//! Labels of nodes that have better names by now.
//!
//! Upstream: `pkg/api/node/util.go`.

use serde_json::Value;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::{View, names};

/// What to say of a label that should not be used any more.
pub fn deprecation(label: &str) -> Option<&'static str> {
    Some(match label {
        "beta.kubernetes.io/arch" => r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#,
        "beta.kubernetes.io/os" => r#"deprecated since v1.14; use "kubernetes.io/os" instead"#,
        "failure-domain.beta.kubernetes.io/region" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#
        }
        "beta.kubernetes.io/instance-type" => {
            r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#
        }
        "app.kubernetes.io/created-by" => "deprecated since v1.9",
        "scheduler.alpha.kubernetes.io/preferAvoidPods" => {
            "deprecated since v1.22; use Taints and Tolerations instead"
        }
        "node-role.kubernetes.io/master" => {
            r#"use "node-role.kubernetes.io/control-plane" instead"#
        }
        _ => return None,
    })
}

/// What to say of a term of a node selector; bad values are told of where they are let through.
pub fn warnings_for_term(term: &Value, values: bool, path: &Path<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let list = path.child("matchExpressions");
    for (i, expression) in term.list("matchExpressions").iter().enumerate() {
        let at = list.index(i);
        let key = expression.text("key");
        if let Some(message) = deprecation(key) {
            warnings.push(format!("{}: {key} is {message}", at.child("key")));
        }
        if !values {
            continue;
        }
        let list = at.child("values");
        for (j, value) in expression.list("values").iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            for fault in names::label_value(value) {
                warnings.push(format!("{}: {value} is invalid, {fault}", list.index(j)));
            }
        }
    }
    warnings
}

/// What to say of a `metav1.LabelSelector` of nodes.
pub fn warnings_for_selector(selector: &Value, path: &Path<'_>) -> Vec<String> {
    let mut warnings = warnings_for_term(selector, false, path);
    let path = path.child("matchLabels");
    for (key, _) in selector.entries("matchLabels") {
        if let Some(message) = deprecation(key) {
            warnings.push(format!("{}: {message}", path.child(key)));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn old_labels_and_bad_values_are_told_of() {
        let term = json!({"matchExpressions": [
            {"key": "beta.kubernetes.io/os", "operator": "In", "values": ["-"]},
        ]});
        let warnings = |values| warnings_for_term(&term, values, &Path::new("t"));
        assert_eq!(
            warnings(false),
            [
                r#"t.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead"#
            ]
        );
        assert_eq!(warnings(true).len(), 2);
    }

    #[test]
    fn selectors_have_labels_too() {
        let selector = json!({"matchLabels": {"beta.kubernetes.io/os": "x", "a": "b"}});
        assert_eq!(
            warnings_for_selector(&selector, &Path::new("s")),
            [
                r#"s.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead"#
            ]
        );
    }
}
