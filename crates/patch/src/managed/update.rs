//! Ownership after any write but an apply.
//!
//! Upstream: `fieldmanager.go`, `skipnonapplied.go`, `managedfieldsupdater.go` and `stripmeta.go`
//! of `apimachinery/pkg/util/managedfields/internal`.

use super::cap::cap;
use super::{Id, Operation, Owner, Owners, Refusal, Request, updater};
use crate::fields::Set;
use crate::typed;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;
use stowplan_apimachinery::limits::OWNERS_MAX;
use stowplan_apimachinery::{Edit, View, meta};

/// Writes `metadata.managedFields` of an object that is about to take the place of another, or of
/// nothing (then `live` is `None`). Call it with the object as it was asked for, defaults included
/// and before admission.
///
/// What the object brings in `managedFields` counts as asked for, too: a valid list is taken in place
/// of the live one's, and `[]` or `[{}]` forget all owners. (The canonical form leaves empty lists
/// out: put this one back.) Through a subresource they are ignored.
pub fn update(live: Option<&Value>, new: &mut Value, request: &Request<'_>) {
    let asked = match new.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata.remove("managedFields"),
        _ => return, // no place to write them down
    };
    let asked = asked.unwrap_or_default();
    let live = live.unwrap_or(request.empty);
    let owners = owners_before(live, &asked, request);
    // An object that nobody owned anything of stays so until something is applied to it.
    if owners.list.is_empty() && !meta::uid(live).is_empty() {
        return;
    }
    // Ownership that cannot be worked out is given up.
    let owners = track(live, new, owners, request.manager, request).ok();
    if let Some(entries) = owners.and_then(Owners::encode) {
        new.at_mut("metadata").set("managedFields", entries);
    }
}

/// The owners before the write: those that the request asks for, or else the live object's.
fn owners_before<'a>(live: &'a Value, asked: &'a Value, request: &Request<'_>) -> Owners<'a> {
    let live_owners = || Owners::decode(live.at("metadata").at("managedFields"));
    if !request.subresource.is_empty() {
        return live_owners().unwrap_or_default();
    }
    if is_reset(asked) {
        return Owners::default();
    }
    if asked.as_array().is_some_and(|a| a.len() > OWNERS_MAX) {
        return live_owners().unwrap_or_default();
    }
    match Owners::decode(asked) {
        Ok(owners) if !owners.list.is_empty() => owners,
        _ => live_owners().unwrap_or_default(),
    }
}

/// `[]` or `[{}]`.
fn is_reset(asked: &Value) -> bool {
    match asked.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => one.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Gives what was changed to the manager, together with what it owned before.
pub(super) fn track<'a>(
    live: &'a Value,
    new: &'a Value,
    owners: Owners<'a>,
    manager: &'a str,
    request: &Request<'a>,
) -> Result<Owners<'a>, Refusal> {
    // Built-in types cannot be wrong in ways that the comparison would not notice.
    let unsure = [(new, "new"), (live, "live")];
    for (object, which) in unsure.into_iter().filter(|_| request.ty.name.is_empty()) {
        typed::validate(request.ty, object, true).map_err(|why| {
            let named = request.named(object);
            format!("failed to convert {which} object ({named}) to smd typed: {why}")
        })?;
    }
    let (mut owners, changed) = updater::update(live, new, owners, request)?;
    let changed = changed.difference(&NEVER_OWNED);
    if !changed.is_empty() {
        let id = Id::new(
            manager,
            Operation::Update,
            request.api_version,
            request.subresource,
        );
        let before = owners.take(&id).map(|owner| owner.fields);
        owners.put(Owner {
            id,
            api_version: Cow::Borrowed(request.api_version),
            time: Some(Cow::Borrowed(request.now)),
            fields: changed.union(before.unwrap_or_default()),
        });
    }
    Ok(cap(owners))
}

/// What makes an object that object, or is the server's to say.
pub(super) static NEVER_OWNED: LazyLock<Set<'static>> = LazyLock::new(|| {
    Set::of_paths(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});
