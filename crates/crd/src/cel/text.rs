//! Methods of texts: those of the language, of cel-go's strings (version 2) and of Kubernetes' regular
//! expressions.

use super::eval::{Outcome, overload};
use super::functions::shown;
use super::value::Val;
use regex::Regex;

fn regex(pattern: &str) -> Result<Regex, String> {
    crate::pattern::compile(pattern)
        .map_err(|why| crate::format::pattern_fault(pattern).unwrap_or_else(|| why.to_string()))
}

fn place(text: &str, found: Option<usize>) -> Val {
    let before = found.and_then(|at| text.get(..at));
    let chars = before.map(|before| before.chars().count());
    Val::Int(chars.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1))
}

fn out_of_range<T>(at: i64) -> Result<T, String> {
    Err(format!("index out of range: {at}"))
}

/// The characters from one place to another.
fn substring(text: &str, from: i64, to: Option<i64>) -> Outcome {
    let size = text.chars().count() as i64;
    let to = to.unwrap_or(size);
    for at in [from, to] {
        if at < 0 || at > size {
            return out_of_range(at);
        }
    }
    if from > to {
        return Err(format!("invalid substring range. start: {from}, end: {to}"));
    }
    let taken = text.chars().skip(from as usize).take((to - from) as usize);
    Ok(taken.collect::<String>().into())
}

/// Where a text first occurs from a character on.
fn index_of(text: &str, other: &str, offset: i64) -> Outcome {
    let size = text.chars().count() as i64;
    if offset < 0 || offset > size {
        return out_of_range(offset);
    }
    let start = text.char_indices().nth(offset as usize);
    let start = start.map_or(text.len(), |(at, _)| at);
    let found = text.get(start..).and_then(|rest| rest.find(other));
    Ok(place(text, found.map(|at| start + at)))
}

/// Where a text last occurs that begins at a character or before it.
fn last_index_of(text: &str, other: &str, offset: i64) -> Outcome {
    let size = text.chars().count() as i64;
    if offset < 0 || offset > size {
        return out_of_range(offset);
    }
    let last = text.char_indices().nth(offset as usize);
    let end = last.map_or(text.len(), |(at, _)| at) + other.len();
    let mut end = end.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let found = text.get(..end).and_then(|head| head.rfind(other));
    Ok(place(text, found))
}

fn list<'a>(parts: impl Iterator<Item = &'a str>) -> Val {
    parts.map(Val::from).collect::<Vec<_>>().into()
}

