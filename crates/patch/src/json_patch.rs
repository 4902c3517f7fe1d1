//! JSON patch (RFC 6902), with the liberties that upstream's library takes: a missing key may be
//! replaced or copied, indices may count from the end, and a path need not begin with a slash.
//!
//! Upstream: `github.com/evanphx/json-patch` v4.13.0 and `applyJSPatch` in
//! `apiserver/pkg/endpoints/handlers/patch.go`.

mod perform;
mod place;
mod same;
#[cfg(test)]
mod tests;

use crate::body;
use perform::Patching;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use stowplan_apimachinery::limits::{PATCH_OPERATIONS_MAX, PROBLEMS_MAX};
use stowplan_apimachinery::{Status, View};

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

/// Why an operation is not done.
#[derive(Debug)]
enum Failed {
    /// It cannot be. Nobody is told why.
    Cannot,
    /// All together would take too long.
    TooMuch,
}

impl From<Failed> for Status {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Cannot => crate::unprocessable(),
            Failed::TooMuch => too_large("the JSON patch takes too many steps to apply".to_owned()),
        }
    }
}

fn too_large(message: String) -> Status {
    Status::failure(413, "RequestEntityTooLarge", message)
}

impl JsonPatch {
    /// Reads a patch. With `validated` (any `fieldValidation` but `Ignore`) unknown and duplicate
    /// fields are listed, and the types of the members are checked.
    pub fn decode(body: &[u8], validated: bool) -> Result<(Self, Vec<String>), Status> {
        let bad = |why: String| match validated {
            true => Status::bad_request(format!("error decoding patch: {why}")),
            false => Status::bad_request(why),
        };
        check(body, validated, &bad)?;
        let operations: Option<Vec<Option<Members>>> =
            serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let operations = operations.unwrap_or_default();
        let operations: Vec<Members> = operations
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        let mut problems = Vec::new();
        if validated {
            for (at, members) in operations.iter().enumerate() {
                list_problems(at, members, &mut problems);
            }
        }
        let operations: Vec<Operation> = operations
            .into_iter()
            .map(|members| members.0.into_iter().collect())
            .collect();
        if operations.len() > PATCH_OPERATIONS_MAX {
            return Err(too_large(format!(
                "The allowed maximum operations in a JSON patch is {PATCH_OPERATIONS_MAX}, got {}",
                operations.len()
            )));
        }
        Ok((Self { operations }, problems))
    }

    /// Does all operations, or none.
    pub fn apply(&self, object: Value) -> Result<Value, Status> {
        let mut patching = Patching::new(object);
        for operation in &self.operations {
            patching.perform(operation)?;
        }
        Ok(patching.object)
    }
}

/// Whether the body is a list of operations, as far as types go.
fn check(body: &[u8], validated: bool, bad: &dyn Fn(String) -> Status) -> Result<(), Status> {
    let (value, _) = body::parse(body).map_err(bad)?;
    if validated {
        check_types(&value).map_err(bad)?;
    }
    check_shape(&value).map_err(Status::bad_request)
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

/// Unknown and duplicate members of an operation, and what is there twice in its value. No more are
/// told than upstream's decoder tells.
fn list_problems(at: usize, members: &Members, problems: &mut Vec<String>) {
    let mut seen: HashSet<&str> = HashSet::new();
    for (name, raw) in &members.0 {
        if problems.len() >= PROBLEMS_MAX {
            return problems.truncate(PROBLEMS_MAX);
        }
        let known = ["op", "path", "from", "value"].contains(&name.as_str());
        match (known, seen.insert(name)) {
            (false, true) => problems.push(format!("json patch unknown field \"[{at}].{name}\"")),
            (true, false) => problems.push(format!("json patch duplicate field \"[{at}].{name}\"")),
            _ => {}
        }
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
    problems.truncate(PROBLEMS_MAX);
}
