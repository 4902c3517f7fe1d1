//! Who owns what after a write.
//!
//! Upstream: `structured-merge-diff/v6/merge/update.go`.

use super::object::Object;
use super::owner::{Id, Owner, Owners};
use super::{Conflict, Refusal, Request};
use crate::fields::{Set, value};
use crate::typed::{self, Comparison};
use serde_json::Value;
use std::borrow::Cow;

/// After a write that was no apply: what others own of it, and what the writer does. Fields that
/// were changed are the writer's alone, fields that are gone are nobody's.
pub(super) fn update<'a>(
    live: &'a Value,
    new: &'a Value,
    owners: Owners<'a>,
    request: &Request<'a>,
) -> Result<(Owners<'a>, Set<'a>), Refusal> {
    let owners = reconcile(live, owners, request)?;
    let (owners, changes) = settle(live, new, owners, None, true, request)?;
    Ok((owners, changes.modified.union(changes.added)))
}

/// Lays a configuration over an object. `None` in place of the new object says that nothing changed.
pub(super) fn apply<'a>(
    live: &'a Value,
    config: &'a Value,
    owners: Owners<'a>,
    applier: &Id<'a>,
    force: bool,
    request: &Request<'a>,
) -> Result<(Option<Value>, Owners<'a>), Refusal> {
    let mut owners = reconcile(live, owners, request)?;
    let merged = typed::merge(request.ty, live, config)
        .map_err(|why| format!("failed to merge config: {why}"))?;
    let wanted = typed::field_set(request.ty, config)
        .map_err(|why| format!("failed to get field set: {why}"))?;
    let last = owners.get(applier).cloned();
    owners.put(Owner {
        id: applier.clone(),
        api_version: Cow::Borrowed(request.api_version),
        time: last.as_ref().and_then(|last| last.time.clone()),
        fields: wanted.recursive_difference(&Set::of_paths(request.reset_fields)),
    });
    let new = match last {
        Some(last) if !last.fields.is_empty() => prune(merged, &owners, &last, request)
            .map_err(|why| format!("failed to prune fields: {why}"))?,
        _ => merged,
    };
    let (owners, _) = settle(live, &new, owners, Some(applier), force, request)?;
    let same = value::equal(live, &new);
    Ok(((!same).then_some(new), owners))
}

/// Takes from the others what was changed, or says who stands in the way.
fn settle<'a, 'n>(
    live: &'n Value,
    new: &'n Value,
    mut owners: Owners<'a>,
    writer: Option<&Id<'_>>,
    force: bool,
    request: &Request<'n>,
) -> Result<(Owners<'a>, Comparison<'n>), Refusal> {
    let changes = typed::compare(request.ty, live, new)
        .map_err(|why| format!("failed to compare objects: {why}"))?
        .without(&Set::of_paths(request.reset_fields));
    let mut conflicts = Vec::new();
    let mut kept = Vec::with_capacity(owners.list.len());
    for mut owner in std::mem::take(&mut owners.list) {
        if Some(&owner.id) == writer {
            kept.push(owner);
            continue;
        }
        if owner.api_version == request.api_version {
            conflicts.extend(take(&mut owner, &changes, force));
        } else {
            let version = owner.api_version.as_ref();
            let (Some(live), Some(new)) = (
                Object::converted(live, version, request)
                    .map_err(|why| format!("failed to convert old object: {why}"))?,
                Object::converted(new, version, request)
                    .map_err(|why| format!("failed to convert new object: {why}"))?,
            ) else {
                continue; // nobody speaks that version any more
            };
            let changes = typed::compare(live.ty, &live.value, &new.value)
                .map_err(|why| format!("failed to compare objects: {why}"))?;
            let changes = match request.versions.reset_together() {
                true => changes.without(&Set::of_paths(request.reset_fields)),
                false => changes,
            };
            conflicts.extend(take(&mut owner, &changes, force));
        }
        kept.push(owner);
    }
    if !conflicts.is_empty() {
        conflicts.sort_by(|a: &Conflict, b| a.order.cmp(&b.order));
        return Err(Refusal::Conflicts(conflicts));
    }
    kept.retain(|owner| !owner.fields.is_empty());
    owners.list = kept;
    Ok((owners, changes))
}

