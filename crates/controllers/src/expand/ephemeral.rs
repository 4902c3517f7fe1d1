//! Claims of pods' ephemeral volumes.

use super::View;
use super::template::typed;
use crate::common::{name, namespace};
use crate::ephemeral::{claim, volumes};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use stowplan_apimachinery::View as _;

/// The claims that a pod's ephemeral volumes want and that are not there.
pub fn reconcile(view: &View, pod: &Value) -> Vec<Value> {
    // Most pods have none.
    let given = pod.at("spec").list("volumes");
    if !given.iter().any(|volume| volume.has("ephemeral")) {
        return Vec::new();
    }
    let Some(pod) = typed::<Pod>(pod) else {
        return Vec::new();
    };
    let claims = volumes(&pod).filter_map(|volume| claim(&pod, volume));
    claims
        .filter(|claim| !view.has_claim(namespace(&pod), name(claim)))
        .filter_map(|claim| serde_json::to_value(claim).ok())
        .collect()
}
