//! Places in an object, by JSON pointer.

use super::Failed;
use super::perform::Work;
use serde_json::Value;

/// What holds the place that a path leads to, and its key or index there.
pub(super) fn find<'v>(
    object: &'v mut Value,
    path: &str,
) -> Result<(&'v mut Value, String), Failed> {
    let mut parts = path.split('/').map(unescape);
    let _before_first_slash = parts.next();
    let mut key = parts.next().ok_or(Failed::Cannot)?;
    let mut here = object;
    for next in parts {
        here = match here {
            Value::Array(list) => index(&key, list.len()).and_then(|at| list.get_mut(at)),
            Value::Object(map) => map.get_mut(&key),
            _ => None,
        }
        .ok_or(Failed::Cannot)?;
        key = next;
    }
    match here {
        Value::Array(_) | Value::Object(_) => Ok((here, key)),
        _ => Err(Failed::Cannot),
    }
}

/// `~1` is a slash and `~0` a tilde, each replaced once.
fn unescape(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        let (before, tilde) = rest.split_at(at);
        out.push_str(before);
        let (text, taken) = match tilde.as_bytes().get(1) {
            Some(b'1') => ("/", 2),
            Some(b'0') => ("~", 2),
            _ => ("~", 1),
        };
        out.push_str(text);
        rest = tilde.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// A number as Go's `Atoi` reads it; negative ones count from the end.
pub(super) fn index(key: &str, len: usize) -> Option<usize> {
    let number: i64 = key.parse().ok()?;
    let at = match number < 0 {
        true => number.checked_add(i64::try_from(len).ok()?)?,
        false => number,
    };
    usize::try_from(at).ok()
}

pub(super) fn get<'v>(container: &'v Value, key: &str) -> Result<Option<&'v Value>, Failed> {
    match container {
        Value::Array(list) => {
            let at = index(key, list.len()).ok_or(Failed::Cannot)?;
            Ok(Some(list.get(at).ok_or(Failed::Cannot)?))
        }
        Value::Object(map) => Ok(map.get(key)),
        _ => Err(Failed::Cannot),
    }
}

/// How many values are around the one at a place.
pub(super) fn levels_above(path: &str) -> usize {
    path.split('/').count().saturating_sub(1)
}

/// Takes the value out of what holds it.
pub(super) fn remove(container: &mut Value, key: &str, work: &mut Work) -> Result<Value, Failed> {
    match container {
        Value::Array(list) => {
            let at = index(key, list.len()).ok_or(Failed::Cannot)?;
            match at < list.len() {
                true => {
                    work.moved(list.len() - at)?;
                    Ok(list.remove(at))
                }
                false => Err(Failed::Cannot),
            }
        }
        Value::Object(map) => map.remove(key).ok_or(Failed::Cannot),
        _ => Err(Failed::Cannot),
    }
}
