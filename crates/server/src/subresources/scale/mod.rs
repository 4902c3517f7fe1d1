//! `scale` of workloads: replicas alone, in a form that all of them share.

mod rules;

use crate::answer::Answer;
use crate::api::Api;
use crate::request::{Request, Target};
use crate::{negotiate, storage, transform};
use serde_json::Value;
use stowplan_kinds::common::metadata;
use stowplan_machinery::field::Path;
use stowplan_machinery::meta::GroupResource;
use stowplan_machinery::{Edit, Status, View, names};
use stowplan_merge::managed;

/// Where workloads have their replicas, by their version.
const REPLICAS: managed::scale::ReplicasPaths<'_> = &[
    ("apps/v1", Some(&["spec", "replicas"])),
    ("apps/v1beta1", Some(&["spec", "replicas"])),
    ("apps/v1beta2", Some(&["spec", "replicas"])),
    ("extensions/v1beta1", Some(&["spec", "replicas"])),
    ("v1", Some(&["spec", "replicas"])),
];

/// Answers a GET.
pub(super) fn get(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let entry = api.store().get(target.key().as_bytes());
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    let entry = entry.ok_or_else(missing)?;
    let object = storage::object(&entry);
    transform::object(api, request, target, 200, &rules::of(&object), output)
}

/// The scale that a write is made to in place of the object.
pub(crate) struct Scale {
    resource: GroupResource,
}

impl Scale {
    /// Of a target, if that is its subresource.
    pub(crate) fn of(target: &Target) -> Option<Self> {
        (target.subresource == "scale").then(|| Self {
            resource: target.group_resource(),
        })
    }

    /// The scale of an object, as an answer.
    pub(crate) fn answer(object: &Value) -> Value {
        rules::of(object)
    }

    /// The scale of an object, to be changed: with its owners.
    pub(crate) fn show(&self, object: &Value) -> Value {
        let mut scale = rules::of(object);
        let owners = object.at("metadata").at("managedFields");
        if let Some(owners) = managed::scale::of_scale(owners, REPLICAS) {
            scale.at_mut("metadata").set("managedFields", owners);
        }
        scale
    }

    /// The object with what the client asked for.
    pub(crate) fn merge(&self, object: &Value, scale: &Value) -> Result<Value, Status> {
        let place = Path::new("metadata");
        let name = |text: &str, _: bool| names::dns1123_subdomain(text);
        let faults = metadata::validate(scale.at("metadata"), true, &name, &place);
        let mut merged = rules::merge(object, scale, &self.resource, faults)?;
        let owners = managed::scale::of_object(
            object.at("metadata").at("managedFields"),
            scale.at("metadata").at("managedFields"),
            object.text("apiVersion"),
            REPLICAS,
        );
        let metadata = merged.at_mut("metadata");
        match owners {
            Some(owners) => metadata.set("managedFields", owners),
            None => drop(metadata.unset("managedFields")),
        }
        Ok(merged)
    }
}
