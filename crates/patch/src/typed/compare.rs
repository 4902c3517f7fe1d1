//! What is different between two objects.
//!
//! Upstream: `structured-merge-diff/v6/typed/compare.go`.

use super::field_set::elements;
use super::{NO_SHAPE, Shape, element, type_under};
use crate::fields::{Element, Set, value};
use serde_json::{Map, Value};
use stowplan_schema::{List, ListKind, Object, Type};

/// The fields in which a second object differs from a first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison<'a> {
    pub(crate) removed: Set<'a>,
    pub(crate) modified: Set<'a>,
    pub(crate) added: Set<'a>,
}

impl<'a> Comparison<'a> {
    /// The same without these fields and what is in them.
    pub(crate) fn without(self, fields: &Set<'_>) -> Self {
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    /// What was found at and below one step.
    fn put(&mut self, element: Element<'a>, found: Found<'a>) {
        let inside = found.inside;
        if found.removed || !inside.removed.is_empty() {
            let element = element.clone();
            self.removed.add(element, found.removed, inside.removed);
        }
        if found.modified || !inside.modified.is_empty() {
            let element = element.clone();
            self.modified.add(element, found.modified, inside.modified);
        }
        self.added.add(element, found.added, inside.added);
    }
}

/// What is different at one place, and inside it.
#[derive(Default)]
struct Found<'a> {
    removed: bool,
    modified: bool,
    added: bool,
    inside: Comparison<'a>,
}

type Side<'a> = Option<&'a Value>;

/// Compares two objects of one type.
pub(crate) fn compare<'a>(
    ty: &'a Type,
    old: &'a Value,
    new: &'a Value,
) -> Result<Comparison<'a>, String> {
    Ok(visit(ty, Some(old), Some(new))?.inside)
}

fn visit<'a>(ty: &'a Type, old: Side<'a>, new: Side<'a>) -> Result<Found<'a>, String> {
    let mut found = Found::default();
    if let (None, Some(new)) = (old, new) {
        found.added = true;
        found.inside.added = all_inside(ty, new)?;
        return Ok(found);
    }
    let (old_shape, new_shape) = (Shape::of(ty, old), Shape::of(ty, new));
    let leaf = if new.is_none() {
        found.visit_shape(old_shape, old, new)?
    } else {
        if old.is_some() && !old_shape.is_like(new_shape) {
            found.visit_shape(old_shape, old, new)?;
        }
        found.visit_shape(new_shape, old, new)?
    };
    if !leaf {
        found.added |= old.is_none();
        found.removed |= new.is_none();
    }
    Ok(found)
}

/// What is inside something that was not there before.
fn all_inside<'a>(ty: &'a Type, new: &'a Value) -> Result<Set<'a>, String> {
    match Shape::of(ty, Some(new)) {
        Shape::Nothing => Err(NO_SHAPE.to_owned()),
        Shape::Map(map) if !map.atomic => {
            let fields = entries(Some(new));
            let mut set = Set::with_room(fields.map_or(0, Map::len));
            for (key, value) in fields.into_iter().flatten() {
                let (ty, _) = type_under(map, key).ok_or(NO_SHAPE)?;
                set.add(Element::Field(key), true, all_inside(ty, value)?);
            }
            Ok(set)
        }
        Shape::List(list) if list.kind != ListKind::Atomic => {
            elements(list, new, |item| all_inside(&list.item, item))
        }
        _ => Ok(Set::new()),
    }
}

