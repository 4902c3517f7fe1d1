//! Strategic merge patch: lists are merged by keys that the types name, and directives in the patch
//! say what else to do.
//!
//! Upstream: `apimachinery/pkg/util/strategicpatch/patch.go`.

mod fault;
mod lists;
mod lookup;
mod order;
mod stable;
#[cfg(test)]
mod tests;

use crate::body;
use fault::Fault;
use lists::merge_lists;
use lookup::{list_field, map_field};
use order::order_lists;
use serde_json::{Map, Value};
use std::collections::HashSet;
use stowplan_apimachinery::Status;
use stowplan_schema::Type;

/// `replace`, `delete` or `merge` the map or list that it stands in.
const DIRECTIVE: &str = "$patch";
/// Keys that stay; all others go.
const RETAIN_KEYS: &str = "$retainKeys";
/// With the name of a list of scalars: what to take from it.
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// With the name of a list: its order.
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Reads a patch. With `validated` (any `fieldValidation` but `Ignore`) duplicate fields are listed.
pub fn decode(body: &[u8], validated: bool) -> Result<(Value, Vec<String>), Status> {
    let (patch, problems) = body::parse(body).map_err(Status::bad_request)?;
    let problems = if validated { problems } else { Vec::new() };
    match patch {
        Value::Object(_) => Ok((patch, problems)),
        Value::Null => Ok((Value::Object(Map::new()), problems)),
        other => Err(Status::bad_request(body::mismatch(
            &other,
            "map[string]interface {}",
        ))),
    }
}

/// Lays a patch over an object of this type.
///
/// Directives are taken out of the patch on the way: upstream quotes what is left of it when the
/// outcome turns out to be no object (`go::plain` prints it).
pub fn apply(ty: &Type, object: Value, patch: &mut Value) -> Result<Value, Status> {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            Ok(Value::Object(merge_maps(object, patch, Some(ty))?))
        }
        (object, _) => Ok(object),
    }
}

type Object = Map<String, Value>;

fn merge_maps(
    mut original: Object,
    patch: &mut Object,
    ty: Option<&Type>,
) -> Result<Object, Fault> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch.clone())
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(Fault::bad_directive(directive, patch)),
        };
    }
    retain_keys(&mut original, patch)?;
    order_lists(&mut original, patch, ty)?;
    for (key, value) in patch.iter_mut() {
        let deleted_from = match key.starts_with(DELETE_FROM_LIST) {
            true => Some(list_name(key, DELETE_FROM_LIST).ok_or(Fault::PRIMITIVE_LIST)?),
            false => None,
        };
        let key = deleted_from.unwrap_or(key);
        if value.is_null() {
            original.remove(key);
            continue;
        }
        match original.get_mut(key) {
            Some(here) if same_type(here, value) => {
                merge_values(here, value, key, deleted_from.is_some(), ty)?;
            }
            _ if deleted_from.is_some() => {}
            _ => {
                discard_nulls(value);
                match without_directives(value) {
                    Some(value) => original.insert(key.to_owned(), value),
                    None => original.remove(key),
                };
            }
        }
    }
    Ok(original)
}

/// Merges two values of the same JSON type.
fn merge_values(
    here: &mut Value,
    patch: &mut Value,
    key: &str,
    is_deletion: bool,
    ty: Option<&Type>,
) -> Result<(), Fault> {
    match (here, patch) {
        (Value::Object(here), Value::Object(patch)) => {
            let field = map_field(ty, key)?;
            *here = match field.strategy == "replace" {
                true => patch.clone(),
                false => merge_maps(std::mem::take(here), patch, field.ty)?,
            };
        }
        (Value::Array(here), Value::Array(patch)) => {
            let field = list_field(ty, key)?;
            *here = match field.strategy == "merge" || is_deletion {
                true => merge_lists(std::mem::take(here), patch, &field, is_deletion)?.list,
                false => patch.clone(),
            };
        }
        (here, patch) => *here = patch.clone(),
    }
    Ok(())
}

/// Whether Go's decoder makes the same type of both.
fn same_type(a: &Value, b: &Value) -> bool {
    use stowplan_apimachinery::go::type_name;
    type_name(a) == type_name(b)
}

/// The list that a directive with a name is about.
fn list_name<'k>(key: &'k str, directive: &str) -> Option<&'k str> {
    let (prefix, name) = key.split_once('/')?;
    (prefix == directive).then_some(name)
}

/// Takes away what `$retainKeys` does not name. What the patch sets has to be named.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Fault> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return Err(Fault::RETAIN_KEYS);
    };
    let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let is_retained = |key: &str| retained.contains(key);
    for (key, value) in patch.iter() {
        let is_directive = key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ELEMENT_ORDER);
        if !value.is_null() && !is_directive && !is_retained(key) {
            return Err(Fault::RETAIN_KEYS);
        }
    }
    original.retain(|key, _| is_retained(key));
    Ok(())
}

/// Takes null fields out of all maps in a value.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value without maps that hold a directive, which are taken out of the patch too, but for the
/// elements of the outermost list; `None` if it is such a map itself.
fn without_directives(value: &mut Value) -> Option<Value> {
    match value {
        Value::Array(list) => Some(list.iter_mut().filter_map(without_directives).collect()),
        value => take_directives(value).then(|| value.clone()),
    }
}

/// Takes maps that hold a directive out of a value. False if it is such a map itself.
fn take_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => return false,
        Value::Object(map) => map.retain(|_, value| take_directives(value)),
        Value::Array(list) => list.retain_mut(take_directives),
        _ => {}
    }
    true
}
