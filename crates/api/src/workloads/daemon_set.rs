//! DaemonSets.
//!
//! Upstream: `pkg/controller/daemon`.

use super::{World, controlled_by, template};
use crate::load::{Kind, Source};
use crate::selector;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Affinity, Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};
use std::collections::BTreeSet;

/// One pod per node that should have one and has none, bound to it by affinity.
pub(super) fn expand(world: &mut World<'_>, at: &Source, set: &DaemonSet) {
    let Some(spec) = &set.spec else { return };
    let mut daemon = spec.template.spec.clone().unwrap_or_default();
    tolerate(&mut daemon);
    let existing = world.pods_of(Kind::DaemonSet, &set.metadata);
    let served: BTreeSet<&str> = existing.iter().filter_map(|pod| target(pod)).collect();
    let owner = controlled_by("apps/v1", "DaemonSet", &set.metadata);
    for node in world.nodes.clone() {
        let node_name = node.metadata.name.as_deref().unwrap_or_default();
        if served.contains(node_name) || !should_run(&daemon, node) {
            continue;
        }
        let name = format!("{}-{node_name}", owner.name);
        let namespace = set.metadata.namespace.as_deref();
        let mut pod = template::pod(&spec.template, namespace, &name, owner.clone());
        let mut daemon = daemon.clone();
        bind_by_affinity(&mut daemon, node_name);
        pod.spec = Some(daemon);
        world.make(at, pod);
    }
}

/// Upstream's `AddOrUpdateDaemonPodTolerations`.
fn tolerate(spec: &mut PodSpec) {
    let host_network = spec.host_network == Some(true);
    for (key, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    ] {
        if key == "network-unavailable" && !host_network {
            continue;
        }
        let toleration = Toleration {
            key: Some(format!("node.kubernetes.io/{key}")),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        let tolerations = spec.tolerations.get_or_insert_default();
        // One that differs only in how long it lasts is replaced.
        let is_same = |other: &Toleration| {
            Toleration {
                toleration_seconds: None,
                ..other.clone()
            } == toleration
        };
        match tolerations.iter_mut().find(|other| is_same(other)) {
            Some(other) => *other = toleration,
            None => tolerations.push(toleration),
        }
    }
}

/// Upstream's `NodeShouldRunDaemonPod`.
fn should_run(daemon: &PodSpec, node: &Node) -> bool {
    let on_this_node = match daemon.node_name.as_deref() {
        None | Some("") => true,
        Some(name) => Some(name) == node.metadata.name.as_deref(),
    };
    let taints = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    let mut keeping_off =
        taints.filter(|taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute"));
    let tolerations = daemon.tolerations.as_deref().unwrap_or_default();
    on_this_node
        && selector::selects_node(daemon, node)
        && keeping_off.all(|taint| {
            tolerations
                .iter()
                .any(|toleration| selector::tolerates(toleration, taint))
        })
}

/// The node that a daemon pod is on or is meant for. Upstream's `GetTargetNodeName`.
fn target(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    if let Some(name) = spec.node_name.as_deref()
        && !name.is_empty()
    {
        return Some(name);
    }
    let required = spec
        .affinity
        .as_ref()?
        .node_affinity
        .as_ref()?
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let fields = required
        .node_selector_terms
        .iter()
        .flat_map(|term| term.match_fields.iter().flatten());
    fields
        .filter(|field| field.key == "metadata.name" && field.operator == "In")
        .find_map(|field| field.values.as_ref()?.first().map(String::as_str))
}

/// Upstream's `ReplaceDaemonSetPodNodeNameNodeAffinity`.
fn bind_by_affinity(spec: &mut PodSpec, node: &str) {
    let affinity = spec.affinity.get_or_insert_with(Affinity::default);
    let required = affinity
        .node_affinity
        .get_or_insert_default()
        .required_during_scheduling_ignored_during_execution
        .get_or_insert_default();
    required.node_selector_terms = vec![NodeSelectorTerm {
        match_expressions: None,
        match_fields: Some(vec![NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![node.to_owned()]),
        }]),
    }];
}
