//! Doing what the operations of a JSON patch say.

use super::place::{find, get, index, levels_above, remove};
use super::same::same;
use super::{Failed, Operation};
use crate::body;
use crate::fields::value::write_json;
use serde_json::Value;
use serde_json::value::RawValue;
use stowplan_apimachinery::json::is_deeper;
use stowplan_apimachinery::limits::{DEPTH_MAX, PATCH_COPIED_BYTES_MAX, PATCH_STEPS_MAX};

/// An object that is being patched.
pub(super) struct Patching {
    pub(super) object: Value,
    /// The bytes of all copies so far.
    copied: usize,
    work: Work,
}

/// How much may still be done, in steps that take about as long as to look at one value.
#[derive(Debug)]
pub(super) struct Work {
    left: usize,
}

impl Work {
    pub(super) fn take(&mut self, steps: usize) -> Result<(), Failed> {
        self.left = self.left.checked_sub(steps).ok_or(Failed::TooMuch)?;
        Ok(())
    }

    /// So many elements of a list make room or close up.
    pub(super) fn moved(&mut self, elements: usize) -> Result<(), Failed> {
        self.take(elements / 16)
    }

    /// So many bytes are read.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Failed> {
        self.take(bytes / 16)
    }
}

fn text(operation: &Operation, name: &str) -> Result<String, Failed> {
    let raw = operation.get(name).and_then(Option::as_deref);
    let text = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.ok_or(Failed::Cannot)
}

/// What an operation puts in or compares; null if it does not say.
fn value(raw: Option<&RawValue>) -> Result<Value, Failed> {
    match raw.map(|raw| body::parse(raw.get().as_bytes())) {
        Some(Ok((value, _))) => Ok(value),
        Some(Err(_)) => Err(Failed::Cannot),
        None => Ok(Value::Null),
    }
}

impl Patching {
    pub(super) fn new(object: Value) -> Self {
        Self {
            object,
            copied: 0,
            work: Work {
                left: PATCH_STEPS_MAX,
            },
        }
    }

    /// Does one operation.
    pub(super) fn perform(&mut self, operation: &Operation) -> Result<(), Failed> {
        let path = || text(operation, "path");
        let from = || text(operation, "from");
        let raw = operation.get("value").and_then(Option::as_deref);
        match text(operation, "op").unwrap_or_default().as_str() {
            "add" => self.add(&path()?, value(raw)?),
            "remove" => self.remove(&path()?).map(drop),
            "replace" => self.replace(&path()?, value(raw)?),
            "move" => self.move_value(&from()?, path),
            "copy" => self.copy(&from()?, path),
            "test" => self.test(&path()?, raw),
            _ => Err(Failed::Cannot),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), Failed> {
        check_depth(path, &value)?;
        self.insert(path, value)
    }

    /// Puts in a value that is known not to be too deep for its place.
    fn insert(&mut self, path: &str, value: Value) -> Result<(), Failed> {
        let (container, key) = find(&mut self.object, path)?;
        match container {
            Value::Array(list) => {
                let at = match key.as_str() {
                    "-" => list.len(),
                    _ => index(&key, list.len() + 1).ok_or(Failed::Cannot)?,
                };
                let after = list.len().checked_sub(at).ok_or(Failed::Cannot)?;
                self.work.moved(after)?;
                list.insert(at, value);
            }
            Value::Object(map) => {
                map.insert(key, value);
            }
            _ => return Err(Failed::Cannot),
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<Value, Failed> {
        let (container, key) = find(&mut self.object, path)?;
        remove(container, &key, &mut self.work)
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), Failed> {
        check_depth(path, &value)?;
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err(Failed::Cannot);
            }
            self.object = value;
            return Ok(());
        }
        let (container, key) = find(&mut self.object, path)?;
        match container {
            Value::Array(list) => {
                let at = index(&key, list.len()).ok_or(Failed::Cannot)?;
                *list.get_mut(at).ok_or(Failed::Cannot)? = value;
            }
            Value::Object(map) => {
                map.insert(key, value);
            }
            _ => return Err(Failed::Cannot),
        }
        Ok(())
    }

    fn move_value(
        &mut self,
        from: &str,
        path: impl FnOnce() -> Result<String, Failed>,
    ) -> Result<(), Failed> {
        let value = self.remove(from)?;
        let path = path()?;
        // Where it is no deeper than before, there is no need to look into it.
        if levels_above(&path) > levels_above(from) {
            self.work.take(size(&value))?;
            check_depth(&path, &value)?;
        }
        self.insert(&path, value)
    }

    fn copy(
        &mut self,
        from: &str,
        path: impl FnOnce() -> Result<String, Failed>,
    ) -> Result<(), Failed> {
        let (container, key) = find(&mut self.object, from)?;
        let value = get(container, &key)?.unwrap_or(&Value::Null);
        let mut text = String::new();
        write_json(&mut text, value);
        self.copied += text.len();
        if self.copied > PATCH_COPIED_BYTES_MAX {
            return Err(Failed::Cannot);
        }
        let value = value.clone();
        self.add(&path()?, value)
    }

    fn test(&mut self, path: &str, raw: Option<&RawValue>) -> Result<(), Failed> {
        let equal = match (path.is_empty(), raw) {
            (true, None) => false,
            (true, Some(raw)) => same(&self.object, raw.get(), &mut self.work)?,
            (false, raw) => {
                let (container, key) = find(&mut self.object, path)?;
                let here = get(container, &key)?.unwrap_or(&Value::Null);
                same(here, raw.map_or("null", RawValue::get), &mut self.work)?
            }
        };
        equal.then_some(()).ok_or(Failed::Cannot)
    }
}

/// No value may end up deeper than others may be.
fn check_depth(path: &str, value: &Value) -> Result<(), Failed> {
    match DEPTH_MAX.checked_sub(levels_above(path)) {
        Some(levels) if !is_deeper(value, levels) => Ok(()),
        _ => Err(Failed::Cannot),
    }
}

/// How many values there are in a value, itself included.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
