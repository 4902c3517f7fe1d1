//! Merging lists.

use super::fault::Fault;
use super::lookup::{PatchMeta, go_kind};
use super::order::normalize;
use super::{DIRECTIVE, Object, merge_maps};
use serde_json::Value;
use stowplan_machinery::go;

/// A merged list.
pub(super) struct MergedList {
    pub(super) list: Vec<Value>,
    /// What upstream finds in the memory of the original list afterwards, as far as the original
    /// reached. It goes by this order when there is a `$setElementOrder`.
    pub(super) original: Vec<Value>,
}

/// What the elements of lists are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Maps,
    Scalars,
}

/// The type that the elements of both lists have.
pub(super) fn element_type(a: &[Value], b: &[Value]) -> Result<Elements, Fault> {
    let mut all = a.iter().chain(b);
    let Some(first) = all.next() else {
        return Err(Fault::Other(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    if first.is_array() {
        return Err(Fault::ListOfLists);
    }
    if !all.all(|other| go::type_name(other) == go::type_name(first)) {
        let lists = Value::Array(vec![Value::Array(a.to_vec()), Value::Array(b.to_vec())]);
        return Err(Fault::Other(format!(
            "list element types are not identical: {}",
            go::plain(&lists)
        )));
    }
    match first {
        Value::Object(_) => Ok(Elements::Maps),
        _ => Ok(Elements::Scalars),
    }
}

pub(super) fn merge_lists(
    original: Vec<Value>,
    patch: &mut [Value],
    field: &PatchMeta<'_>,
    is_deletion: bool,
) -> Result<MergedList, Fault> {
    if original.is_empty() && patch.is_empty() {
        return Ok(MergedList {
            list: Vec::new(),
            original,
        });
    }
    match element_type(&original, patch)? {
        Elements::Scalars => merge_scalars(original, patch, field, is_deletion),
        Elements::Maps if field.merge_key.is_empty() => Err(Fault::Other(format!(
            "cannot merge lists without merge key for {}",
            field.ty.map_or("map", go_kind)
        ))),
        Elements::Maps => merge_elements(original, patch, field),
    }
}

fn merge_scalars(
    original: Vec<Value>,
    patch: &[Value],
    field: &PatchMeta<'_>,
    is_deletion: bool,
) -> Result<MergedList, Fault> {
    let list = if is_deletion {
        let kept = original.iter().filter(|item| !patch.contains(item));
        kept.cloned().collect()
    } else {
        let mut both = original.clone();
        both.extend_from_slice(patch);
        let both = without_repeats(both);
        let key = field.merge_key;
        let (in_patch, others) = match key.is_empty() {
            true => both.into_iter().partition(|item| patch.contains(item)),
            false => partition(both, patch, key)?,
        };
        normalize(in_patch, others, patch, &original, key, Elements::Scalars)?
    };
    Ok(MergedList { list, original })
}

/// Takes out repeats; the last element takes the place of each.
fn without_repeats(mut list: Vec<Value>) -> Vec<Value> {
    let mut i = 0;
    while i < list.len() {
        let mut j = i + 1;
        while j < list.len() {
            if list.get(i) == list.get(j) {
                list.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
    list
}

fn merge_elements(
    original: Vec<Value>,
    patch: &mut [Value],
    field: &PatchMeta<'_>,
) -> Result<MergedList, Fault> {
    let key = field.merge_key;
    let mut memory = Memory {
        used: original.len(),
        list: original.clone(),
    };
    let mut original = original;
    let replaced = take_directives(&mut original, patch, key, &mut memory)?;
    let plain = patch.iter_mut().filter(|item| !has_directive(item));
    let (merged, order) = if replaced {
        original = plain.map(|item| item.clone()).collect();
        (original.clone(), Vec::new())
    } else {
        let (mut merged, mut order) = (original.clone(), Vec::new());
        for item in plain {
            merge_element(&mut merged, item, field, &mut memory)?;
            order.push(item.clone());
        }
        (merged, order)
    };
    let (in_patch, others) = partition(merged, &order, key)?;
    Ok(MergedList {
        list: normalize(in_patch, others, &order, &original, key, Elements::Maps)?,
        original: memory.list,
    })
}

/// Deletes what the patch says is to be deleted; says whether it replaces the whole list.
fn take_directives(
    original: &mut Vec<Value>,
    patch: &[Value],
    key: &str,
    memory: &mut Memory,
) -> Result<bool, Fault> {
    let mut replaced = false;
    for item in patch {
        let Value::Object(map) = item else { continue };
        let Some(directive) = map.get(DIRECTIVE) else {
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let Some(value) = map.get(key) else {
                    return Err(Fault::no_merge_key(map, key));
                };
                while let Some(at) = find(original, key, value)? {
                    original.remove(at);
                    memory.remove(at);
                }
            }
            Some("replace") => replaced = true,
            Some("merge") => {
                return Err(Fault::Other(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            _ => return Err(Fault::bad_directive(directive, map)),
        }
    }
    Ok(replaced)
}

/// Merges one element into the list, or adds it.
fn merge_element(
    merged: &mut Vec<Value>,
    item: &mut Value,
    field: &PatchMeta<'_>,
    memory: &mut Memory,
) -> Result<(), Fault> {
    let Value::Object(patch) = item else {
        return Ok(()); // the elements are maps
    };
    let Some(value) = patch.get(field.merge_key) else {
        return Err(Fault::no_merge_key(patch, field.merge_key));
    };
    match find(merged, field.merge_key, value)?.and_then(|at| merged.get_mut(at)) {
        Some(Value::Object(here)) => {
            *here = merge_maps(std::mem::take(here), patch, field.ty)?;
        }
        _ => {
            memory.push(item.clone());
            merged.push(item.clone());
        }
    }
    Ok(())
}

/// The first map in a list with this value under its key.
fn find(list: &[Value], key: &str, value: &Value) -> Result<Option<usize>, Fault> {
    for (at, item) in list.iter().enumerate() {
        let Value::Object(map) = item else {
            return Err(Fault::Other(format!("value for key {at} is not a map")));
        };
        if map.get(key) == Some(value) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Elements that a second list has too, by key, and the others.
pub(super) fn partition(
    list: Vec<Value>,
    by: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Fault> {
    let (mut present, mut others) = (Vec::new(), Vec::new());
    for item in list {
        let Value::Object(map) = &item else {
            return Err(Fault::not_a_map(&item));
        };
        let Some(value) = map.get(key) else {
            return Err(Fault::no_merge_key(map, key));
        };
        match find(by, key, value)? {
            Some(_) => present.push(item),
            None => others.push(item),
        }
    }
    Ok((present, others))
}

/// The array behind upstream's original list, whose elements are shifted and overwritten in place
/// while the list is merged.
struct Memory {
    list: Vec<Value>,
    /// So many of its elements are in use.
    used: usize,
}

impl Memory {
    /// Moves what follows up by one. What was last stays where it was, too.
    fn remove(&mut self, at: usize) {
        for i in at + 1..self.used {
            if let Some(moved) = self.list.get(i).cloned()
                && let Some(place) = self.list.get_mut(i - 1)
            {
                *place = moved;
            }
        }
        self.used = self.used.saturating_sub(1);
    }

    fn push(&mut self, item: Value) {
        if let Some(free) = self.list.get_mut(self.used) {
            *free = item;
            self.used += 1;
        }
    }
}

/// Elements of a patch that are no deletions.
pub(super) fn without_deletions(list: &[Value]) -> Result<Vec<Value>, Fault> {
    let mut kept = Vec::new();
    for item in list {
        let Value::Object(map) = item else {
            return Err(Fault::not_a_map(item));
        };
        if !is_deletion(map) {
            kept.push(item.clone());
        }
    }
    Ok(kept)
}

pub(super) fn is_deletion(map: &Object) -> bool {
    map.get(DIRECTIVE)
        .is_some_and(|directive| directive == "delete")
}

/// Whether an element of a list holds a directive.
pub(super) fn has_directive(item: &Value) -> bool {
    item.get(DIRECTIVE).is_some()
}
