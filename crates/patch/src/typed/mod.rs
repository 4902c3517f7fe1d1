//! Objects seen through their type: which fields they have, how two differ, one laid over another.
//!
//! Upstream: `structured-merge-diff/v6/typed`.

mod compare;
mod field_set;
mod merge;
mod reconcile;
mod remove;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use compare::{Comparison, compare};
pub(crate) use field_set::field_set;
pub(crate) use merge::merge;
pub(crate) use reconcile::reconcile;
pub(crate) use remove::remove;
pub(crate) use validate::validate;

use crate::fields::Element;
use serde_json::Value;
use std::borrow::Cow;
use stowplan_schema::{List, ListKind, Object, Scalar, Type};

/// What a value is taken for, of all that its type allows.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'t> {
    Map(&'t Object),
    Scalar(Scalar),
    List(&'t List),
    /// The type allows nothing.
    Nothing,
}

impl<'t> Shape<'t> {
    /// What the value is if its type allows that; null and what is not allowed are taken for the
    /// first that the type allows.
    pub(crate) fn of(ty: &'t Type, value: Option<&Value>) -> Self {
        match (value, ty.scalar, &ty.list, &ty.map) {
            (Some(Value::Bool(_) | Value::Number(_) | Value::String(_)), Some(scalar), _, _) => {
                Self::Scalar(scalar)
            }
            (Some(Value::Array(_)), _, Some(list), _) => Self::List(list),
            (_, _, _, Some(map)) => Self::Map(map),
            (_, Some(scalar), _, _) => Self::Scalar(scalar),
            (_, _, Some(list), _) => Self::List(list),
            _ => Self::Nothing,
        }
    }

    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The type under a key, and whether it is a declared field.
fn type_under<'t>(object: &'t Object, key: &str) -> Option<(&'t Type, bool)> {
    match object.field(key) {
        Some(field) => Some((&field.ty, true)),
        None => object.rest.as_deref().map(|rest| (rest, false)),
    }
}

const NO_SHAPE: &str = "schema error: invalid atom: inlined";

/// How an element of a set or of a list with keys is told from the others.
fn element<'a>(list: &'a List, item: &'a Value) -> Result<Element<'a>, String> {
    match &list.kind {
        ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListKind::Map(keys) => keyed_element(list, keys, item),
        ListKind::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => {
                Err("not supported: associative list with lists as elements".to_owned())
            }
            Value::Null => Err(
                "associative list without keys has an element that's an explicit null".to_owned(),
            ),
            scalar => Ok(Element::Value(Cow::Borrowed(scalar))),
        },
    }
}

/// A key that is absent takes the schema's default; without one the element is told apart by the
/// keys that it has.
fn keyed_element<'a>(
    list: &'a List,
    keys: &'a [Cow<'static, str>],
    item: &'a Value,
) -> Result<Element<'a>, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let value = match map.get(key.as_ref()) {
            Some(value) => Some(value),
            None => default_of(list, key)?,
        };
        if let Some(value) = value {
            found.push((Cow::Borrowed(key.as_ref()), Cow::Borrowed(value)));
        }
    }
    if found.is_empty() {
        let keys: Vec<String> = keys
            .iter()
            .map(|k| stowplan_apimachinery::go::quote(k))
            .collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Element::Key(found))
}

fn default_of<'a>(list: &'a List, key: &str) -> Result<Option<&'a Value>, String> {
    match &list.item.map {
        Some(map) => Ok(map.field(key).and_then(|field| field.default.as_ref())),
        None => Err(format!(
            "couldn't find default value for {key}: associative list may not have non-map types"
        )),
    }
}
