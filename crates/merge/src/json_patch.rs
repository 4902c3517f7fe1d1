//! JSON patch (RFC 6902), with the liberties that upstream's library takes: a missing key may be
//! replaced or copied, indices may count from the end, and a path need not begin with a slash.
//!
//! Upstream: `github.com/evanphx/json-patch` v4.13.0 and `applyJSPatch` in
//! `apiserver/pkg/endpoints/handlers/patch.go`.

#[cfg(test)]
mod tests;

use crate::body;
use crate::fields::value::write_json;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use stowplan_machinery::{Status, View};

/// More operations are refused.
const MAX_OPERATIONS: usize = 10_000;

/// All copies of a patch together may have so many bytes.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Objects are nested no deeper than this. Upstream goes on to 10,000, but not on the stack.
const MAX_DEPTH: usize = 300;

/// A JSON patch that was read.
#[derive(Debug)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// Members as they were written: a test compares texts.
type Operation = BTreeMap<String, Option<Box<RawValue>>>;

/// Members in the order of the body, with repeats.
#[derive(Default)]
struct Members(Vec<(String, Option<Box<RawValue>>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an operation")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// An operation that cannot be done. Nobody is told why.
struct Failed;

impl JsonPatch {
    /// Reads a patch. With `validated` (any `fieldValidation` but `Ignore`) unknown and duplicate
    /// fields are listed, and the types of the members are checked.
    pub fn decode(body: &[u8], validated: bool) -> Result<(Self, Vec<String>), Status> {
        let bad = |why: String| match validated {
            true => Status::bad_request(format!("error decoding patch: {why}")),
            false => Status::bad_request(why),
        };
        let (value, _) = body::parse(body).map_err(bad)?;
        if validated {
            check_types(&value).map_err(bad)?;
        }
        check_shape(&value).map_err(Status::bad_request)?;
        let operations: Option<Vec<Option<Members>>> =
            serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let operations = operations.unwrap_or_default();
        let operations: Vec<Members> = operations
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        let problems = match validated {
            true => operations.iter().enumerate().flat_map(problems).collect(),
            false => Vec::new(),
        };
        let operations: Vec<Operation> = operations
            .into_iter()
            .map(|members| members.0.into_iter().collect())
            .collect();
        if operations.len() > MAX_OPERATIONS {
            let message = format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                operations.len()
            );
            return Err(Status::failure(413, "RequestEntityTooLarge", message));
        }
        Ok((Self { operations }, problems))
    }

    /// Does all operations, or none.
    pub fn apply(&self, mut object: Value) -> Result<Value, Status> {
        let mut copied = 0;
        for operation in &self.operations {
            perform(&mut object, operation, &mut copied)
                .map_err(|Failed| crate::unprocessable())?;
        }
        Ok(object)
    }
}

/// The types that upstream decodes into first, to validate.
fn check_types(value: &Value) -> Result<(), String> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return Ok(()),
        other => return Err(body::mismatch(other, "[]handlers.jsonPatchOp")),
    };
    for item in items {
        match item {
            Value::Object(members) => {
                for name in ["op", "path", "from"] {
                    let member = members.at(name);
                    if !member.is_string() && !member.is_null() {
                        return Err(format!(
                            "json: cannot unmarshal {} into Go struct field jsonPatchOp.{name} of type string",
                            body::json_type(member)
                        ));
                    }
                }
            }
            Value::Null => {}
            other => return Err(body::mismatch(other, "handlers.jsonPatchOp")),
        }
    }
    Ok(())
}

/// The types that the library itself decodes into.
fn check_shape(value: &Value) -> Result<(), String> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return Ok(()),
        other => return Err(body::mismatch(other, "jsonpatch.Patch")),
    };
    for item in items {
        if !item.is_object() && !item.is_null() {
            return Err(body::mismatch(item, "jsonpatch.Operation"));
        }
    }
    Ok(())
}

/// Unknown and duplicate members of an operation, and what is there twice in its value.
fn problems((at, members): (usize, &Members)) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (name, raw) in &members.0 {
        let known = ["op", "path", "from", "value"].contains(&name.as_str());
        match (known, seen.contains(&name.as_str())) {
            (false, false) => problems.push(format!("json patch unknown field \"[{at}].{name}\"")),
            (true, true) => problems.push(format!("json patch duplicate field \"[{at}].{name}\"")),
            _ => {}
        }
        seen.push(name);
        if let ("value", Some(raw)) = (name.as_str(), raw) {
            let inside = body::parse(raw.get().as_bytes());
            for problem in inside.map(|(_, problems)| problems).unwrap_or_default() {
                let path = problem
                    .strip_prefix("duplicate field \"")
                    .unwrap_or(&problem);
                let dot = if path.starts_with('[') { "" } else { "." };
                problems.push(format!(
                    "json patch duplicate field \"[{at}].value{dot}{path}"
                ));
            }
        }
    }
    problems
}

fn text(operation: &Operation, name: &str) -> Option<String> {
    let raw = operation.get(name)?.as_deref()?;
    serde_json::from_str(raw.get()).ok()
}

