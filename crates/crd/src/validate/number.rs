//! Numbers: bounds, multiples, and what fits into which type.

use super::name::Name;
use super::{Fault, Findings, Kind};
use serde_json::{Number, Value};
use stowplan_apimachinery::View;

/// Upstream: `swag.IsFloat64AJSONInteger`.
pub(super) fn is_whole(number: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !number.is_finite() || number.abs() > LARGEST {
        return false;
    }
    let cut = number.trunc();
    number == cut || ((number - cut).abs() / (number.abs() + cut.abs()) < 1e-9)
}

/// Whether a value is what an enum allows. Upstream converts the value to the type of the allowed one
/// as Go does: to a whole number by cutting off, to a text by taking it for a character.
pub(super) fn equal(allowed: &Value, value: &Value) -> bool {
    match (allowed, value) {
        (Value::Number(allowed), Value::Number(value)) => match allowed.as_i64() {
            Some(allowed) => value.as_i64().or(value.as_f64().map(|v| v as i64)) == Some(allowed),
            None => allowed.as_f64() == value.as_f64(),
        },
        (Value::String(allowed), Value::Number(value)) => {
            let code = value.as_i64().and_then(|code| u32::try_from(code).ok());
            let c = code.and_then(char::from_u32);
            c.is_some_and(|c| allowed.chars().eq([c]))
        }
        _ => allowed == value,
    }
}

/// Go's `%v` of a float.
fn show(number: f64) -> String {
    let exponent = match number {
        0.0 => 0,
        n => n.abs().log10().floor() as i32,
    };
    if !(-4..21).contains(&exponent) {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    number.to_string()
}

/// Whether a number can be one of that type and format without loss.
fn in_range(value: f64, whole: bool, kind: &str, format: &str) -> bool {
    match (kind, format) {
        ("integer", "int32") => {
            whole && value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX)
        }
        ("integer", _) => whole,
        (_, "float") => value == 0.0 || value.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

pub(super) fn check(schema: &Value, number: &Number, format: &str, name: &Name<'_>) -> Findings {
    let int = number.as_i64();
    let float = number.as_f64().unwrap_or_default();
    let kind = match schema.flag("x-kubernetes-int-or-string") {
        true => "",
        false => schema.text("type"),
    };
    let (kind, format) = match (kind, format) {
        ("integer", "int32" | "int64") | ("number", "float" | "double") => (kind, format),
        ("integer" | "number", _) => (kind, ""),
        _ => ("", ""),
    };
    let range = |value: f64, whole: bool, prefix: &str| {
        (!in_range(value, whole, kind, format)).then(|| {
            let form = match format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            Fault::plain(name, |name| {
                format!("{prefix} value must be of type {kind} {form} in {name}")
            })
        })
    };
    let mut found = Findings::default();
    let is_int = int.is_some() || float.fract() == 0.0;
    if let Some(fault) = range(float, is_int, "Checked") {
        found.add(fault);
    }
    let bound = |key: &str| schema.at(key).as_f64();
    let mut judge =
        |key: &str, prefix: &str, wrong: &dyn Fn(f64, Option<i64>) -> Option<String>| {
            let Some(limit) = bound(key) else { return };
            // The limit itself may not be of the value's type; then both are compared as floats.
            let fault = range(limit, limit.fract() == 0.0, prefix);
            let as_int = match fault {
                Some(fault) => {
                    found.add(fault);
                    None
                }
                None => int,
            };
            if let Some(wanted) = wrong(limit, as_int) {
                let shown = Value::Number(number.clone());
                let fault = Fault::new(Kind::Invalid, name, shown, |name| {
                    format!("{name} in body should be {wanted}")
                });
                found.add(fault);
            }
        };
    let text = |limit: f64, as_int: Option<i64>| match as_int {
        Some(_) => (limit as i64).to_string(),
        None => show(limit),
    };
    judge("multipleOf", "MultipleOf", &|factor, as_int| {
        let fits = match as_int {
            Some(value) => factor as i64 > 0 && value % (factor as i64) == 0,
            None if factor < 1.0 => is_whole(float / factor),
            None => is_whole(float / factor),
        };
        let limit = text(factor, as_int);
        (!fits).then(|| format!("a multiple of {limit}"))
    });
    judge("minimum", "Minimum boundary", &|min, as_int| {
        let exclusive = schema.flag("exclusiveMinimum");
        let (below, equal) = match as_int {
            Some(value) => (value < min as i64, value == min as i64),
            None => (float < min, float == min),
        };
        let how = if exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        let limit = text(min, as_int);
        (below || (exclusive && equal)).then(|| format!("{how} {limit}"))
    });
    judge("maximum", "Maximum boundary", &|max, as_int| {
        let exclusive = schema.flag("exclusiveMaximum");
        let (above, equal) = match as_int {
            Some(value) => (value > max as i64, value == max as i64),
            None => (float > max, float == max),
        };
        let how = if exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        let limit = text(max, as_int);
        (above || (exclusive && equal)).then(|| format!("{how} {limit}"))
    });
    found.checks += 1;
    found
}
