//! The functions of the language and of the libraries that Kubernetes adds.

use crate::eval::{Outcome, overflow, overload};
use crate::meter::Meter;
use crate::value::Val;
use crate::{kubernetes, lists, text, times};
use std::sync::Arc;

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

/// A value as text, as `string()` makes it and messages show it.
pub(crate) fn shown(value: &Val) -> String {
    match value {
        Val::Text(text) => text.as_ref().to_owned(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => stowplan_apimachinery::go::float(*n),
        Val::Bool(b) => b.to_string(),
        Val::Null => "null".to_owned(),
        Val::Duration(nanos) => times::duration_text(*nanos),
        Val::Time(nanos) => times::time_text(*nanos),
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
        ("string", Val::List(_) | Val::Map(_) | Val::Optional(_) | Val::Null | Val::Type(_)) => {
            overload()
        }
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err("invalid UTF-8 in bytes, cannot convert to string".to_owned()),
        },
        ("string", Val::Opaque(value)) if !value.is_text() => overload(),
        ("string", value) => Ok(shown(value).into()),
        ("bytes", Val::Bytes(bytes)) => Ok(Val::Bytes(Arc::clone(bytes))),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(text.as_bytes().into())),
        ("bool", Val::Bool(b)) => Ok(Val::Bool(*b)),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => conversion(value, "bool"),
        },
        ("int", value) => int(value),
        ("uint", value) => uint(value),
        ("double", Val::Int(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Uint(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Double(n)) => Ok(Val::Double(*n)),
        ("double", Val::Text(text)) => match text.parse::<f64>() {
            // What is too large for a number is no other one.
            Ok(n) if n.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) => {
                conversion(value, "double")
            }
            Ok(n) => Ok(Val::Double(n)),
            Err(_) => conversion(value, "double"),
        },
        ("duration", Val::Duration(n)) => Ok(Val::Duration(*n)),
        ("duration", Val::Text(text)) => match times::parse_duration(text) {
            Some(n) => Ok(Val::Duration(n)),
            None => conversion(value, "google.protobuf.Duration"),
        },
        ("timestamp", Val::Time(n)) => Ok(Val::Time(*n)),
        ("timestamp", Val::Int(seconds)) => times::time_at(*seconds),
        ("timestamp", Val::Text(text)) => match times::parse_time(text) {
            Some(n) => times::time(n),
            None => conversion(value, "google.protobuf.Timestamp"),
        },
        _ => overload(),
    }
}

/// What lies between the first two powers of two that a double cannot tell from their neighbours.
const INTS: (f64, f64) = (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0);
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

fn int(value: &Val) -> Outcome {
    match value {
        Val::Int(n) => Ok(Val::Int(*n)),
        Val::Uint(n) => i64::try_from(*n).map(Val::Int).map_err(|_| overflow()),
        // Both ends are out, as upstream has it.
        Val::Double(n) if *n > INTS.0 && *n < INTS.1 => Ok(Val::Int(*n as i64)),
        Val::Double(_) => Err(overflow()),
        Val::Text(text) => match text.parse() {
            Ok(n) => Ok(Val::Int(n)),
            Err(_) => conversion(value, "int"),
        },
        Val::Time(n) => Ok(Val::Int(times::seconds(*n))),
        Val::Duration(nanos) => i64::try_from(*nanos).map(Val::Int).map_err(|_| overflow()),
        _ => overload(),
    }
}

fn uint(value: &Val) -> Outcome {
    let overflow = || "unsigned integer overflow".to_owned();
    match value {
        Val::Int(n) => u64::try_from(*n).map(Val::Uint).map_err(|_| overflow()),
        Val::Uint(n) => Ok(Val::Uint(*n)),
        Val::Double(n) if *n >= 0.0 && *n < UINT_END => Ok(Val::Uint(*n as u64)),
        Val::Double(_) => Err(overflow()),
        Val::Text(text) => match text.parse() {
            Ok(n) if !text.starts_with('+') => Ok(Val::Uint(n)),
            _ => conversion(value, "uint"),
        },
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
        Val::Duration(nanos) => times::of_duration(*nanos, name),
        Val::Time(nanos) => times::of_time(*nanos, name, with),
        _ => overload(),
    }
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