/// Does one operation. `copied` counts the bytes of all copies.
fn perform(object: &mut Value, operation: &Operation, copied: &mut usize) -> Result<(), Failed> {
    let path = || text(operation, "path").ok_or(Failed);
    let from = || text(operation, "from").ok_or(Failed);
    let raw = operation.get("value").map(Option::as_deref);
    let value = || match raw.flatten() {
        Some(raw) => match body::parse(raw.get().as_bytes()) {
            Ok((value, _)) => Ok(value),
            Err(_) => Err(Failed),
        },
        None => Ok(Value::Null),
    };
    match text(operation, "op").unwrap_or_default().as_str() {
        "add" => add(object, &path()?, value()?),
        "remove" => {
            let path = path()?;
            let (container, key) = find(object, &path)?;
            remove(container, &key).map(drop)
        }
        "replace" => replace(object, &path()?, value()?),
        "move" => {
            let (container, key) = find(object, &from()?)?;
            let value = remove(container, &key)?;
            add(object, &path()?, value)
        }
        "copy" => {
            let (container, key) = find(object, &from()?)?;
            let value = get(container, &key)?.unwrap_or(&Value::Null);
            let mut text = String::new();
            write_json(&mut text, value);
            *copied += text.len();
            if *copied > MAX_COPIED_BYTES {
                return Err(Failed);
            }
            let value = value.clone();
            add(object, &path()?, value)
        }
        "test" => {
            let path = path()?;
            if path.is_empty() {
                let equal = raw.flatten().is_some_and(|raw| same(object, Some(raw)));
                return equal.then_some(()).ok_or(Failed);
            }
            let (container, key) = find(object, &path)?;
            let here = get(container, &key)?.unwrap_or(&Value::Null);
            same(here, raw.flatten()).then_some(()).ok_or(Failed)
        }
        _ => Err(Failed),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(Failed);
        }
        *object = value;
        return Ok(());
    }
    let (container, key) = find(object, path)?;
    match container {
        Value::Array(list) => {
            let at = index(&key, list.len()).ok_or(Failed)?;
            *list.get_mut(at).ok_or(Failed)? = value;
        }
        Value::Object(map) => {
            map.insert(key, value);
        }
        _ => return Err(Failed),
    }
    Ok(())
}

/// What holds the place that a path leads to, and its key or index there.
fn find<'v>(object: &'v mut Value, path: &str) -> Result<(&'v mut Value, String), Failed> {
    let mut parts = path.split('/').map(unescape);
    let _before_first_slash = parts.next();
    let mut key = parts.next().ok_or(Failed)?;
    let mut here = object;
    for next in parts {
        here = match here {
            Value::Array(list) => index(&key, list.len()).and_then(|at| list.get_mut(at)),
            Value::Object(map) => map.get_mut(&key),
            _ => None,
        }
        .ok_or(Failed)?;
        key = next;
    }
    match here {
        Value::Array(_) | Value::Object(_) => Ok((here, key)),
        _ => Err(Failed),
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
fn index(key: &str, len: usize) -> Option<usize> {
    let number: i64 = key.parse().ok()?;
    let at = match number < 0 {
        true => number.checked_add(i64::try_from(len).ok()?)?,
        false => number,
    };
    usize::try_from(at).ok()
}

fn get<'v>(container: &'v Value, key: &str) -> Result<Option<&'v Value>, Failed> {
    match container {
        Value::Array(list) => {
            let at = index(key, list.len()).ok_or(Failed)?;
            Ok(Some(list.get(at).ok_or(Failed)?))
        }
        Value::Object(map) => Ok(map.get(key)),
        _ => Err(Failed),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    if path.split('/').count() + depth(&value) > MAX_DEPTH {
        return Err(Failed);
    }
    let (container, key) = find(object, path)?;
    match container {
        Value::Array(list) => {
            let at = match key.as_str() {
                "-" => list.len(),
                _ => index(&key, list.len() + 1).ok_or(Failed)?,
            };
            if at > list.len() {
                return Err(Failed);
            }
            list.insert(at, value);
        }
        Value::Object(map) => {
            map.insert(key, value);
        }
        _ => return Err(Failed),
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn remove(container: &mut Value, key: &str) -> Result<Value, Failed> {
    match container {
        Value::Array(list) => {
            let at = index(key, list.len()).ok_or(Failed)?;
            match at < list.len() {
                true => Ok(list.remove(at)),
                false => Err(Failed),
            }
        }
        Value::Object(map) => map.remove(key).ok_or(Failed),
        _ => Err(Failed),
    }
}

/// Whether a value is what was written: scalars are the same if their texts are, so `1` is not
/// `1.0`, and `"<"`, which Go's encoder escapes, is not `"<"`. Null is also what is absent.
fn same(value: &Value, raw: Option<&RawValue>) -> bool {
    let raw = raw.map_or("null", RawValue::get);
    match value {
        Value::Object(map) => {
            let Ok(members) = serde_json::from_str::<Operation>(raw) else {
                return false;
            };
            map.len() == members.len()
                && map.iter().all(|(key, value)| {
                    let raw = members.get(key).map(Option::as_deref);
                    raw.is_some_and(|raw| same(value, raw))
                })
        }
        Value::Array(list) => {
            let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(raw) else {
                return false;
            };
            list.len() == items.len()
                && list
                    .iter()
                    .zip(&items)
                    .all(|(value, raw)| same(value, Some(raw)))
        }
        scalar => {
            let mut written = String::new();
            write_json(&mut written, scalar);
            written == raw
        }
    }
}
