//! Claims of pods' ephemeral volumes.
//!
//! Upstream: `pkg/controller/volume/ephemeral`.

use super::View;
use super::template::controlled_by;
use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, View as _, meta};

/// The claims that a pod's ephemeral volumes want and that are not there.
pub fn reconcile(view: &View, pod: &Value) -> Vec<Value> {
    let volumes = pod.at("spec").list("volumes").iter();
    let claims = volumes.filter_map(|volume| claim(pod, volume));
    let namespace = meta::namespace(pod);
    claims
        .filter(|claim| !view.has_claim(namespace, meta::name(claim)))
        .collect()
}

fn claim(pod: &Value, volume: &Value) -> Option<Value> {
    let template = volume.at("ephemeral").at("volumeClaimTemplate");
    if template.is_null() {
        return None;
    }
    let mut metadata = Map::new();
    let name = format!("{}-{}", meta::name(pod), volume.text("name"));
    metadata.set("name", name);
    metadata.set("namespace", meta::namespace(pod));
    for field in ["labels", "annotations"] {
        let given = template.at("metadata").at(field);
        if !given.is_null() {
            metadata.set(field, given.clone());
        }
    }
    metadata.set("ownerReferences", vec![controlled_by("v1", "Pod", pod)]);
    Some(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.at("spec"),
    }))
}
