//! Numbers that may be given as percentages.

use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::names;

fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    if !names::percent(text).is_empty() {
        return None;
    }
    // Go reads what is too large as the largest.
    let number = text.trim_end_matches('%').parse();
    Some(number.unwrap_or(i64::MAX))
}

/// The number or percentage; a text that is neither counts as it reads, or zero.
pub(crate) fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => percent(value).unwrap_or_else(|| text.parse().unwrap_or_default()),
        other => other.as_i64().unwrap_or_default(),
    }
}

/// A number of zero or more, or a percentage.
pub(crate) fn validate_positive(value: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    match value.as_str() {
        Some(text) => errors.invalid_each(path, value, names::percent(text)),
        None if amount(value) < 0 => errors.invalid(path, value, NEGATIVE),
        None => {}
    }
}

/// At most all of them.
pub(crate) fn validate_at_most_all(value: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if percent(value).is_some_and(|percent| percent > 100) {
        errors.invalid(path, value, "must not be greater than 100%");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_percentages() {
        let faults = |value: Value| {
            let mut errors = ErrorList::new();
            validate_positive(&value, &Path::new("n"), &mut errors);
            validate_at_most_all(&value, &Path::new("n"), &mut errors);
            errors.len()
        };
        assert_eq!(faults(json!(0)), 0);
        assert_eq!(faults(json!("50%")), 0);
        assert_eq!(faults(json!(-1)), 1);
        assert_eq!(faults(json!("5")), 1);
        assert_eq!(faults(json!("101%")), 1);
        assert_eq!((amount(&json!("7")), amount(&json!("x"))), (7, 0));
        assert_eq!(amount(&json!("25%")), 25);
    }
}
