//! The functions of the language and of the libraries that Kubernetes adds.

use crate::eval::{Outcome, overflow, overload};
use crate::meter::Meter;
use crate::value::Val;
use crate::{kubernetes, lists, text};
use std::sync::Arc;

const SECOND: i128 = 1_000_000_000;

fn conversion<T>(from: &Val, to: &str) -> Result<T, String> {
    let from = from.type_name();
    Err(format!("type conversion error from '{from}' to '{to}'"))
}

/// The names of types, which are values too.
pub(crate) fn type_of_name(name: &str) -> Option<&'static str> {
    let known = [
        "null_type",
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
    ];
    known.into_iter().find(|known| *known == name)
}

/// A duration such as `1h30m`, in nanoseconds. Upstream: Go's `time.ParseDuration`.
pub(crate) fn duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0f64;
    let mut whole = 0i128;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let units = [
            ("ns", 1i128),
            ("us", 1_000),
            ("µs", 1_000),
            ("μs", 1_000),
            ("ms", 1_000_000),
            ("s", SECOND),
            ("m", 60 * SECOND),
            ("h", 3_600 * SECOND),
        ];
        let unit = |(name, _): &&(&str, i128)| {
            let after = after.strip_prefix(*name);
            after.is_some_and(|a| {
                a.is_empty() || a.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            })
        };
        let (name, size) = units.iter().find(unit)?;
        match number.parse::<i64>() {
            Ok(n) => whole = whole.checked_add(i128::from(n) * size)?,
            Err(_) => {
                let number = number.parse::<f64>().ok().filter(|n| n.is_finite())?;
                total += number * (*size as f64);
            }
        }
        rest = &after[name.len()..];
    }
    let total = whole.checked_add(total as i128)?;
    (total <= i128::from(i64::MAX)).then_some(if negative { -total } else { total })
}

/// A time as RFC 3339 has it, in nanoseconds since the epoch.
pub(crate) fn timestamp(text: &str) -> Option<i128> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_nanosecond())
}