/// Takes changed fields from an owner. If that needs force and there is none, these are conflicts.
fn take(owner: &mut Owner<'_>, changes: &Comparison<'_>, force: bool) -> Vec<Conflict> {
    if !force {
        let changed = changes.modified.clone().union(changes.added.clone());
        let disputed = owner.fields.intersection(&changed);
        if !disputed.is_empty() {
            let (printed, order) = (owner.id.print(), owner.id.text());
            let conflict = |path| Conflict {
                owner: printed.clone(),
                order: order.clone(),
                path,
            };
            return disputed.paths().into_iter().map(conflict).collect();
        }
    }
    let fields = std::mem::take(&mut owner.fields);
    let fields = fields.difference(&changes.modified);
    let fields = fields.difference(&changes.added);
    owner.fields = fields.difference(&changes.removed);
    Vec::new()
}

/// Takes away what the applier applied last time and not this time, unless somebody else owns it.
fn prune(
    merged: Value,
    owners: &Owners<'_>,
    last: &Owner<'_>,
    request: &Request<'_>,
) -> Result<Value, String> {
    let version = last.api_version.as_ref();
    let merged = Object::new(merged, request);
    let Some(converted) = merged.convert(version, request)? else {
        return Ok(merged.value);
    };
    let last_fields = last.fields.with_named_fields(Some(converted.ty));
    let mut pruned = converted.without(&last_fields);
    for version in versions(owners, version) {
        let (Some(merged), Some(rest)) = (
            converted.convert(version, request)?,
            pruned.convert(version, request)?,
        ) else {
            continue;
        };
        pruned = add_back_owned(&merged, &rest, version, owners)?;
    }
    let pruned = match pruned.convert(version, request)? {
        Some(pruned) => add_back_others(&converted, &pruned, &last_fields)?,
        None => converted,
    };
    match pruned.convert(request.api_version, request)? {
        Some(pruned) => Ok(pruned.value),
        None => Err(format!("no conversion to {}", request.api_version)),
    }
}

/// The versions in which something is owned, beginning with the one given.
fn versions<'o>(owners: &'o Owners<'_>, first: &'o str) -> Vec<&'o str> {
    let mut versions = Vec::new();
    let all = owners.list.iter().map(|owner| owner.api_version.as_ref());
    if all.clone().any(|version| version == first) {
        versions.push(first);
    }
    for version in all {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// Adds what was pruned and is owned by somebody in this version.
fn add_back_owned<'a>(
    merged: &Object<'a>,
    pruned: &Object<'_>,
    version: &str,
    owners: &Owners<'_>,
) -> Result<Object<'a>, String> {
    let mut kept = pruned.named_fields()?;
    for owner in &owners.list {
        if owner.api_version == version {
            kept = kept.union(owner.fields.with_named_fields(Some(merged.ty)));
        }
    }
    Ok(merged.without(&merged.named_fields()?.difference(&kept)))
}

/// Adds what was pruned and did not belong to the applier.
fn add_back_others<'a>(
    merged: &Object<'a>,
    pruned: &Object<'_>,
    last_fields: &Set<'_>,
) -> Result<Object<'a>, String> {
    let gone = merged.named_fields()?.difference(&pruned.named_fields()?);
    Ok(merged.without(&gone.intersection(last_fields)))
}

/// Ownership as the types are now, see `typed::reconcile`.
fn reconcile<'a>(
    live: &Value,
    mut owners: Owners<'a>,
    request: &Request<'_>,
) -> Result<Owners<'a>, Refusal> {
    let mut kept = Vec::with_capacity(owners.list.len());
    for mut owner in std::mem::take(&mut owners.list) {
        let ty = if owner.api_version == request.api_version {
            request.ty
        } else {
            match Object::converted(live, &owner.api_version, request)? {
                Some(converted) => converted.ty,
                None => continue,
            }
        };
        if let Some(fields) = typed::reconcile(ty, &owner.fields) {
            owner.fields = fields;
        }
        kept.push(owner);
    }
    owners.list = kept;
    Ok(owners)
}
