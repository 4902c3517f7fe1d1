//! Server-side apply.
//!
//! Upstream: `fieldmanager.go`, `versioncheck.go`, `skipnonapplied.go`, `managedfieldsupdater.go`
//! and `structuredmerge.go` of `apimachinery/pkg/util/managedfields/internal`.

use super::update::{NEVER_OWNED, track};
use super::{
    Id, Operation, Owner, Owners, Refusal, Request, conflict, group_version_kind, last_applied,
    updater,
};
use crate::typed;
use serde_json::Value;
use std::borrow::Cow;
use stowplan_apimachinery::{Edit, Status, View};

/// Applies a configuration to an object, or to nothing (then `live` is `None`), and writes
/// `metadata.managedFields`.
///
/// `complete` makes an object of what came out of the merge: canonical form and defaults, or says why
/// it cannot. It is not called if nothing changed.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    force: bool,
    request: &Request<'_>,
    complete: impl FnOnce(Value) -> Result<Value, String>,
) -> Result<Value, Status> {
    let live = live.unwrap_or(request.empty);
    let owners = Owners::decode(live.at("metadata").at("managedFields"))
        .map_err(|why| Status::plain_error(format!("failed to decode managed fields: {why}")))?;
    check(config, request)?;
    let merged = match merge(live, config, owners.clone(), force, request) {
        Err(Refusal::Conflicts(conflicts)) if request.manager == last_applied::KUBECTL => {
            let remaining = last_applied::remaining(&conflicts, live, request);
            match remaining.is_empty() {
                true => merge(live, config, owners, true, request),
                false => Err(Refusal::Conflicts(remaining)),
            }
        }
        merged => merged,
    };
    let (merged, owners) = merged.map_err(|refusal| match refusal {
        Refusal::Conflicts(conflicts) => conflict::status(&conflicts),
        Refusal::Error(error) => Status::plain_error(error),
    })?;
    let entries = owners.encode();
    let mut object = match merged {
        Some(merged) => complete(merged).map_err(|why| {
            let (named, kind) = (request.named(config), request.group_version_kind());
            Status::plain_error(format!(
                "failed to convert new object ({named}) to proper version: unable to convert unstructured object to {kind}: {why}"
            ))
        })?,
        None => live.clone(),
    };
    if request.manager == last_applied::KUBECTL {
        last_applied::record(&mut object, config);
    }
    match entries {
        Some(entries) => object.at_mut("metadata").set("managedFields", entries),
        None => {
            object.at_mut("metadata").unset("managedFields");
        }
    }
    Ok(object)
}

/// What is applied must be of the kind of the request and must not decide who owns what.
fn check(config: &Value, request: &Request<'_>) -> Result<(), Status> {
    let (api_version, kind) = (config.text("apiVersion"), config.text("kind"));
    if api_version != request.api_version || kind != request.kind {
        let named = group_version_kind(api_version, kind);
        return Err(Status::bad_request(format!("invalid object type: {named}")));
    }
    if config.at("metadata").at("managedFields").is_array() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// The new object, or `None` if it is the old one, and its owners.
type Merged<'a> = (Option<Value>, Owners<'a>);

fn merge<'a>(
    live: &'a Value,
    config: &'a Value,
    mut owners: Owners<'a>,
    force: bool,
    request: &Request<'a>,
) -> Result<Merged<'a>, Refusal> {
    if owners.list.is_empty() {
        owners = track(request.empty, live, owners, "before-first-apply", request).map_err(
            |refusal| match refusal {
                Refusal::Error(why) => {
                    format!("failed to create manager for existing fields: {why}").into()
                }
                conflicts => conflicts,
            },
        )?;
    }
    for (object, which, allow_duplicates) in [(config, "patch", false), (live, "live", true)] {
        typed::validate(request.ty, object, allow_duplicates).map_err(|why| {
            let named = request.named(object);
            format!("failed to create typed {which} object ({named}): {why}")
        })?;
    }
    let id = Id::new(
        request.manager,
        Operation::Apply,
        request.api_version,
        request.subresource,
    );
    let (new, mut owners) = updater::apply(live, config, owners, &id, force, request)?;
    if let Some(owner) = owners.take(&id) {
        let fields = owner.fields.difference(&NEVER_OWNED);
        if !fields.is_empty() {
            owners.put(Owner {
                time: match new {
                    Some(_) => Some(Cow::Borrowed(request.now)),
                    None => owner.time,
                },
                fields,
                ..owner
            });
        }
    }
    Ok((new, owners))
}
