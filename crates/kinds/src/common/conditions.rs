//! Conditions of the common kind (`metav1.Condition`).
//!
//! Upstream: `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.

use super::faults::Faults;
use super::labels;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// Faults of a list of conditions: one of each type, each complete.
pub fn validate(conditions: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
    let mut taken = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let at = path.index(i);
        let kind = condition.text("type");
        if !taken.insert(kind) {
            errors.duplicate(&at.child("type"), kind);
        }
        errors.extend(labels::validate_name(kind, &at.child("type")));
        let status = condition.text("status");
        if !STATUSES.contains(&status) {
            errors.not_supported(&at.child("status"), status, &STATUSES);
        }
        let observed = condition.int("observedGeneration").unwrap_or_default();
        if observed < 0 {
            let detail = "must be greater than or equal to zero";
            errors.invalid(&at.child("observedGeneration"), observed, detail);
        }
        if !condition.has("lastTransitionTime") {
            errors.required(&at.child("lastTransitionTime"), "");
        }
        validate_reason(condition.text("reason"), &at.child("reason"), errors);
        if condition.text("message").len() > MESSAGE_BYTES_MAX {
            errors.push(Error::too_long(&at.child("message"), MESSAGE_BYTES_MAX));
        }
    }
}

fn validate_reason(reason: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if reason.is_empty() {
        errors.required(path, "");
        return;
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let inner = |b: u8| word(b) || matches!(b, b',' | b':');
    let bytes = reason.as_bytes();
    let first = bytes.first().is_some_and(u8::is_ascii_alphabetic);
    let last = bytes.last().is_some_and(|b| word(*b));
    if !first || !last || !reason.bytes().all(inner) {
        errors.invalid(
            path,
            reason,
            names::regex_error(
                "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
                "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
                &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
            ),
        );
    }
    if reason.len() > REASON_BYTES_MAX {
        errors.push(Error::too_long(path, REASON_BYTES_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_are_complete_and_unique() {
        let good =
            json!({"type": "A", "status": "True", "reason": "B_c", "lastTransitionTime": "t"});
        let faults = |list: &[Value]| {
            let mut errors = ErrorList::new();
            validate(list, &Path::new("c"), &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(faults(std::slice::from_ref(&good)), [""; 0]);
        assert_eq!(
            faults(&[good.clone(), good]),
            ["c[1].type: Duplicate value: \"A\""]
        );
        let bad = json!({"type": "A", "status": "Yes", "reason": "1"});
        assert_eq!(faults(&[bad]).len(), 3);
    }
}
