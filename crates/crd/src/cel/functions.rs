//! The functions of the language and of the libraries that Kubernetes adds.

use super::eval::{NO_OVERLOAD, Outcome};
use super::value::Val;
use regex::Regex;

const SECOND: i128 = 1_000_000_000;

fn overload<T>() -> Result<T, String> {
    Err(NO_OVERLOAD.to_owned())
}

fn conversion<T>(from: &Val, to: &str) -> Result<T, String> {
    let from = from.type_name();
    Err(format!("type conversion error from '{from}' to '{to}'"))
}

/// The names of types, which are values too.
pub(super) fn type_of_name(name: &str) -> Option<&'static str> {
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
pub(super) fn duration(text: &str) -> Option<i128> {
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
            Ok(n) => whole += i128::from(n) * size,
            Err(_) => total += number.parse::<f64>().ok()? * (*size as f64),
        }
        rest = &after[name.len()..];
    }
    let total = whole + total as i128;
    (total <= i128::from(i64::MAX)).then_some(if negative { -total } else { total })
}

/// A time as RFC 3339 has it, in nanoseconds since the epoch.
pub(super) fn timestamp(text: &str) -> Option<i128> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_nanosecond())
}

/// Undoes base64.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0u32);
    for b in text.bytes().filter(|b| *b != b'=') {
        let value = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

/// A value as text, as `string()` makes it and messages show it.
pub(super) fn shown(value: &Val) -> String {
    match value {
        Val::Text(text) => text.clone(),
        Val::Int(n) => n.to_string(),
        Val::Uint(n) => n.to_string(),
        Val::Double(n) => stowplan_machinery::go::float(*n),
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
        Val::List(_) | Val::Map(_) | Val::Optional(_) => String::new(),
    }
}

fn size(value: &Val) -> Outcome {
    let size = match value {
        Val::Text(text) => text.chars().count(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.len(),
        Val::Map(entries) => entries.len(),
        _ => return overload(),
    };
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// Functions without an object.
pub(super) fn plain(name: &str, with: &[Val]) -> Outcome {
    let [value] = with else {
        return match (name, with) {
            ("matches", [text, pattern]) => method(text, "matches", std::slice::from_ref(pattern)),
            _ => overload(),
        };
    };
    match (name, value) {
        ("size", value) => size(value),
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => Ok(Val::Type(value.type_name())),
        ("string", Val::List(_) | Val::Map(_) | Val::Optional(_) | Val::Null) => overload(),
        ("string", value) => Ok(Val::Text(shown(value))),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(text.clone().into_bytes())),
        ("bool", Val::Bool(b)) => Ok(Val::Bool(*b)),
        ("bool", Val::Text(text)) => match text.as_str() {
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
        Val::Uint(n) => i64::try_from(*n)
            .map(Val::Int)
            .map_err(|_| "integer overflow".to_owned()),
        Val::Double(n) if n.abs() < 9.2e18 => Ok(Val::Int(*n as i64)),
        Val::Double(_) => Err("integer overflow".to_owned()),
        Val::Text(text) => match text.parse() {
            Ok(n) => Ok(Val::Int(n)),
            Err(_) => conversion(value, "int"),
        },
        Val::Time(n) => Ok(Val::Int(i64::try_from(n / SECOND).unwrap_or(i64::MAX))),
        _ => overload(),
    }
}

/// Functions of a library.
pub(super) fn of_library(library: &str, name: &str, with: &[Val]) -> Outcome {
    match (library, name, with) {
        ("optional", "none", []) => Ok(Val::Optional(None)),
        ("optional", "of", [value]) => Ok(Val::Optional(Some(Box::new(value.clone())))),
        ("math", "greatest" | "least", with) => {
            let list = match with {
                [Val::List(list)] => list.as_slice(),
                with => with,
            };
            extreme(list, name == "greatest")
        }
        ("sets", "contains", [Val::List(a), Val::List(b)]) => {
            Ok(Val::Bool(b.iter().all(|x| a.contains(x))))
        }
        ("sets", "intersects", [Val::List(a), Val::List(b)]) => {
            Ok(Val::Bool(b.iter().any(|x| a.contains(x))))
        }
        ("sets", "equivalent", [Val::List(a), Val::List(b)]) => Ok(Val::Bool(
            a.iter().all(|x| b.contains(x)) && b.iter().all(|x| a.contains(x)),
        )),
        _ => overload(),
    }
}

fn extreme(list: &[Val], greatest: bool) -> Outcome {
    let mut best: Option<&Val> = None;
    for value in list {
        let better = match best {
            None => true,
            Some(best) => match value.order(best) {
                Some(order) => {
                    order
                        == if greatest {
                            std::cmp::Ordering::Greater
                        } else {
                            std::cmp::Ordering::Less
                        }
                }
                None => return overload(),
            },
        };
        if better {
            best = Some(value);
        }
    }
    let name = if greatest { "max" } else { "min" };
    best.cloned()
        .ok_or_else(|| format!("{name} called on empty list"))
}

/// Methods of a value.
pub(super) fn method(own: &Val, name: &str, with: &[Val]) -> Outcome {
    if let ("size", []) = (name, with) {
        return size(own);
    }
    match own {
        Val::Text(text) => of_text(text, name, with),
        Val::List(list) => of_list(list, name, with),
        Val::Optional(inner) => of_optional(inner.as_deref(), name, with),
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

fn of_optional(inner: Option<&Val>, name: &str, with: &[Val]) -> Outcome {
    match (name, with, inner) {
        ("hasValue", [], inner) => Ok(Val::Bool(inner.is_some())),
        ("value", [], Some(inner)) => Ok(inner.clone()),
        ("value", [], None) => Err("optional.none() dereference".to_owned()),
        ("orValue", [_], Some(inner)) => Ok(inner.clone()),
        ("orValue", [other], None) => Ok(other.clone()),
        ("or", [_], Some(inner)) => Ok(Val::Optional(Some(Box::new(inner.clone())))),
        ("or", [other], None) => Ok(other.clone()),
        _ => overload(),
    }
}

fn regex(pattern: &str) -> Result<Regex, String> {
    crate::pattern::compile(pattern)
        .map_err(|why| crate::format::pattern_fault(pattern).unwrap_or_else(|| why.to_string()))
}

fn place(text: &str, found: Option<usize>) -> Val {
    let chars = found.map(|at| text[..at].chars().count());
    Val::Int(chars.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1))
}

/// The characters from one place to another.
fn substring(text: &str, from: i64, to: Option<i64>) -> Outcome {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len() as i64;
    let to = to.unwrap_or(size);
    if from < 0 || from > size {
        return Err(format!("index out of range: {from}"));
    }
    if to < 0 || to > size {
        return Err(format!("index out of range: {to}"));
    }
    if from > to {
        return Err(format!("invalid substring range. start: {from}, end: {to}"));
    }
    let taken = chars.iter().skip(from as usize).take((to - from) as usize);
    Ok(Val::Text(taken.collect()))
}

fn of_text(text: &str, name: &str, with: &[Val]) -> Outcome {
    match (name, with) {
        ("startsWith", [Val::Text(other)]) => Ok(Val::Bool(text.starts_with(other.as_str()))),
        ("endsWith", [Val::Text(other)]) => Ok(Val::Bool(text.ends_with(other.as_str()))),
        ("contains", [Val::Text(other)]) => Ok(Val::Bool(text.contains(other.as_str()))),
        ("matches", [Val::Text(pattern)]) => Ok(Val::Bool(regex(pattern)?.is_match(text))),
        ("find", [Val::Text(pattern)]) => {
            let found = regex(pattern)?.find(text).map(|m| m.as_str().to_owned());
            Ok(Val::Text(found.unwrap_or_default()))
        }
        ("findAll", [Val::Text(pattern), limit @ ..]) => {
            let limit = match limit {
                [Val::Int(n)] => usize::try_from(*n).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let regex = regex(pattern)?;
            let found = regex.find_iter(text).take(limit);
            Ok(Val::List(
                found.map(|m| Val::Text(m.as_str().to_owned())).collect(),
            ))
        }
        ("charAt", [Val::Int(at)]) => {
            let size = text.chars().count() as i64;
            match *at {
                at if at == size => Ok(Val::Text(String::new())),
                at => substring(text, at, Some(at + 1)),
            }
        }
        ("indexOf", [Val::Text(other)]) => Ok(place(text, text.find(other.as_str()))),
        ("lastIndexOf", [Val::Text(other)]) => Ok(place(text, text.rfind(other.as_str()))),
        ("lowerAscii", []) => Ok(Val::Text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::Text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::Text(text.trim().to_owned())),
        ("reverse", []) => Ok(Val::Text(text.chars().rev().collect())),
        ("replace", [Val::Text(from), Val::Text(to)]) => {
            Ok(Val::Text(text.replace(from.as_str(), to)))
        }
        ("replace", [Val::Text(from), Val::Text(to), Val::Int(n)]) => {
            let n = usize::try_from(*n).unwrap_or(usize::MAX);
            Ok(Val::Text(text.replacen(from.as_str(), to, n)))
        }
        ("split", [Val::Text(by)]) if by.is_empty() => Ok(Val::List(
            text.chars().map(|c| Val::Text(c.to_string())).collect(),
        )),
        ("split", [Val::Text(by)]) => Ok(Val::List(
            text.split(by.as_str())
                .map(|t| Val::Text(t.to_owned()))
                .collect(),
        )),
        ("split", [Val::Text(by), Val::Int(n)]) => match usize::try_from(*n) {
            Ok(n) => Ok(Val::List(
                text.splitn(n, by.as_str())
                    .map(|t| Val::Text(t.to_owned()))
                    .collect(),
            )),
            Err(_) => of_text(text, "split", &with[..1]),
        },
        ("substring", [Val::Int(from)]) => substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => substring(text, *from, Some(*to)),
        _ => overload(),
    }
}

fn of_list(list: &[Val], name: &str, with: &[Val]) -> Outcome {
    let at =
        |found: Option<usize>| Val::Int(found.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1));
    match (name, with) {
        ("isSorted", []) => {
            let sorted = list.windows(2).all(|pair| match pair {
                [a, b] => a.order(b).is_some_and(std::cmp::Ordering::is_le),
                _ => true,
            });
            Ok(Val::Bool(sorted))
        }
        ("min", []) => extreme(list, false),
        ("max", []) => extreme(list, true),
        ("sum", []) => match list {
            [] => Ok(Val::Int(0)),
            [Val::Int(_), ..] => list
                .iter()
                .try_fold(0i64, |sum, v| match v {
                    Val::Int(n) => sum
                        .checked_add(*n)
                        .ok_or_else(|| "integer overflow".to_owned()),
                    _ => overload(),
                })
                .map(Val::Int),
            [Val::Double(_), ..] => list
                .iter()
                .try_fold(0f64, |sum, v| match v {
                    Val::Double(n) => Ok(sum + n),
                    _ => overload(),
                })
                .map(Val::Double),
            [Val::Duration(_), ..] => list
                .iter()
                .try_fold(0i128, |sum, v| match v {
                    Val::Duration(n) => Ok(sum + n),
                    _ => overload(),
                })
                .map(Val::Duration),
            _ => overload(),
        },
        ("indexOf", [value]) => Ok(at(list.iter().position(|v| v == value))),
        ("lastIndexOf", [value]) => Ok(at(list.iter().rposition(|v| v == value))),
        ("join", with) => {
            let by = match with {
                [] => "",
                [Val::Text(by)] => by.as_str(),
                _ => return overload(),
            };
            let texts: Option<Vec<&str>> = list
                .iter()
                .map(|v| match v {
                    Val::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            texts
                .map(|t| Val::Text(t.join(by)))
                .map_or_else(overload, Ok)
        }
        _ => overload(),
    }
}
