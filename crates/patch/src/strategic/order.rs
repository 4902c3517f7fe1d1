//! The order of merged lists.

use super::fault::Fault;
use super::lists::{
    Elements, element_type, has_directive, is_deletion, merge_lists, partition, without_deletions,
};
use super::lookup::list_field;
use super::stable::stable_sort;
use super::{Object, SET_ELEMENT_ORDER, list_name, without_directives};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use stowplan_apimachinery::go;
use stowplan_schema::Type;

/// Merges every list that the patch gives an order for.
pub(super) fn order_lists(
    original: &mut Object,
    patch: &mut Object,
    ty: Option<&Type>,
) -> Result<(), Fault> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(Fault::not_a_list(&order));
        };
        let name = list_name(&directive, SET_ELEMENT_ORDER).ok_or(Fault::ELEMENT_ORDER)?;
        if let Some(list) = ordered_list(original, patch, name, &order, ty)? {
            original.insert(name.to_owned(), Value::Array(list));
            patch.remove(name);
        }
    }
    Ok(())
}

/// The merged list in this order; `None` if neither side has the list.
fn ordered_list(
    original: &Object,
    patch: &mut Object,
    name: &str,
    order: &[Value],
    ty: Option<&Type>,
) -> Result<Option<Vec<Value>>, Fault> {
    let here = match original.get(name) {
        Some(Value::Array(list)) => Some(list),
        Some(other) => return Err(Fault::not_a_list(other)),
        None => None,
    };
    let there = match patch.get_mut(name) {
        Some(Value::Array(list)) => Some(list),
        Some(other) => return Err(Fault::not_a_list(other)),
        None => None,
    };
    let field = list_field(ty, name)?;
    let key = field.merge_key;
    let patched = there.as_deref().cloned().unwrap_or_default();
    check_order(&patched, order, key)?;
    let (merged, server_order) = match (here, there) {
        (None, None) => return Ok(None),
        (Some(here), None) => (here.clone(), here.clone()),
        (None, Some(there)) => {
            let kept = there.iter_mut().filter_map(without_directives);
            (kept.collect(), Vec::new())
        }
        (Some(here), Some(there)) if field.strategy == "merge" => {
            let merged = merge_lists(here.clone(), there, &field, false)?;
            (merged.list, merged.original)
        }
        (Some(here), Some(there)) => (there.clone(), here.clone()),
    };
    let (in_patch, others) = match key.is_empty() {
        true => {
            let order: HashSet<&Value> = order.iter().collect();
            merged.into_iter().partition(|item| order.contains(item))
        }
        false => partition(merged, order, key)?,
    };
    let elements = element_type(&server_order, &patched)?;
    normalize(in_patch, others, order, &server_order, key, elements).map(Some)
}

/// What the patch sets has to be in the order, and in that order.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Fault> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let kept = match key.is_empty() {
        true => patch.to_vec(),
        false => without_deletions(patch)?,
    };
    let mut kept = kept.iter().peekable();
    let mut orders = order.iter().peekable();
    while let (Some(item), Some(wanted)) = (kept.peek(), orders.peek()) {
        if has_directive(item) {
            kept.next();
            continue;
        }
        if same_key(item, wanted, key)? {
            kept.next();
        }
        orders.next();
    }
    if kept.peek().is_some() && orders.peek().is_none() {
        return Err(Fault::Other(format!(
            "The order in patch list:\n{}\n doesn't match {SET_ELEMENT_ORDER} list:\n{}\n",
            go::plain(&Value::Array(patch.to_vec())),
            go::plain(&Value::Array(order.to_vec()))
        )));
    }
    Ok(())
}

fn same_key(a: &Value, b: &Value, key: &str) -> Result<bool, Fault> {
    if key.is_empty() {
        return Ok(a == b);
    }
    let (Value::Object(first), Value::Object(second)) = (a, b) else {
        let other = if a.is_object() { b } else { a };
        return Err(Fault::not_a_map(other));
    };
    match (first.get(key), second.get(key)) {
        (None, _) => Err(Fault::no_merge_key(first, key)),
        (_, None) => Err(Fault::no_merge_key(second, key)),
        (a, b) => Ok(a == b),
    }
}

/// Puts the elements of the patch in the order of the patch, the others in the order of the server,
/// and both together such that the others stay before what they were before.
pub(super) fn normalize(
    in_patch: Vec<Value>,
    others: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: &str,
    elements: Elements,
) -> Result<Vec<Value>, Fault> {
    let in_patch = sort(in_patch, patch_order, key, elements)?;
    let others = sort(others, server_order, key, elements)?;
    let places = Places::new(server_order, key, elements);
    let mut out = Vec::with_capacity(in_patch.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in in_patch {
        let place = places.of(&item);
        while let Some(other) = others.peek() {
            let before = places
                .of(other)
                .zip(place)
                .is_some_and(|(other, item)| other < item);
            if !before {
                break;
            }
            out.extend(others.next());
        }
        out.push(item);
    }
    out.extend(others);
    Ok(out)
}

/// Sorts a list by the places of its elements in another. Deletions go to the end.
fn sort(
    list: Vec<Value>,
    order: &[Value],
    key: &str,
    elements: Elements,
) -> Result<Vec<Value>, Fault> {
    let (mut list, deletions) = match elements {
        Elements::Scalars => (list, Vec::new()),
        Elements::Maps => {
            for item in list.iter().chain(order) {
                match item {
                    Value::Object(map) if map.contains_key(key) => {}
                    Value::Object(map) => return Err(Fault::no_merge_key(map, key)),
                    other => return Err(Fault::not_a_map(other)),
                }
            }
            list.into_iter()
                .partition(|item| !item.as_object().is_some_and(is_deletion))
        }
    };
    let places = Places::new(order, key, elements);
    let mut placed: Vec<Placed> = list
        .drain(..)
        .map(|item| (places.of(&item), item))
        .collect();
    match placed.iter().all(|(place, _)| place.is_some()) {
        true => placed.sort_by_key(|(place, _)| *place),
        false => stable_sort(&mut placed, &|a: &Placed, b: &Placed| match (a.0, b.0) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        }),
    }
    list.extend(placed.into_iter().map(|(_, item)| item));
    list.extend(deletions);
    Ok(list)
}

/// An element, and its place in the order if it has one.
type Placed = (Option<usize>, Value);

/// Where in a list each element is, by key; the first place counts.
struct Places<'a> {
    places: HashMap<String, usize>,
    key: &'a str,
    elements: Elements,
}

impl<'a> Places<'a> {
    fn new(list: &[Value], key: &'a str, elements: Elements) -> Self {
        let mut new = Self {
            places: HashMap::with_capacity(list.len()),
            key,
            elements,
        };
        for (i, item) in list.iter().enumerate() {
            let key = new.key_of(item);
            new.places.entry(key).or_insert(i);
        }
        new
    }

    fn of(&self, item: &Value) -> Option<usize> {
        self.places.get(&self.key_of(item)).copied()
    }

    /// Equal values are written alike, for maps are kept in order; nothing is written like no value.
    fn key_of(&self, item: &Value) -> String {
        match self.elements {
            Elements::Scalars => item.to_string(),
            Elements::Maps => item
                .get(self.key)
                .map_or_else(String::new, Value::to_string),
        }
    }
}
