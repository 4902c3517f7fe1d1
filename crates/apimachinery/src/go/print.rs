//! Decoded JSON as Go's `fmt` prints it: objects are `map[string]interface {}`, lists
//! `[]interface {}`, whole numbers `int64`, other numbers `float64`.

use super::quote;
use serde_json::{Number, Value};
use std::fmt::Write;

/// `%v`: `map[a:1 b:[x <nil>]]`.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_plain(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_plain(out, item);
            }
            out.push(']');
        }
    }
}

/// `%#v`: `map[string]interface {}{"a":1}`.
pub fn syntax(value: &Value) -> String {
    let mut out = String::new();
    write_syntax(&mut out, value);
    out
}

fn write_syntax(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(list) => {
            out.push_str("[]interface {}{");
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_syntax(out, item);
            }
            out.push('}');
        }
        Value::Object(map) => {
            out.push_str("map[string]interface {}{");
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                out.push_str(&quote(key));
                out.push(':');
                write_syntax(out, item);
            }
            out.push('}');
        }
        scalar => write_plain(out, scalar),
    }
}

/// `%s`: as `%v` for texts, and Go's complaint about the verb for other scalars.
pub fn string_verb(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => {
            format!("%!s({}={})", type_name(value), plain(value))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(nested_string_verb).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let items: Vec<String> = map
                .iter()
                .map(|(key, item)| format!("{key}:{}", nested_string_verb(item)))
                .collect();
            format!("map[{}]", items.join(" "))
        }
        Value::String(text) => text.clone(),
    }
}

fn nested_string_verb(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        other => string_verb(other),
    }
}

/// `%T`: the Go type of the decoded value.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn number_text(number: &Number) -> String {
    match number.as_i64() {
        Some(whole) => whole.to_string(),
        None => float(number.as_f64().unwrap_or_default()),
    }
}

/// `%v` of a `float64`: the shortest digits that read back the same, with an exponent outside of
/// 1e-4 to 1e6.
pub fn float(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    if !value.is_finite() {
        let sign = if value < 0.0 { "-Inf" } else { "+Inf" };
        return if value.is_nan() { "NaN" } else { sign }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let mut out = digits.to_owned();
    let _ = write!(out, "e{sign}{:02}", exponent.abs());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_print_as_go_prints_decoded_json() {
        let value = json!({
            "a": 1.5, "b": [1, "x", null, true, {}], "c": {"z": null, "y": "q \" r"}, "d": 1e7
        });
        assert_eq!(
            plain(&value),
            "map[a:1.5 b:[1 x <nil> true map[]] c:map[y:q \" r z:<nil>] d:1e+07]"
        );
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":1.5, "b":[]interface {}{1, "x", interface {}(nil), true, map[string]interface {}{}}, "c":map[string]interface {}{"y":"q \" r", "z":interface {}(nil)}, "d":1e+07}"#
        );
        assert_eq!(
            string_verb(&value),
            r#"map[a:%!s(float64=1.5) b:[%!s(int64=1) x <nil> %!s(bool=true) map[]] c:map[y:q " r z:<nil>] d:%!s(float64=1e+07)]"#
        );
    }

    #[test]
    fn floats_print_with_an_exponent_where_go_does() {
        let cases = [
            (1e6, "1e+06"),
            (123456789.0, "1.23456789e+08"),
            (100000.0, "100000"),
            (80.0, "80"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e21, "1e+21"),
            (-2.5, "-2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn types_have_gos_names() {
        let cases = [
            (json!(1), "int64"),
            (json!(1.0), "float64"),
            (json!(18446744073709551615u64), "float64"),
            (json!([]), "[]interface {}"),
            (json!({}), "map[string]interface {}"),
            (json!(null), "<nil>"),
        ];
        for (value, name) in cases {
            assert_eq!(type_name(&value), name);
        }
    }
}
