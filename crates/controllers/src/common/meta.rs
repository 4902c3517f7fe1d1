//! What the metadata of an object says.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::collections::BTreeMap;
use stowplan_cache::Object;

/// No labels, or no annotations.
static NONE: BTreeMap<String, String> = BTreeMap::new();

/// The name.
pub fn name<K: Object>(object: &K) -> &str {
    object.metadata().name.as_deref().unwrap_or_default()
}

/// The namespace; empty for objects that have none.
pub fn namespace<K: Object>(object: &K) -> &str {
    object.metadata().namespace.as_deref().unwrap_or_default()
}

/// The uid.
pub fn uid<K: Object>(object: &K) -> &str {
    object.metadata().uid.as_deref().unwrap_or_default()
}

/// All labels.
pub fn labels<K: Object>(object: &K) -> &BTreeMap<String, String> {
    object.metadata().labels.as_ref().unwrap_or(&NONE)
}

/// The value of a label.
pub fn label<'a, K: Object>(object: &'a K, key: &str) -> Option<&'a str> {
    labels(object).get(key).map(String::as_str)
}

/// All annotations.
pub fn annotations<K: Object>(object: &K) -> &BTreeMap<String, String> {
    object.metadata().annotations.as_ref().unwrap_or(&NONE)
}

/// The value of an annotation.
pub fn annotation<'a, K: Object>(object: &'a K, key: &str) -> Option<&'a str> {
    annotations(object).get(key).map(String::as_str)
}

/// All finalizers.
pub fn finalizers<K: Object>(object: &K) -> &[String] {
    object.metadata().finalizers.as_deref().unwrap_or_default()
}

/// When it was made.
pub fn created_at<K: Object>(object: &K) -> Option<Timestamp> {
    object.metadata().creation_timestamp.as_ref().map(|at| at.0)
}

/// Whether somebody has deleted it.
pub fn is_deleting<K: Object>(object: &K) -> bool {
    object.metadata().deletion_timestamp.is_some()
}

/// The owner that controls it. Upstream's `GetControllerOf`.
pub fn controller_of<K: Object>(object: &K) -> Option<&OwnerReference> {
    let mut owners = object.metadata().owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Whether `owner` controls it. Upstream's `IsControlledBy`.
pub fn is_controlled_by<K: Object, O: Object>(object: &K, owner: &O) -> bool {
    controller_of(object).is_some_and(|controller| controller.uid == uid(owner))
}

/// An owner reference that says that `owner` controls. Upstream's `NewControllerRef`.
pub fn controller_ref<O: Object>(owner: &O) -> OwnerReference {
    OwnerReference {
        api_version: O::API_VERSION.to_owned(),
        kind: O::KIND.to_owned(),
        name: name(owner).to_owned(),
        uid: uid(owner).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
