//! DaemonSets.

use super::View;
use super::template::{named, typed};
use crate::common::{name, namespace, pod_from_template};
use crate::daemon::{fit, mean_for, selected_node, tolerate};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::NodeSelector;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View as _;

/// One pod per node that should have one and has none, bound to it by affinity.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    let served: BTreeSet<&str> = view
        .pods_of("DaemonSet", set)
        .map(|pod| pod.node.as_str())
        .collect();
    let set: Option<DaemonSet> = typed(set);
    let Some((set, Some(mut template))) =
        set.map(|set| (set.clone(), set.spec.map(|spec| spec.template)))
    else {
        return Vec::new();
    };
    let spec = template.spec.get_or_insert_default();
    tolerate(spec);
    let spec = spec.clone();
    let mut wanted = Vec::new();
    for node in &view.nodes {
        let pod_name = format!("{}-{}", name(&set), name(node));
        if served.contains(name(node))
            || !fit(&spec, node).should_run
            || view.has_pod(namespace(&set), &pod_name)
        {
            continue;
        }
        let mut pod = pod_from_template(&template, &set);
        mean_for(pod.spec.get_or_insert_default(), name(node));
        wanted.push(named(pod, pod_name));
    }
    wanted
}

/// The node that a daemon pod is on or is meant for, or nothing.
pub(crate) fn target(pod: &Value) -> String {
    let spec = pod.at("spec");
    let on = spec.text("nodeName");
    if !on.is_empty() {
        return on.to_owned();
    }
    let affinity = spec.at("affinity").at("nodeAffinity");
    let required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution");
    let required: Option<NodeSelector> = typed(required);
    let node = required.as_ref().and_then(selected_node);
    node.unwrap_or_default().to_owned()
}
