//! Labels and label selectors.
//!
//! Upstream: `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.

use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// Faults of a map of labels. A Go map has no order; ours come in key order.
pub fn validate(labels: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.extend(validate_name(key, path));
        let value = value.as_str().unwrap_or_default();
        let faults = names::label_value(value).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(path, value, fault)));
    }
    errors
}

/// Faults of a label's key.
pub fn validate_name(key: &str, path: &Path<'_>) -> ErrorList {
    let faults = names::label_key(key).into_iter();
    faults
        .map(|fault| Error::invalid(path, key, fault))
        .collect()
}

/// What an old object may be forgiven.
#[derive(Clone, Copy, Default, Debug)]
pub struct SelectorOptions {
    /// The stored object has a bad value in a selector already.
    pub allow_invalid_values: bool,
}

/// Faults of a label selector; none if it is null.
pub fn validate_selector(selector: &Value, options: SelectorOptions, path: &Path<'_>) -> ErrorList {
    let mut errors = validate(selector.at("matchLabels"), &path.child("matchLabels"));
    let expressions = path.child("matchExpressions");
    for (i, expression) in selector.list("matchExpressions").iter().enumerate() {
        let path = expressions.index(i);
        errors.extend(validate_requirement(expression, options, &path));
    }
    errors
}

fn validate_requirement(
    requirement: &Value,
    options: SelectorOptions,
    path: &Path<'_>,
) -> ErrorList {
    let mut errors = ErrorList::new();
    let values = requirement.list("values");
    let operator = requirement.text("operator");
    match operator {
        "In" | "NotIn" if values.is_empty() => errors.push(Error::required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(Error::forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.push(Error::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    errors.extend(validate_name(requirement.text("key"), &path.child("key")));
    if !options.allow_invalid_values {
        let at = path.child("values");
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let faults = names::label_value(value).into_iter();
            errors.extend(faults.map(|fault| Error::invalid(&at.index(i), value, fault)));
        }
    }
    errors
}

/// Whether an expression of the selector has a value that is no label value.
pub fn has_invalid_value(selector: &Value) -> bool {
    let expressions = selector.list("matchExpressions").iter();
    expressions
        .flat_map(|expression| expression.list("values"))
        .filter_map(Value::as_str)
        .any(|value| !names::label_value(value).is_empty())
}

/// Whether the selector has neither labels nor expressions. Null is empty too.
pub fn is_empty(selector: &Value) -> bool {
    selector.entries("matchLabels").next().is_none() && selector.list("matchExpressions").is_empty()
}

/// The selector as Go's encoder writes it, for messages that quote it.
pub fn shown(selector: &Value) -> String {
    let mut parts = Vec::new();
    if selector.entries("matchLabels").next().is_some() {
        parts.push(format!("\"matchLabels\":{}", selector.at("matchLabels")));
    }
    if !selector.list("matchExpressions").is_empty() {
        let expressions = selector.at("matchExpressions");
        parts.push(format!("\"matchExpressions\":{expressions}"));
    }
    match selector.is_null() {
        true => "null".to_owned(),
        false => format!("{{{}}}", parts.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operators_and_values_fit_together() {
        let selector = json!({"matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "a", "operator": "Equals"},
        ]});
        let faults = validate_selector(&selector, SelectorOptions::default(), &Path::new("s"));
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                "s.matchExpressions[2].operator: Invalid value: \"Equals\": not a valid selector operator",
            ]
        );
    }

    #[test]
    fn an_old_bad_value_may_be_forgiven() {
        let selector =
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]});
        assert!(has_invalid_value(&selector));
        let check = |allow_invalid_values| {
            let options = SelectorOptions {
                allow_invalid_values,
            };
            validate_selector(&selector, options, &Path::new("s")).len()
        };
        assert_eq!((check(false), check(true)), (1, 0));
    }

    #[test]
    fn labels_are_shown_before_expressions() {
        let selector = json!({
            "matchExpressions": [{"key": "a", "operator": "Exists"}],
            "matchLabels": {"b": "c"},
        });
        assert_eq!(
            shown(&selector),
            r#"{"matchLabels":{"b":"c"},"matchExpressions":[{"key":"a","operator":"Exists"}]}"#
        );
        assert_eq!(shown(&json!({})), "{}");
    }
}
