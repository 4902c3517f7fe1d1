//! Methods of texts: those of the language, of cel-go's strings (version 2) and of Kubernetes' regular
//! expressions.

use crate::eval::{Outcome, overload};
use crate::meter::Meter;
use crate::value::Val;
use regex::Regex;

fn regex(pattern: &str) -> Result<Regex, String> {
    stowplan_apimachinery::regexp::compile(pattern).map_err(|why| {
        stowplan_apimachinery::regexp::fault(pattern).unwrap_or_else(|| why.to_string())
    })
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

/// Where a text occurs: the first place from a character on, or the last one up to it.
fn index_of(text: &str, other: &str, offset: i64, last: bool) -> Outcome {
    if other.is_empty() {
        return Ok(Val::Int(offset));
    }
    let Ok(from) = usize::try_from(offset) else {
        return out_of_range(offset);
    };
    // Beyond the end there is nothing.
    let Some((start, _)) = text.char_indices().nth(from) else {
        return Ok(Val::Int(-1));
    };
    let found = match last {
        false => {
            let found = text.get(start..).and_then(|rest| rest.find(other));
            found.map(|at| start + at)
        }
        true => {
            let end = start.saturating_add(other.len()).min(text.len());
            // An end within a character cannot be the end of a match.
            let end = (0..=end).rev().find(|at| text.is_char_boundary(*at));
            end.and_then(|end| text.get(..end)?.rfind(other))
        }
    };
    Ok(place(text, found))
}

fn list<'a>(parts: impl Iterator<Item = &'a str>, meter: &Meter) -> Outcome {
    let mut list: Vec<Val> = Vec::new();
    for part in parts {
        list.push(part.into());
        meter.grows(list.len())?;
    }
    Ok(list.into())
}

fn split(text: &str, by: &str, limit: i64, meter: &Meter) -> Outcome {
    let limit = match limit {
        0 => return Ok(Vec::<Val>::new().into()),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if !by.is_empty() {
        return list(text.splitn(limit, by), meter);
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
        meter.grows(parts.len())?;
        rest = after;
    }
    Ok(parts.into())
}

fn replace(text: &str, from: &str, to: &str, limit: i64, meter: &Meter) -> Outcome {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = text.matches(from).take(limit).count();
    let kept = text.len().saturating_sub(count.saturating_mul(from.len()));
    meter.makes(kept.saturating_add(count.saturating_mul(to.len())), 0)?;
    Ok(text.replacen(from, to, limit).into())
}

/// Methods of a text.
pub(crate) fn method(text: &str, name: &str, with: &[Val], meter: &Meter) -> Outcome {
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
            return list(regex(pattern)?.find_iter(text).map(|m| m.as_str()), meter);
        }
        ("findAll", [Val::Text(pattern), Val::Int(limit)]) => {
            let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
            let regex = regex(pattern)?;
            let found = regex.find_iter(text).take(limit);
            return list(found.map(|m| m.as_str()), meter);
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
            return index_of(text, other, *offset, false);
        }
        ("lastIndexOf", [Val::Text(other)]) => place(text, text.rfind(&**other)),
        ("lastIndexOf", [Val::Text(other), Val::Int(offset)]) => {
            return index_of(text, other, *offset, true);
        }
        ("lowerAscii", []) => text.to_ascii_lowercase().into(),
        ("upperAscii", []) => text.to_ascii_uppercase().into(),
        ("trim", []) => text.trim().into(),
        ("replace", [Val::Text(from), Val::Text(to)]) => return replace(text, from, to, -1, meter),
        ("replace", [Val::Text(from), Val::Text(to), Val::Int(n)]) => {
            return replace(text, from, to, *n, meter);
        }
        ("split", [Val::Text(by)]) => return split(text, by, -1, meter),
        ("split", [Val::Text(by), Val::Int(n)]) => return split(text, by, *n, meter),
        ("substring", [Val::Int(from)]) => return substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => {
            return substring(text, *from, Some(*to));
        }
        ("format", [Val::List(with)]) => crate::formatting::format(text, with, meter)?.into(),
        _ => return overload(),
    })
}

/// The text in quotes, with what does not show written out.
pub(crate) fn quoted(text: &str) -> String {
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
