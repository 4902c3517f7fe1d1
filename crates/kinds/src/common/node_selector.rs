//! Node selectors and their terms: of pods and of volumes.
//!
//! Upstream: `ValidateNodeSelector` of `pkg/apis/core/validation/validation.go`.

use super::{labels, name_rules};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// Faults of a node selector. `allow_invalid_values`: the stored object has bad values already.
pub fn validate(selector: &Value, allow_invalid_values: bool, path: &Path<'_>) -> ErrorList {
    let path = path.child("nodeSelectorTerms");
    let terms = selector.list("nodeSelectorTerms");
    if terms.is_empty() {
        let fault = "must have at least one node selector term";
        return vec![Error::required(&path, fault)];
    }
    let each = terms.iter().enumerate();
    each.flat_map(|(i, term)| validate_term(term, allow_invalid_values, &path.index(i)))
        .collect()
}

/// Faults of one term.
pub fn validate_term(term: &Value, allow_invalid_values: bool, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let at = path.child("matchExpressions");
    for (i, requirement) in term.list("matchExpressions").iter().enumerate() {
        let at = at.index(i);
        errors.extend(validate_expression(requirement, allow_invalid_values, &at));
    }
    let at = path.child("matchFields");
    for (i, requirement) in term.list("matchFields").iter().enumerate() {
        errors.extend(validate_field(requirement, &at.index(i)));
    }
    errors
}

fn validate_expression(
    requirement: &Value,
    allow_invalid_values: bool,
    path: &Path<'_>,
) -> ErrorList {
    let mut errors = ErrorList::new();
    let (operator, values) = (requirement.text("operator"), requirement.list("values"));
    let at = path.child("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => errors.push(Error::required(
            &at,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(Error::forbidden(
            &at,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => errors.push(Error::required(
            &at,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => errors.push(Error::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    let key = requirement.text("key");
    errors.extend(labels::validate_name(key, &path.child("key")));
    if !allow_invalid_values {
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let faults = names::label_value(value).into_iter();
            errors.extend(faults.map(|fault| Error::invalid(&at.index(i), value, fault)));
        }
    }
    errors
}

/// The only field that can be asked for is the name of the node.
fn validate_field(requirement: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let (operator, values) = (requirement.text("operator"), requirement.list("values"));
    match operator {
        "In" | "NotIn" if values.len() != 1 => errors.push(Error::required(
            &path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )),
        "In" | "NotIn" => {}
        _ => errors.push(Error::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    let key = requirement.text("key");
    if key != "metadata.name" {
        let fault = "not a valid field selector key";
        errors.push(Error::invalid(&path.child("key"), key, fault));
        return errors;
    }
    let at = path.child("values");
    for (i, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        let faults = name_rules::dns_subdomain(value, false).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(&at.index(i), value, fault)));
    }
    errors
}

/// Whether a term has a value that is no label value.
pub fn has_invalid_value(selector: &Value) -> bool {
    let terms = selector.list("nodeSelectorTerms").iter();
    terms
        .flat_map(|term| term.list("matchExpressions"))
        .flat_map(|expression| expression.list("values"))
        .filter_map(Value::as_str)
        .any(|value| !names::label_value(value).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn terms_are_judged_in_order() {
        let selector = json!({"nodeSelectorTerms": [
            {"matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Gt", "values": ["1", "2"]},
                {"key": "a", "operator": "?", "values": ["-"]},
            ]},
            {"matchFields": [
                {"key": "spec.x", "operator": "Exists"},
                {"key": "metadata.name", "operator": "In", "values": ["A"]},
            ]},
        ]});
        let faults = |allow| -> Vec<String> {
            let faults = validate(&selector, allow, &Path::new("s"));
            faults.into_iter().map(|e| e.field).collect()
        };
        let expected = [
            "s.nodeSelectorTerms[0].matchExpressions[0].values",
            "s.nodeSelectorTerms[0].matchExpressions[1].values",
            "s.nodeSelectorTerms[0].matchExpressions[2].operator",
            "s.nodeSelectorTerms[0].matchExpressions[2].values[0]",
            "s.nodeSelectorTerms[1].matchFields[0].operator",
            "s.nodeSelectorTerms[1].matchFields[0].key",
            "s.nodeSelectorTerms[1].matchFields[1].values[0]",
        ];
        assert_eq!(faults(false), expected);
        assert_eq!(faults(true).len(), expected.len() - 1);
        assert!(has_invalid_value(&selector));
        assert_eq!(validate(&json!({}), false, &Path::new("s")).len(), 1);
    }
}