impl<'a> Found<'a> {
    /// Says whether the value was compared as a whole.
    fn visit_shape(
        &mut self,
        shape: Shape<'a>,
        old: Side<'a>,
        new: Side<'a>,
    ) -> Result<bool, String> {
        match shape {
            Shape::Nothing => return Err(NO_SHAPE.to_owned()),
            Shape::Scalar(_) => {}
            Shape::Map(map) => {
                let sides = (entries(old), entries(new));
                if !map.atomic && sides != (None, None) {
                    self.visit_map(map, sides.0, sides.1)?;
                    return Ok(false);
                }
            }
            Shape::List(list) => {
                let sides = (items(old), items(new));
                if list.kind != ListKind::Atomic && !(sides.0.is_empty() && sides.1.is_empty()) {
                    self.visit_list(list, sides.0, sides.1)?;
                    return Ok(false);
                }
            }
        }
        match (old, new) {
            (None, _) => self.added = true,
            (_, None) => self.removed = true,
            (Some(old), Some(new)) => self.modified |= !value::equal(old, new),
        }
        Ok(true)
    }

    fn visit_map(
        &mut self,
        map: &'a Object,
        old: Option<&'a Map<String, Value>>,
        new: Option<&'a Map<String, Value>>,
    ) -> Result<(), String> {
        let mut olds = old.into_iter().flatten().peekable();
        let mut news = new.into_iter().flatten().peekable();
        loop {
            // Both are in key order: take the smaller key, from both if they have it.
            let key = match (olds.peek(), news.peek()) {
                (None, None) => return Ok(()),
                (Some((key, _)), None) | (None, Some((key, _))) => *key,
                (Some((old, _)), Some((new, _))) => (*old).min(*new),
            };
            let old = olds.next_if(|entry| entry.0 == key).map(|entry| entry.1);
            let new = news.next_if(|entry| entry.0 == key).map(|entry| entry.1);
            let (ty, _) = type_under(map, key).ok_or(NO_SHAPE)?;
            self.inside.put(Element::Field(key), visit(ty, old, new)?);
        }
    }

    fn visit_list(
        &mut self,
        list: &'a List,
        olds: &'a [Value],
        news: &'a [Value],
    ) -> Result<(), String> {
        let mut all = Vec::with_capacity(olds.len() + news.len());
        for (values, is_new) in [(olds, false), (news, true)] {
            for (i, value) in values.iter().enumerate() {
                let element = element(list, value).map_err(|why| format!("element {i}: {why}"))?;
                all.push((element, is_new, value));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        for group in all.chunk_by_mut(|a, b| a.0 == b.0) {
            self.visit_items(&list.item, group)?;
        }
        Ok(())
    }

    /// Items with the same key: at most one on each side, if there are no duplicates. Duplicates are
    /// owned together, by the key alone.
    fn visit_items(
        &mut self,
        ty: &'a Type,
        items: &mut [(Element<'a>, bool, &'a Value)],
    ) -> Result<(), String> {
        let olds = items.iter().take_while(|item| !item.1).count();
        let news = items.len() - olds;
        let old = items.first().filter(|_| olds > 0).map(|item| item.2);
        let new = items.get(olds).map(|item| item.2);
        let found = match (olds, news) {
            (0 | 1, 0 | 1) => visit(ty, old, new)?,
            (0 | 1, _) => {
                let mut found = match old {
                    Some(_) => visit(ty, old, None)?,
                    None => Found::default(),
                };
                found.added = true;
                found
            }
            (_, 0 | 1) => {
                let mut found = match new {
                    Some(_) => visit(ty, None, new)?,
                    None => Found::default(),
                };
                found.removed = true;
                found
            }
            _ => {
                let (old, new) = items.split_at(olds);
                let same = |(old, new): (&(_, bool, &Value), &(_, bool, &Value))| {
                    value::equal(old.2, new.2)
                };
                Found {
                    modified: olds != news || !old.iter().zip(new).all(same),
                    ..Found::default()
                }
            }
        };
        if let Some((element, ..)) = items.first_mut() {
            let element = std::mem::replace(element, Element::Index(0));
            self.inside.put(element, found);
        }
        Ok(())
    }
}

/// The map in a value, if there is something in it.
fn entries(value: Side<'_>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|map| !map.is_empty())
}

fn items(value: Side<'_>) -> &[Value] {
    let list = value.and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}
