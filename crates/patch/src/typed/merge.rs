//! One object laid over another.
//!
//! Upstream: `structured-merge-diff/v6/typed/merge.go`.

use super::{NO_SHAPE, Shape, element};
use crate::fields::Element;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stowplan_schema::{List, ListKind, Object, Type};

type Side<'a> = Option<&'a Value>;

/// All fields of both objects, with the values of `over` where both have one.
pub(crate) fn merge(ty: &Type, under: &Value, over: &Value) -> Result<Value, String> {
    Ok(visit(ty, Some(under), Some(over))?.unwrap_or(Value::Null))
}

fn visit(ty: &Type, under: Side<'_>, over: Side<'_>) -> Result<Option<Value>, String> {
    let shape = match over {
        Some(_) => Shape::of(ty, over),
        None => Shape::of(ty, under),
    };
    match shape {
        Shape::Nothing => return Err(NO_SHAPE.to_owned()),
        Shape::Scalar(_) => {}
        Shape::Map(object) => {
            let sides = (entries(under), entries(over));
            if !object.atomic && sides != (None, None) {
                return merge_maps(object, sides.0, sides.1);
            }
        }
        Shape::List(list) => {
            let (under, over) = (items(under), items(over));
            if list.kind != ListKind::Atomic && !(under.is_empty() && over.is_empty()) {
                return merge_lists(list, under, over);
            }
        }
    }
    Ok(over.or(under).cloned())
}

fn merge_maps(
    object: &Object,
    under: Option<&Map<String, Value>>,
    over: Option<&Map<String, Value>>,
) -> Result<Option<Value>, String> {
    let mut out = Map::new();
    for (key, value) in under.into_iter().flatten() {
        let ty = object.key(key).ok_or(NO_SHAPE)?;
        let over = over.and_then(|over| over.get(key));
        if let Some(merged) = visit(ty, Some(value), over)? {
            out.insert(key.clone(), merged);
        }
    }
    for (key, value) in over.into_iter().flatten() {
        if under.is_none_or(|under| !under.contains_key(key)) {
            let ty = object.key(key).ok_or(NO_SHAPE)?;
            if let Some(merged) = visit(ty, None, Some(value))? {
                out.insert(key.clone(), merged);
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Object(out)))
}

/// The elements of a list in order, and where to find each.
struct Index<'a> {
    elements: Vec<Element<'a>>,
    /// `Null` for elements that share a key: they are not merged with anything.
    values: BTreeMap<Element<'a>, &'a Value>,
}

static NULL: Value = Value::Null;

impl<'a> Index<'a> {
    fn of(list: &'a List, items: &'a [Value], allow_duplicates: bool) -> Result<Self, String> {
        let mut index = Self {
            elements: Vec::with_capacity(items.len()),
            values: BTreeMap::new(),
        };
        for (i, item) in items.iter().enumerate() {
            let element = element(list, item).map_err(|why| format!("element {i}: {why}"))?;
            let seen = index.values.contains_key(&element);
            if seen && !allow_duplicates {
                let mut key = String::new();
                element.print(&mut key);
                return Err(format!("duplicate entries for key {key}"));
            }
            let value = if seen { &NULL } else { item };
            index.values.insert(element.clone(), value);
            index.elements.push(element);
        }
        Ok(index)
    }
}

/// Elements of both lists. Those that both have keep the order of `over`; the others stay near
/// their neighbours.
fn merge_lists(list: &List, under: &[Value], over: &[Value]) -> Result<Option<Value>, String> {
    let overs = Index::of(list, over, false)?;
    let unders = Index::of(list, under, true)?;
    let mut shared: VecDeque<&Element<'_>> = overs
        .elements
        .iter()
        .filter(|element| unders.values.contains_key(element))
        .collect();
    let mut next_shared = shared.pop_front();
    let mut merged: BTreeSet<&Element<'_>> = BTreeSet::new();
    let mut out = Vec::with_capacity(under.len().max(over.len()));
    let mut push = |under: Side<'_>, over: Side<'_>| -> Result<(), String> {
        out.extend(visit(&list.item, under, over)?);
        Ok(())
    };
    let both = |element: &Element<'_>| {
        let (under, over) = (unders.values.get(element), overs.values.get(element));
        (under.copied(), over.copied())
    };
    let (mut u, mut o) = (0, 0);
    loop {
        let (ours, theirs) = (unders.elements.get(u), overs.elements.get(o));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            if ours == theirs {
                merged.insert(ours);
                let (under, over) = both(ours);
                push(under, over)?;
                (u, o) = (u + 1, o + 1);
                next_shared = shared.pop_front();
                continue;
            }
            let wanted = next_shared.is_none_or(|next| next == ours);
            if overs.values.contains_key(ours) && !wanted {
                u += 1; // its turn comes with its place in `over`
                continue;
            }
        }
        if let Some(ours) = ours {
            if !overs.values.contains_key(ours) {
                push(under.get(u), None)?;
                u += 1;
                continue;
            }
            if merged.contains(ours) {
                u += 1;
            }
        }
        match theirs {
            Some(theirs) => {
                merged.insert(theirs);
                let (under, over) = both(theirs);
                push(under, over)?;
                o += 1;
                if next_shared == Some(theirs) {
                    next_shared = shared.pop_front();
                }
            }
            None if ours.is_none() => break,
            None => {}
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}

fn entries(value: Side<'_>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|map| !map.is_empty())
}

fn items(value: Side<'_>) -> &[Value] {
    let list = value.and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}
