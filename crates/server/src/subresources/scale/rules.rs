//! A workload as its scale, and back.
//! Upstream: `ScaleREST` in `pkg/registry/apps/deployment/storage/storage.go` and its kin.

use serde_json::{Value, json};
use stowplan_apimachinery::field::{Error, Path};
use stowplan_apimachinery::labels::Selector;
use stowplan_apimachinery::meta::{GroupKind, GroupResource};
use stowplan_apimachinery::{Edit, Status, View, meta};

/// The scale of a workload (`autoscaling/v1`).
pub(crate) fn of(object: &Value) -> Value {
    let (metadata, spec) = (object.at("metadata"), object.at("spec"));
    let mut kept = serde_json::Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if metadata.has(field) {
            kept.set(field, metadata.at(field).clone());
        }
    }
    let selector = spec.at("selector");
    let selector = match object.text("kind") {
        // Still a plain map of labels.
        "ReplicationController" => Selector::from_map(selector).to_string(),
        _ => Selector::from_object(selector).map_or(String::new(), |s| s.to_string()),
    };
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": kept,
        "spec": {},
        "status": {"replicas": object.at("status").int("replicas").unwrap_or_default()},
    });
    let replicas = spec.int("replicas").unwrap_or_default();
    if replicas != 0 {
        scale.at_mut("spec").set("replicas", replicas);
    }
    if !selector.is_empty() {
        scale.at_mut("status").set("selector", selector);
    }
    scale
}

/// The workload with the replicas (and the precondition) of a scale. `metadata` are the faults of the
/// scale's metadata.
pub(crate) fn merge(
    object: &Value,
    scale: &Value,
    resource: &GroupResource,
    mut faults: Vec<Error>,
) -> Result<Value, Status> {
    let name = meta::name(object);
    let replicas = scale.at("spec").int("replicas").unwrap_or_default();
    if replicas < 0 {
        let spec = Path::new("spec");
        let detail = "must be greater than or equal to 0";
        faults.push(Error::invalid(&spec.child("replicas"), replicas, detail));
    }
    if !faults.is_empty() {
        let kind = GroupKind::new("autoscaling", "Scale");
        return Err(Status::invalid(&kind, name, &faults));
    }
    let (asked, uid) = (meta::uid(scale), meta::uid(object));
    if !asked.is_empty() && asked != uid {
        let scales = GroupResource::new(
            resource.group.as_str(),
            format!("{}/scale", resource.resource),
        );
        let why =
            format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {uid}");
        return Err(Status::conflict(&scales, name, why));
    }
    let mut changed = object.clone();
    changed.at_mut("spec").set("replicas", replicas);
    let metadata = changed.at_mut("metadata");
    match scale.at("metadata").text("resourceVersion") {
        "" => drop(metadata.unset("resourceVersion")),
        revision => metadata.set("resourceVersion", revision),
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(kind: &str, selector: Value) -> Value {
        json!({"kind": kind, "metadata": {"name": "a", "namespace": "n", "uid": "u",
                "resourceVersion": "5", "creationTimestamp": "t", "labels": {"x": "y"}},
            "spec": {"replicas": 3, "selector": selector}, "status": {"replicas": 2}})
    }

    #[test]
    fn a_scale_shows_replicas_and_selector() {
        let deployment = workload("Deployment", json!({"matchLabels": {"b": "1", "a": "2"}}));
        assert_eq!(
            of(&deployment),
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5",
                    "creationTimestamp": "t"},
                "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=2,b=1"}})
        );
        let mut old = workload("ReplicationController", json!({"app": "w"}));
        old["spec"]["replicas"] = json!(0);
        assert_eq!(of(&old)["spec"], json!({}));
        assert_eq!(of(&old)["status"]["selector"], "app=w");
    }

    #[test]
    fn a_scale_changes_replicas_alone() {
        let deployment = workload("Deployment", json!({}));
        let resource = GroupResource::new("apps", "deployments");
        let merged = |scale: Value| merge(&deployment, &scale, &resource, Vec::new());
        let new = merged(json!({"metadata": {"labels": {"q": "r"}}, "spec": {"replicas": 7}}));
        let mut expected = deployment.clone();
        expected["spec"]["replicas"] = json!(7);
        expected["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        assert_eq!(new.unwrap(), expected);
        assert_eq!(
            merged(json!({"spec": {"replicas": -1}}))
                .unwrap_err()
                .message,
            "Scale.autoscaling \"a\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        assert_eq!(
            merged(json!({"metadata": {"uid": "v"}}))
                .unwrap_err()
                .message,
            "Operation cannot be fulfilled on deployments/scale.apps \"a\": Precondition failed: UID in precondition: v, UID in object meta: u"
        );
    }
}
