//! Taints, tolerations and their effects.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`.

use super::labels;
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Faults of an effect; whether it may be empty is for the caller to say.
pub fn validate_effect(effect: &str, allow_empty: bool, path: &Path<'_>) -> Option<Error> {
    match effect {
        "" if !allow_empty => Some(Error::required(path, "")),
        _ if EFFECTS.contains(&effect) => None,
        _ => Some(Error::not_supported(path, effect, EFFECTS)),
    }
}

/// Faults of the tolerations of a pod or runtime class.
pub fn validate_tolerations(tolerations: &[Value], path: &Path<'_>) -> ErrorList {
    let each = tolerations.iter().enumerate();
    each.flat_map(|(i, t)| validate_toleration(t, &path.index(i)))
        .collect()
}

fn validate_toleration(toleration: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let (key, operator) = (toleration.text("key"), toleration.text("operator"));
    let effect = toleration.text("effect");
    if !key.is_empty() {
        errors.extend(labels::validate_name(key, &path.child("key")));
    }
    if key.is_empty() && operator != "Exists" {
        errors.push(Error::invalid(
            &path.child("operator"),
            operator,
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        ));
    }
    if toleration.has("tolerationSeconds") && effect != "NoExecute" {
        errors.push(Error::invalid(
            &path.child("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ));
    }
    errors.extend(validate_operator(toleration, path));
    if !effect.is_empty() {
        errors.extend(validate_effect(effect, true, &path.child("effect")));
    }
    errors
}

fn validate_operator(toleration: &Value, path: &Path<'_>) -> ErrorList {
    let (operator, value) = (toleration.text("operator"), toleration.text("value"));
    let at = path.child("operator");
    match operator {
        "Equal" | "" => match names::label_value(value) {
            faults if faults.is_empty() => ErrorList::new(),
            faults => vec![Error::invalid(&at, value, faults.join(";"))],
        },
        "Exists" if value.is_empty() => ErrorList::new(),
        "Exists" => {
            let fault = "value must be empty when `operator` is 'Exists'";
            vec![Error::invalid(&at, value, fault)]
        }
        // Known words behind a gate that is off.
        "Lt" | "Gt" => {
            let known = &["Equal", "Exists", "Lt", "Gt"];
            vec![Error::not_supported(&at, operator, known)]
        }
        _ => vec![Error::not_supported(&at, operator, &["Equal", "Exists"])],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerations_fit_together() {
        let tolerations = [
            json!({"operator": "Equal"}),
            json!({"key": "a", "operator": "Exists", "value": "b"}),
            json!({"key": "a", "tolerationSeconds": 1, "effect": "NoSchedule"}),
            json!({"key": "a", "operator": "Gt", "value": "x"}),
            json!({"key": "a", "operator": "Near", "effect": "Never"}),
        ];
        let faults = validate_tolerations(&tolerations, &Path::new("t"));
        let fields: Vec<String> = faults.into_iter().map(|e| e.field).collect();
        let expected = [
            "t[0].operator",
            "t[1].operator",
            "t[2].effect",
            "t[3].operator",
            "t[4].operator",
            "t[4].effect",
        ];
        assert_eq!(fields, expected);
    }
}
