//! All fields that an object mentions.
//!
//! Upstream: `structured-merge-diff/v6/typed/tofieldset.go`.

use super::{NO_SHAPE, Shape, element, type_under};
use crate::fields::{Element, Set};
use serde_json::Value;
use stowplan_schema::{List, ListKind, Object, Type};

/// The leaves of an object, the elements of its lists, and the keys of its maps.
pub(crate) fn field_set<'a>(ty: &'a Type, value: &'a Value) -> Result<Set<'a>, String> {
    Ok(visit(ty, value)?.1)
}

/// Whether the place itself is in the set, and what is inside it.
fn visit<'a>(ty: &'a Type, value: &'a Value) -> Result<(bool, Set<'a>), String> {
    match Shape::of(ty, Some(value)) {
        Shape::Nothing => Err(NO_SHAPE.to_owned()),
        Shape::Scalar(_) => Ok((true, Set::new())),
        Shape::Map(map) if map.atomic => Ok((true, Set::new())),
        Shape::Map(map) => Ok((false, visit_map(map, value)?)),
        Shape::List(list) if list.kind == ListKind::Atomic => Ok((true, Set::new())),
        Shape::List(list) => {
            let inside = |item| Ok(visit(&list.item, item)?.1);
            Ok((false, elements(list, value, inside)?))
        }
    }
}

fn visit_map<'a>(map: &'a Object, value: &'a Value) -> Result<Set<'a>, String> {
    let mut set = Set::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let (ty, declared) = type_under(map, key).ok_or(NO_SHAPE)?;
        let (member, inside) = visit(ty, value)?;
        let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        let member = member || empty || !declared;
        set.add(Element::Field(key), member, inside);
    }
    Ok(set)
}

/// The elements of a list that can be told apart, and what is inside them. Those that share a key are in
/// it by the key alone.
pub(super) fn elements<'a>(
    list: &'a List,
    value: &'a Value,
    inside: impl Fn(&'a Value) -> Result<Set<'a>, String>,
) -> Result<Set<'a>, String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let element = element(list, item).map_err(|why| format!("element {i}: {why}"))?;
        all.push((element, item));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let mut set = Set::new();
    let mut all = all.into_iter().peekable();
    while let Some((element, item)) = all.next() {
        let inside = match all.peek().is_none_or(|next| next.0 != element) {
            true => inside(item)?,
            false => Set::new(),
        };
        while all.next_if(|next| next.0 == element).is_some() {}
        set.add(element, true, inside);
    }
    Ok(set)
}
