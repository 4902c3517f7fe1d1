//! StatefulSets. All pods are made at once, whatever `podManagementPolicy` says.

use super::View;
use super::template::{named, typed};
use crate::common::{name, namespace};
use crate::statefulset::{claims, new_pod, ordinals, pod_name};
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::Value;

/// The pods that a StatefulSet lacks, each followed by those of its claims that are not there.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    let Some(set) = typed::<StatefulSet>(set) else {
        return Vec::new();
    };
    let namespace = namespace(&set);
    let mut wanted = Vec::new();
    for ordinal in set.spec.as_ref().map(ordinals).unwrap_or_default() {
        let pod_name = pod_name(&set, ordinal);
        if view.has_pod(namespace, &pod_name) {
            continue;
        }
        let mut pod = new_pod(&set, ordinal);
        // What the network knows it by means nothing here.
        let spec = pod.spec.get_or_insert_default();
        (spec.hostname, spec.subdomain) = (None, None);
        wanted.push(named(pod, pod_name));
        let claims = claims(&set, ordinal).into_iter();
        let missing = claims.filter(|claim| !view.has_claim(namespace, name(claim)));
        wanted.extend(missing.filter_map(|claim| serde_json::to_value(claim).ok()));
    }
    wanted
}
