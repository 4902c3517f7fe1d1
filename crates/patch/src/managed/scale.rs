//! Ownership of `replicas`, which an object and its scale share.
//!
//! Upstream: `apimachinery/pkg/util/managedfields/scalehandler.go`.

use super::{Owner, Owners};
use crate::fields::{Element, Set};
use serde_json::Value;
use std::borrow::Cow;

/// The version of scales.
const SCALE_VERSION: &str = "autoscaling/v1";

/// Where replicas are in a scale.
const REPLICAS: &[&str] = &["spec", "replicas"];

/// Where replicas are in the object, by the object's version. `None` for a version that has no
/// scale.
pub type ReplicasPaths<'a> = &'a [(&'a str, Option<&'a [&'a str]>)];

fn path_in<'a>(paths: ReplicasPaths<'a>, api_version: &str) -> Option<Option<&'a [&'a str]>> {
    let found = paths.iter().find(|(version, _)| *version == api_version);
    found.map(|(_, path)| *path)
}

fn elements<'a>(path: &[&'a str]) -> Vec<Element<'a>> {
    path.iter().map(|name| Element::Field(name)).collect()
}

/// `managedFields` of the scale, from those of the object: whoever owns the replicas. `None` if
/// nobody does or the entries cannot be read.
pub fn of_scale(object_entries: &Value, paths: ReplicasPaths<'_>) -> Option<Value> {
    let owners = Owners::decode(object_entries).ok()?;
    let mut scale = Owners::default();
    for owner in owners.list {
        if let Some(Some(path)) = path_in(paths, &owner.api_version)
            && owner.fields.has(&elements(path))
        {
            scale.put(Owner {
                api_version: Cow::Borrowed(SCALE_VERSION),
                fields: Set::of_paths(&[REPLICAS]),
                ..owner
            });
        }
    }
    scale.encode()
}

/// `managedFields` of the object in this version after a write of its scale, from what both had.
pub fn of_object(
    object_entries: &Value,
    scale_entries: &Value,
    api_version: &str,
    paths: ReplicasPaths<'_>,
) -> Option<Value> {
    let owners = Owners::decode(object_entries).ok()?;
    let mut scale = Owners::decode(scale_entries).ok()?;
    let mut out = Owners::default();
    for mut owner in owners.list {
        // Entries in unknown versions are dropped.
        let Some(path) = path_in(paths, &owner.api_version) else {
            continue;
        };
        if let Some(path) = path
            && owner.fields.has(&elements(path))
            && scale.take(&owner.id).is_none()
        {
            // The scale's writer took them.
            owner.fields = owner.fields.difference(&Set::of_paths(&[path]));
            if owner.fields.is_empty() {
                continue;
            }
        }
        out.put(owner);
    }
    let path = path_in(paths, api_version).flatten().unwrap_or_default();
    for owner in scale.list {
        if owner.fields.has(&elements(REPLICAS)) {
            let time = out.get(&owner.id).and_then(|before| before.time.clone());
            out.put(Owner {
                api_version: Cow::Owned(api_version.to_owned()),
                fields: Set::of_paths(&[path]),
                time,
                ..owner
            });
        }
    }
    out.encode()
}