fn split(text: &str, by: &str, limit: i64) -> Val {
    let limit = match limit {
        0 => return Vec::<Val>::new().into(),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if !by.is_empty() {
        return list(text.splitn(limit, by));
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if parts.len() + 1 >= limit {
            parts.push(Val::from(rest));
            break;
        }
        let (one, after) = rest.split_at(c.len_utf8());
        parts.push(Val::from(one));
        rest = after;
    }
    parts.into()
}

/// Methods of a text.
pub(super) fn method(text: &str, name: &str, with: &[Val]) -> Outcome {
    Ok(match (name, with) {
        ("startsWith", [Val::Text(other)]) => Val::Bool(text.starts_with(&**other)),
        ("endsWith", [Val::Text(other)]) => Val::Bool(text.ends_with(&**other)),
        ("contains", [Val::Text(other)]) => Val::Bool(text.contains(&**other)),
        ("matches", [Val::Text(pattern)]) => Val::Bool(regex(pattern)?.is_match(text)),
        ("find", [Val::Text(pattern)]) => {
            let regex = regex(pattern)?;
            Val::from(regex.find(text).map_or("", |m| m.as_str()))
        }
        ("findAll", [Val::Text(pattern)]) => {
            list(regex(pattern)?.find_iter(text).map(|m| m.as_str()))
        }
        ("findAll", [Val::Text(pattern), Val::Int(limit)]) => {
            let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
            list(
                regex(pattern)?
                    .find_iter(text)
                    .take(limit)
                    .map(|m| m.as_str()),
            )
        }
        ("charAt", [Val::Int(at)]) => {
            let size = text.chars().count() as i64;
            return match *at {
                at if at == size => Ok("".into()),
                at => substring(text, at, Some(at.saturating_add(1))).or_else(|_| out_of_range(at)),
            };
        }
        ("indexOf", [Val::Text(other)]) => place(text, text.find(&**other)),
        ("indexOf", [Val::Text(other), Val::Int(offset)]) => {
            return index_of(text, other, *offset);
        }
        ("lastIndexOf", [Val::Text(other)]) => place(text, text.rfind(&**other)),
        ("lastIndexOf", [Val::Text(other), Val::Int(offset)]) => {
            return last_index_of(text, other, *offset);
        }
        ("lowerAscii", []) => text.to_ascii_lowercase().into(),
        ("upperAscii", []) => text.to_ascii_uppercase().into(),
        ("trim", []) => text.trim().into(),
        ("replace", [Val::Text(from), Val::Text(to)]) => text.replace(&**from, to).into(),
        ("replace", [Val::Text(from), Val::Text(to), Val::Int(n)]) => {
            let n = usize::try_from(*n).unwrap_or(usize::MAX);
            text.replacen(&**from, to, n).into()
        }
        ("split", [Val::Text(by)]) => split(text, by, -1),
        ("split", [Val::Text(by), Val::Int(n)]) => split(text, by, *n),
        ("substring", [Val::Int(from)]) => return substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => {
            return substring(text, *from, Some(*to));
        }
        ("format", [Val::List(with)]) => format(text, with)?.into(),
        _ => return overload(),
    })
}

/// The text in quotes, with what does not show written out.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Puts values into a text. Upstream: `ext/formatting.go`.
fn format(text: &str, with: &[Val]) -> Result<String, String> {
    let mut out = String::new();
    let mut with = with.iter().enumerate();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut precision: Option<usize> = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            /// No number has more places than this to show.
            const PLACES_MAX: usize = 1_000;
            let places: usize = digits.parse().map_err(|_| {
                "could not parse formatting clause: error while parsing precision: could not find end of precision specifier".to_owned()
            })?;
            precision = Some(places.min(PLACES_MAX));
        }
        let clause = chars.next().ok_or("unexpected end of string")?;
        if clause == '%' {
            out.push('%');
            continue;
        }
        let (i, value) = with
            .next()
            .ok_or_else(|| format!("index {} out of range", with.len()))?;
        let shown = clause_of(clause, precision, value);
        out.push_str(&shown.ok_or_else(|| {
            let kind = value.type_name();
            format!("error during formatting: {i}: %{clause} cannot be used with {kind}")
        })?);
    }
    Ok(out)
}

/// A value as one clause shows it, if it can.
fn clause_of(clause: char, precision: Option<usize>, value: &Val) -> Option<String> {
    let places = precision.unwrap_or(6);
    let real = match value {
        Val::Double(n) => Some(*n),
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        _ => None,
    };
    let based = |plain: fn(u64) -> String| match value {
        Val::Int(n) if *n < 0 => Some(format!("-{}", plain(n.unsigned_abs()))),
        Val::Int(n) => Some(plain(n.unsigned_abs())),
        Val::Uint(n) => Some(plain(*n)),
        _ => None,
    };
    let hex = |bytes: &[u8], upper: bool| {
        let digits = bytes.iter().map(|b| match upper {
            true => format!("{b:02X}"),
            false => format!("{b:02x}"),
        });
        digits.collect::<String>()
    };
    match (clause, value) {
        ('s', value) => Some(listed(value)),
        ('d', Val::Int(_) | Val::Uint(_)) => Some(shown(value)),
        ('f', _) => real.map(|n| format!("{n:.places$}")),
        ('e', _) => real.map(|n| exponent(&format!("{n:.places$e}"))),
        ('b', Val::Bool(b)) => Some(u8::from(*b).to_string()),
        ('b', _) => based(|n| format!("{n:b}")),
        ('o', _) => based(|n| format!("{n:o}")),
        ('x' | 'X', Val::Text(text)) => Some(hex(text.as_bytes(), clause == 'X')),
        ('x' | 'X', Val::Bytes(bytes)) => Some(hex(bytes, clause == 'X')),
        ('x', _) => based(|n| format!("{n:x}")),
        ('X', _) => based(|n| format!("{n:X}")),
        _ => None,
    }
}

/// `1.5e2` as Go writes it: `1.5e+02`.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else {
        return text.to_owned();
    };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// A value as `%s` shows it, lists and maps included.
fn listed(value: &Val) -> String {
    match value {
        Val::List(list) => {
            let parts: Vec<String> = list.iter().map(listed).collect();
            format!("[{}]", parts.join(", "))
        }
        Val::Map(entries) => {
            let mut parts: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", listed(key), listed(value)))
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(", "))
        }
        value => shown(value),
    }
}
