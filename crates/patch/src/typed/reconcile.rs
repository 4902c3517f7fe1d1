//! Ownership of what used to be owned in pieces and is now replaced as a whole: the type of a custom
//! resource may change while objects are there.
//!
//! Upstream: `structured-merge-diff/v6/typed/reconcile_schema.go`.

use crate::fields::{Element, Set};
use stowplan_schema::{DEDUCED, ListKind, Object, Scalar, Type};

/// The fields as the type has them now; `None` if nothing is different.
pub(crate) fn reconcile<'a>(ty: &Type, fields: &Set<'a>) -> Option<Set<'a>> {
    let mut whole = Set::new();
    visit(ty, fields, false, &mut Vec::new(), &mut whole);
    if whole.is_empty() {
        return None;
    }
    Some(fields.clone().recursive_difference(&whole).union(whole))
}

/// Collects the fields that have to be owned as a whole. `is_leaf` says that the field is owned
/// and nothing inside it.
fn visit<'a>(
    ty: &Type,
    fields: &Set<'a>,
    is_leaf: bool,
    path: &mut Vec<Element<'a>>,
    whole: &mut Set<'a>,
) {
    if let Some(map) = &ty.map {
        if is_free(map) {
            return;
        }
        if !is_leaf && map.atomic {
            if !fields.is_empty() {
                whole.insert(path);
            }
            return;
        }
    } else if ty.scalar.is_some() {
        return;
    } else if let Some(list) = &ty.list
        && !is_leaf
        && list.kind == ListKind::Atomic
    {
        whole.insert(path);
        return;
    }
    for entry in fields.entries() {
        let inner = match (&ty.map, &entry.element) {
            (Some(map), Element::Field(name)) => map.key(name),
            (Some(map), _) => map.rest.as_deref(),
            (None, _) => ty.item(),
        };
        if let Some(inner) = inner {
            let is_leaf = entry.member && entry.children.is_empty();
            path.push(entry.element.clone());
            visit(inner, &entry.children, is_leaf, path, whole);
            path.pop();
        }
    }
}

/// Maps of anything are left alone.
fn is_free(map: &Object) -> bool {
    map.fields().is_empty()
        && map.rest.as_deref().is_some_and(|rest| {
            std::ptr::eq(rest, &DEDUCED)
                || (rest.name.is_empty() && rest.scalar == Some(Scalar::Untyped) && !map.atomic)
        })
}