/// A value as text, as `string()` makes it and messages show it.
pub(crate) fn shown(value: &Val) -> String {
    match value {
        Val::Text(text) => text.as_ref().to_owned(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => stowplan_apimachinery::go::float(*n),
        Val::Bool(b) => b.to_string(),
        Val::Null => "null".to_owned(),
        Val::Duration(nanos) => {
            let (seconds, rest) = (nanos / SECOND, (nanos % SECOND).abs());
            match rest {
                0 => format!("{seconds}s"),
                rest => {
                    let rest = format!("{rest:09}");
                    format!("{seconds}.{}s", rest.trim_end_matches('0'))
                }
            }
        }
        Val::Time(nanos) => {
            let time = jiff::Timestamp::from_nanosecond(*nanos);
            time.map(|t| t.to_string()).unwrap_or_default()
        }
        Val::Type(name) => (*name).to_owned(),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Opaque(value) => value.to_string(),
        Val::List(_) | Val::Map(_) | Val::Optional(_) => String::new(),
    }
}

fn size(value: &Val) -> Outcome {
    match value {
        Val::Text(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_) => {
            Ok(Val::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        _ => overload(),
    }
}

/// Functions without an object.
pub(crate) fn plain(name: &str, with: &[Val], meter: &Meter) -> Outcome {
    let [value] = with else {
        return match (name, with) {
            ("matches", [text, pattern]) => {
                method(text, "matches", std::slice::from_ref(pattern), meter)
            }
            _ => overload(),
        };
    };
    match (name, value) {
        ("size", value) => size(value),
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => Ok(Val::Type(value.type_name())),
        ("string", Val::List(_) | Val::Map(_) | Val::Optional(_) | Val::Null) => overload(),
        ("string", Val::Opaque(value)) if !value.is_text() => overload(),
        ("string", value) => Ok(shown(value).into()),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(text.as_bytes().into())),
        ("bool", Val::Bool(b)) => Ok(Val::Bool(*b)),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => conversion(value, "bool"),
        },
        ("int", value) => int(value),
        ("uint", value) => match int(value)? {
            Val::Int(n) => match u64::try_from(n) {
                Ok(n) => Ok(Val::Uint(n)),
                Err(_) => Err("unsigned integer overflow".to_owned()),
            },
            _ => overload(),
        },
        ("double", Val::Int(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Uint(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Double(n)) => Ok(Val::Double(*n)),
        ("double", Val::Text(text)) => match text.parse() {
            Ok(n) => Ok(Val::Double(n)),
            Err(_) => conversion(value, "double"),
        },
        ("duration", Val::Duration(n)) => Ok(Val::Duration(*n)),
        ("duration", Val::Text(text)) => match duration(text) {
            Some(n) => Ok(Val::Duration(n)),
            None => conversion(value, "google.protobuf.Duration"),
        },
        ("timestamp", Val::Time(n)) => Ok(Val::Time(*n)),
        ("timestamp", Val::Text(text)) => match timestamp(text) {
            Some(n) => Ok(Val::Time(n)),
            None => conversion(value, "google.protobuf.Timestamp"),
        },
        _ => overload(),
    }
}

fn int(value: &Val) -> Outcome {
    match value {
        Val::Int(n) => Ok(Val::Int(*n)),
        Val::Uint(n) => i64::try_from(*n).map(Val::Int).map_err(|_| overflow()),
        Val::Double(n) if n.abs() < 9.2e18 => Ok(Val::Int(*n as i64)),
        Val::Double(_) => Err(overflow()),
        Val::Text(text) => match text.parse() {
            Ok(n) => Ok(Val::Int(n)),
            Err(_) => conversion(value, "int"),
        },
        Val::Time(n) => Ok(Val::Int(i64::try_from(n / SECOND).unwrap_or(i64::MAX))),
        _ => overload(),
    }
}

/// Functions of a library.
pub(crate) fn of_library(library: &str, name: &str, with: &[Val]) -> Outcome {
    match (library, name, with) {
        ("optional", "none", []) => Ok(Val::Optional(None)),
        ("optional", "of", [value]) => Ok(Val::optional(Some(value.clone()))),
        ("optional", "ofNonZeroValue", [value]) => {
            Ok(Val::optional(Some(value.clone()).filter(|v| !is_zero(v))))
        }
        ("optional", "unwrap", [Val::List(list)]) => lists::unwrapped(list),
        ("sets", "contains", [Val::List(a), Val::List(b)]) => {
            Ok(Val::Bool(b.iter().all(|x| a.contains(x))))
        }
        ("sets", "intersects", [Val::List(a), Val::List(b)]) => {
            Ok(Val::Bool(b.iter().any(|x| a.contains(x))))
        }
        ("sets", "equivalent", [Val::List(a), Val::List(b)]) => Ok(Val::Bool(
            a.iter().all(|x| b.contains(x)) && b.iter().all(|x| a.contains(x)),
        )),
        ("lists", "range", [Val::Int(n)]) => {
            let numbers: Vec<Val> = (0..*n).map(Val::Int).collect();
            Ok(numbers.into())
        }
        ("strings", "quote", [Val::Text(text)]) => Ok(text::quoted(text).into()),
        ("ip", "isCanonical", [Val::Text(text)]) => kubernetes::is_canonical(text),
        ("format", name, with) => kubernetes::named_format(name, with),
        _ => overload(),
    }
}

fn is_zero(value: &Val) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(b) => !b,
        Val::Int(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(n) => *n == 0.0,
        Val::Duration(n) => *n == 0,
        Val::Text(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_) => value.size() == 0,
        Val::Optional(inner) => inner.is_none(),
        Val::Time(_) | Val::Type(_) | Val::Opaque(_) => false,
    }
}

/// Methods of a value.
pub(crate) fn method(own: &Val, name: &str, with: &[Val], meter: &Meter) -> Outcome {
    if let ("size", []) = (name, with) {
        return size(own);
    }
    match own {
        Val::Text(text) => text::method(text, name, with, meter),
        Val::List(list) => lists::method(list, name, with, meter),
        Val::Optional(inner) => of_optional(inner.as_ref(), name, with),
        Val::Opaque(value) => kubernetes::method(value, name, with),
        Val::Duration(nanos) => {
            let unit = match name {
                "getHours" => 3_600 * SECOND,
                "getMinutes" => 60 * SECOND,
                "getSeconds" => SECOND,
                "getMilliseconds" => 1_000_000,
                _ => return overload(),
            };
            Ok(Val::Int(i64::try_from(nanos / unit).unwrap_or(i64::MAX)))
        }
        Val::Time(nanos) => of_time(*nanos, name, with),
        _ => overload(),
    }
}

fn of_time(nanos: i128, name: &str, with: &[Val]) -> Outcome {
    let zone = match with {
        [] => jiff::tz::TimeZone::UTC,
        [Val::Text(zone)] => match jiff::tz::TimeZone::get(zone) {
            Ok(zone) => zone,
            Err(_) => return Err(format!("unknown time zone {zone}")),
        },
        _ => return overload(),
    };
    let Ok(time) = jiff::Timestamp::from_nanosecond(nanos) else {
        return overload();
    };
    let time = time.to_zoned(zone);
    let value = match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return overload(),
    };
    Ok(Val::Int(value))
}

fn of_optional(inner: Option<&Arc<Val>>, name: &str, with: &[Val]) -> Outcome {
    match (name, with, inner) {
        ("hasValue", [], inner) => Ok(Val::Bool(inner.is_some())),
        ("value", [], Some(inner)) => Ok(Val::clone(inner)),
        ("value", [], None) => Err("optional.none() dereference".to_owned()),
        ("orValue", [_], Some(inner)) => Ok(Val::clone(inner)),
        ("or", [_], Some(inner)) => Ok(Val::Optional(Some(Arc::clone(inner)))),
        ("orValue" | "or", [other], None) => Ok(other.clone()),
        _ => overload(),
    }
}
