//! Differences between two JSON values, readably.

use serde_json::Value;
use std::collections::BTreeSet;

/// One line per place where `got` differs from `expected`.
pub fn diff(expected: &Value, got: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    walk("", expected, got, &mut lines);
    lines
}

fn walk(path: &str, expected: &Value, got: &Value, lines: &mut Vec<String>) {
    if expected == got {
        return;
    }
    if let (Value::Object(e), Value::Object(g)) = (expected, got) {
        let keys: BTreeSet<_> = e.keys().chain(g.keys()).collect();
        for key in keys {
            let child = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            let absent = Value::Null;
            walk(
                &child,
                e.get(key).unwrap_or(&absent),
                g.get(key).unwrap_or(&absent),
                lines,
            );
        }
        return;
    }
    lines.push(format!("{path}: expected {expected}, got {got}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_each_place_once() {
        let lines = diff(
            &json!({"a": {"b": 1, "c": 2}, "d": [1]}),
            &json!({"a": {"b": 1, "c": 3}, "e": 5}),
        );
        assert_eq!(
            lines,
            [
                "a.c: expected 2, got 3",
                "d: expected [1], got null",
                "e: expected null, got 5"
            ]
        );
    }

    #[test]
    fn equal_values_have_no_differences() {
        assert!(
            diff(
                &json!({"a": [1, {"b": null}]}),
                &json!({"a": [1, {"b": null}]})
            )
            .is_empty()
        );
    }
}
