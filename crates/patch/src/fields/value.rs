//! Values as parts of a field's path: compared, printed and written.
//!
//! Upstream: `structured-merge-diff/v6/value`.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::fmt::Write;
use stowplan_apimachinery::go;

/// A total order over all values; whole numbers and others are compared by what they count.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b));
            let unequal = unequal.into_iter().find(|o| o.is_ne());
            unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.as_f64(), b.as_f64());
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
    }
}

fn compare_maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    for ((a_key, a_value), (b_key, b_value)) in a.iter().zip(b) {
        // The map that has the smaller key comes first.
        let order = a_key.cmp(b_key).then_with(|| compare(a_value, b_value));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// Whether two values are the same, 1 and 1.0 included.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |((a_key, a), (b_key, b)): ((&String, &Value), (&String, &Value))| {
                a_key == b_key && equal(a, b)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        _ => a == b,
    }
}

/// As in the path of a conflict: texts quoted, the rest plain.
pub(crate) fn print(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::String(text) => out.push_str(&go::quote(text)),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                print(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            for (key, item) in map {
                out.push_str(key);
                out.push('=');
                print(out, item);
            }
        }
        scalar => out.push_str(&go::plain(scalar)),
    }
}

/// As JSON in the form of Go's encoder, which escapes what HTML would take for its own.
pub(crate) fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_text(out, text),
        Value::Number(number) => write_number(out, number),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_json(out, item);
            }
            out.push('}');
        }
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
    }
}

fn write_number(out: &mut String, number: &Number) {
    if let Some(whole) = number.as_i64() {
        let _ = write!(out, "{whole}");
        return;
    }
    let float = number.as_f64().unwrap_or_default();
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                let _ = write!(out, "{digits}e+{exponent}");
            }
            _ => out.push_str(&text),
        }
    } else {
        let _ = write!(out, "{float}");
    }
}

/// A text as JSON in the form of Go's encoder.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    if text.bytes().all(is_plain) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c => out.push(c),
            }
        }
    }
    out.push('"');
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x80).contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_all_kinds_have_an_order() {
        let sorted = [
            json!(-1),
            json!(1.5),
            json!(2),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
            json!({"b": 0}),
            json!(null),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
                assert_eq!(equal(a, b), i == j, "{a} and {b}");
            }
        }
        assert!(compare(&json!(1), &json!(1.0)).is_eq());
        assert!(equal(&json!([{"a": 1}]), &json!([{"a": 1.0}])));
    }

    #[test]
    fn json_is_written_as_go_writes_it() {
        let cases = [
            (
                json!("a<b>&\u{2028}\u{1}\n"),
                r#""a\u003cb\u003e\u0026\u2028\u0001\n""#,
            ),
            (json!("grün"), "\"grün\""),
            (
                json!({"b": [1, 2.5, null], "a": true}),
                r#"{"a":true,"b":[1,2.5,null]}"#,
            ),
            (json!(80.0), "80"),
            (json!(1e21), "1e+21"),
            (json!(1e-7), "1e-7"),
        ];
        for (value, text) in cases {
            let mut out = String::new();
            write_json(&mut out, &value);
            assert_eq!(out, text);
        }
    }

    /// Walks of two objects side by side rely on it: serde_json's `preserve_order` must stay off.
    #[test]
    fn maps_are_in_key_order() {
        let map: Value = serde_json::from_str(r#"{"b": 1, "a": 2}"#).unwrap_or_default();
        assert_eq!(map.to_string(), r#"{"a":2,"b":1}"#);
    }
}
