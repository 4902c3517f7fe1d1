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
use std::collections::{HashMap, HashSet};
use stowplan_apimachinery::limits::{ERRORS_TOLD_BYTES_MAX, ERRORS_TOLD_MAX};

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
    let others = |owner: &&Owner<'_>| Some(&owner.id) != writer;
    let versions = owners.list.iter().filter(others);
    let elsewhere = in_versions(live, new, versions, request)?;
    let mut by_version: HashMap<&str, Changes<'_, '_>> = HashMap::new();
    for (version, objects) in &elsewhere {
        if let Some((live, new)) = objects {
            let changes = typed::compare(live.ty, &live.value, &new.value)
                .map_err(|why| format!("failed to compare objects: {why}"))?;
            let changes = match request.versions.reset_together() {
                true => changes.without(&Set::of_paths(request.reset_fields)),
                false => changes,
            };
            by_version.insert(version, Changes::new(Cow::Owned(changes), force));
        }
    }
    by_version.insert(
        request.api_version,
        Changes::new(Cow::Borrowed(&changes), force),
    );
    let mut conflicts = Conflicts::default();
    let mut kept = Vec::with_capacity(owners.list.len());
    for mut owner in std::mem::take(&mut owners.list) {
        if Some(&owner.id) != writer {
            let Some(changes) = by_version.get(owner.api_version.as_ref()) else {
                continue; // nobody speaks that version any more
            };
            conflicts.add(changes.take_from(&mut owner));
            if conflicts.are_enough() {
                break;
            }
        }
        kept.push(owner);
    }
    conflicts.refuse()?;
    drop(by_version);
    kept.retain(|owner| !owner.fields.is_empty());
    owners.list = kept;
    Ok((owners, changes))
}

/// An object before and after a change, in another version; `None` if nobody speaks that any more.
type Elsewhere<'n> = Option<(Object<'n>, Object<'n>)>;

/// The object in the other versions in which somebody owns something, in the order of the owners.
fn in_versions<'o, 'n>(
    live: &Value,
    new: &Value,
    owners: impl Iterator<Item = &'o Owner<'o>>,
    request: &Request<'n>,
) -> Result<Vec<(String, Elsewhere<'n>)>, Refusal> {
    let mut seen = HashSet::from([request.api_version]);
    let mut objects = Vec::new();
    for version in owners.map(|owner| owner.api_version.as_ref()) {
        if !seen.insert(version) {
            continue;
        }
        let live = Object::converted(live, version, request)
            .map_err(|why| format!("failed to convert old object: {why}"))?;
        let new = Object::converted(new, version, request)
            .map_err(|why| format!("failed to convert new object: {why}"))?;
        objects.push((version.to_owned(), live.zip(new)));
    }
    Ok(objects)
}

/// What was changed in one version.
struct Changes<'c, 'n> {
    all: Cow<'c, Comparison<'n>>,
    /// What is there now and was not, or was different. Only where others are asked about it.
    disputed: Option<Set<'n>>,
}

impl<'c, 'n> Changes<'c, 'n> {
    fn new(all: Cow<'c, Comparison<'n>>, force: bool) -> Self {
        let disputed = (!force).then(|| all.modified.clone().union(all.added.clone()));
        Self { all, disputed }
    }

    /// Takes changed fields from an owner. If that needs force and there is none, these are conflicts.
    fn take_from(&self, owner: &mut Owner<'_>) -> Vec<Conflict> {
        let disputed = self.disputed.as_ref();
        let disputed = disputed.map(|changed| owner.fields.intersection(changed));
        if let Some(disputed) = disputed.filter(|disputed| !disputed.is_empty()) {
            let (printed, order) = (owner.id.print(), owner.id.text());
            let conflict = |path| Conflict {
                owner: printed.clone(),
                order: order.clone(),
                path,
            };
            return disputed.paths().into_iter().map(conflict).collect();
        }
        let fields = std::mem::take(&mut owner.fields);
        let fields = fields.difference(&self.all.modified);
        let fields = fields.difference(&self.all.added);
        owner.fields = fields.difference(&self.all.removed);
        Vec::new()
    }
}

/// What stands in the way.
#[derive(Default)]
struct Conflicts {
    list: Vec<Conflict>,
    bytes: usize,
}

impl Conflicts {
    fn add(&mut self, conflicts: Vec<Conflict>) {
        self.list.extend(conflicts);
        self.list.truncate(ERRORS_TOLD_MAX);
        let length =
            |conflict: &Conflict| conflict.path.len() + conflict.owner.len() + conflict.order.len();
        self.bytes = self.list.iter().map(length).sum();
    }

    /// Nobody wants to be told of more.
    fn are_enough(&self) -> bool {
        self.list.len() >= ERRORS_TOLD_MAX || self.bytes > ERRORS_TOLD_BYTES_MAX
    }

    fn refuse(mut self) -> Result<(), Refusal> {
        if self.list.is_empty() {
            return Ok(());
        }
        self.list.sort_by(|a, b| a.order.cmp(&b.order));
        Err(Refusal::Conflicts(self.list))
    }
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
    let mut seen = HashSet::new();
    let all = owners.list.iter().map(|owner| owner.api_version.as_ref());
    let firsts = all.clone().filter(|version| *version == first);
    for version in firsts.chain(all) {
        if seen.insert(version) {
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
    let mut kept = vec![pruned.named_fields()?];
    for owner in &owners.list {
        if owner.api_version == version {
            kept.push(owner.fields.with_named_fields(Some(merged.ty)));
        }
    }
    let kept = Set::union_of(kept);
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
    let mut types = HashMap::from([(request.api_version.to_owned(), Some(request.ty))]);
    for mut owner in std::mem::take(&mut owners.list) {
        let version = owner.api_version.as_ref();
        if !types.contains_key(version) {
            let converted = Object::converted(live, version, request)?;
            types.insert(version.to_owned(), converted.map(|converted| converted.ty));
        }
        let Some(ty) = types.get(version).copied().flatten() else {
            continue;
        };
        if let Some(fields) = typed::reconcile(ty, &owner.fields) {
            owner.fields = fields;
        }
        kept.push(owner);
    }
    owners.list = kept;
    Ok(owners)
}
