//! `scale` of workloads: replicas alone, in a form that all of them share.

mod rules;

use crate::answer::Answer;
use crate::api::Api;
use crate::crd::Custom;
use crate::request::{Request, Target};
use crate::{negotiate, transform};
use serde_json::Value;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Edit, Status, View, names};
use stowplan_kinds::common::metadata;
use stowplan_patch::managed;

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
    let object = target.object(&entry);
    let scale = match custom(target) {
        None => rules::of(&object),
        Some((_, custom)) => match custom.show(&object)? {
            (scale, true) => scale,
            (_, false) => return Err(custom.missing()),
        },
    };
    transform::object(api, request, target, 200, &scale, output)
}

/// The scale that a custom resource has, and the resource.
fn custom(target: &Target) -> Option<(&Custom, &stowplan_crd::Scale)> {
    let custom = target.resource.custom()?;
    Some((custom, custom.version.scale.as_ref()?))
}

/// The scale that a write is made to in place of the object.
pub(crate) struct Scale<'a> {
    resource: GroupResource,
    custom: Option<(&'a Custom, &'a stowplan_crd::Scale)>,
}

/// Stands for replicas that an object does not mention.
const NO_REPLICAS: i64 = i32::MIN as i64;

impl<'a> Scale<'a> {
    /// Of a target, if that is its subresource.
    pub(crate) fn of(target: &'a Target) -> Option<Self> {
        (target.subresource == "scale").then(|| Self {
            resource: target.group_resource(),
            custom: custom(target),
        })
    }

    /// The scale of an object, as an answer.
    pub(crate) fn answer(&self, object: &Value) -> Result<Value, Status> {
        match self.custom {
            None => Ok(rules::of(object)),
            Some((_, custom)) => Ok(custom.show(object)?.0),
        }
    }

    /// The scale of an object, to be changed: with its owners.
    pub(crate) fn show(&self, object: &Value) -> Result<Value, Status> {
        let mut scale = match self.custom {
            None => rules::of(object),
            Some((_, custom)) => match custom.show(object)? {
                (scale, true) => scale,
                (mut scale, false) => {
                    scale.at_mut("spec").set("replicas", NO_REPLICAS);
                    scale
                }
            },
        };
        let owners = object.at("metadata").at("managedFields");
        let owners = self.with_paths(|paths| managed::scale::of_scale(owners, paths));
        if let Some(owners) = owners {
            scale.at_mut("metadata").set("managedFields", owners);
        }
        Ok(scale)
    }

    /// Runs something that has to know where replicas are.
    fn with_paths<T>(&self, run: impl FnOnce(managed::scale::ReplicasPaths<'_>) -> T) -> T {
        let Some((custom, _)) = self.custom else {
            return run(REPLICAS);
        };
        let versions = custom.definition.versions.iter();
        let keys: Vec<_> = versions
            .map(|v| {
                let keys = v.scale.as_ref().map(stowplan_crd::Scale::replicas_path);
                (v.api_version.as_str(), keys)
            })
            .collect();
        let paths: Vec<_> = keys.iter().map(|(v, keys)| (*v, keys.as_deref())).collect();
        run(&paths)
    }

    /// The object with what the client asked for.
    pub(crate) fn merge(&self, object: &Value, scale: &Value) -> Result<Value, Status> {
        let mut merged = match self.custom {
            None => self.merge_workload(object, scale)?,
            Some((_, custom)) => merge_custom(custom, object, scale)?,
        };
        let owners = self.with_paths(|paths| {
            managed::scale::of_object(
                object.at("metadata").at("managedFields"),
                scale.at("metadata").at("managedFields"),
                object.text("apiVersion"),
                paths,
            )
        });
        let metadata = merged.at_mut("metadata");
        match owners {
            Some(owners) => metadata.set("managedFields", owners),
            None => drop(metadata.unset("managedFields")),
        }
        Ok(merged)
    }

    fn merge_workload(&self, object: &Value, scale: &Value) -> Result<Value, Status> {
        let place = Path::new("metadata");
        let name = |text: &str, _: bool| names::dns1123_subdomain(text);
        let faults = metadata::validate(scale.at("metadata"), true, &name, &place);
        rules::merge(object, scale, &self.resource, faults)
    }
}

/// Upstream: `scaleUpdatedObjectInfo` in `pkg/registry/customresource/etcd.go`.
fn merge_custom(
    custom: &stowplan_crd::Scale,
    object: &Value,
    scale: &Value,
) -> Result<Value, Status> {
    let replicas = scale.at("spec").int("replicas").unwrap_or_default();
    if replicas == NO_REPLICAS {
        return Err(custom.empty());
    }
    let mut merged = object.clone();
    custom.put(&mut merged, replicas);
    let revision = scale.at("metadata").text("resourceVersion");
    if !revision.is_empty() {
        merged.at_mut("metadata").set("resourceVersion", revision);
    }
    Ok(merged)
}
