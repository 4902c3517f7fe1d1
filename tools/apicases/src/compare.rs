//! How two answers differ.

use serde_json::Value;
use std::collections::BTreeSet;

/// One line per difference.
pub(crate) fn differences(want: &Value, got: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk(want, got, "", &mut out);
    out
}

fn walk(want: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => walk(a, b, &path, out),
                    (Some(a), None) => out.push(format!("{path}: missing, want {}", short(a))),
                    (None, Some(b)) => out.push(format!("{path}: unexpected {}", short(b))),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for i in 0..a.len().max(b.len()) {
                let path = format!("{path}[{i}]");
                match (a.get(i), b.get(i)) {
                    (Some(a), Some(b)) => walk(a, b, &path, out),
                    (Some(a), None) => out.push(format!("{path}: missing, want {}", short(a))),
                    (None, Some(b)) => out.push(format!("{path}: unexpected {}", short(b))),
                    (None, None) => {}
                }
            }
        }
        (a, b) if a != b => out.push(format!("{path}: want {}, got {}", short(a), short(b))),
        _ => {}
    }
}

fn short(value: &Value) -> String {
    const CHARS_MAX: usize = 600;
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_difference_is_named_by_its_path() {
        let lines = differences(
            &json!({"a": [1, 2], "b": {"c": null}, "n": 1}),
            &json!({"a": [1], "b": {}, "d": 0, "n": 1.0}),
        );
        assert_eq!(
            lines,
            [
                ".a[1]: missing, want 2",
                ".b.c: missing, want null",
                ".d: unexpected 0",
                ".n: want 1, got 1.0"
            ]
        );
    }
}
