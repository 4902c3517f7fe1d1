//! What pods use (upstream: `pkg/quota/v1/evaluator/core/pods.go`).

use crate::pods::{Half, has_pod_level, pod_resources};
use crate::{Attributes, Operation};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::View;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_base::civil::parse_seconds;
use stowplan_base::resource_names::{REQUESTS, is_extended, is_huge_page, is_native};
use stowplan_kinds::common::resource_names::is_standard_of_pods;

const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// An update matters if the pod ceases or begins to be one that ends by itself.
pub(super) fn changes_scope(request: &Attributes<'_>) -> bool {
    request.operation == Operation::Update
        && is_terminating(request.old()) != is_terminating(request.object())
}

/// A pod that ends by itself: one with a deadline.
pub(super) fn is_terminating(pod: &Value) -> bool {
    let deadline = pod.at("spec").int("activeDeadlineSeconds");
    deadline.is_some_and(|seconds| seconds >= 0)
}

/// Whether the name is of something that pods use.
pub(super) fn counts(name: &str) -> bool {
    is_standard_of_pods(name) || is_extended_for_quota(name)
}

pub(super) fn is_extended_for_quota(name: &str) -> bool {
    let Some(behind) = name.strip_prefix(REQUESTS) else {
        return false;
    };
    !is_native(name) || behind.starts_with(DEVICE_CLASS)
}

/// Where cpu or memory is counted, every container must ask for it, unless the pod does as a whole.
pub(super) fn constraints(restricted: &BTreeSet<&str>, pod: &Value) -> Result<(), String> {
    const REQUIRED: [&str; 6] = [
        "cpu",
        "memory",
        "requests.cpu",
        "requests.memory",
        "limits.cpu",
        "limits.memory",
    ];
    let spec = pod.at("spec");
    if has_pod_level(spec) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let ordinary = spec.list("containers").iter();
    for container in ordinary.chain(spec.list("initContainers")) {
        let resources = container.at("resources");
        let asks = compute_usage(
            &ResourceList::of(resources.at("requests")),
            &ResourceList::of(resources.at("limits")),
        );
        let required = restricted.iter().filter(|name| REQUIRED.contains(name));
        for name in required.filter(|name| !asks.contains_key(**name)) {
            missing
                .entry(name)
                .or_default()
                .insert(container.text("name"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| {
            let containers: Vec<&str> = containers.into_iter().collect();
            format!("{name} for: {}", containers.join(","))
        })
        .collect();
    Err(format!("must specify {}", parts.join("; ")))
}

fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::default();
    usage.put("pods", Quantity::units(1));
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            usage.put(name, request.clone());
            usage.put(format!("{REQUESTS}{name}"), request.clone());
        }
        if let Some(limit) = limits.get(name) {
            usage.put(format!("limits.{name}"), limit.clone());
        }
    }
    for (name, request) in requests.iter() {
        let huge = is_huge_page(name);
        if huge {
            usage.put(name.as_str(), request.clone());
        }
        if huge || name.starts_with(DEVICE_CLASS) || is_extended(name) {
            usage.put(format!("{REQUESTS}{name}"), request.clone());
        }
    }
    usage
}

/// What a pod uses; one that has come to its end uses nothing.
pub(super) fn usage(pod: &Value, now: &str) -> ResourceList {
    if has_ended(pod, now) {
        return ResourceList::default();
    }
    compute_usage(
        &pod_resources(pod, Half::Requests, true),
        &pod_resources(pod, Half::Limits, true),
    )
}

fn has_ended(pod: &Value, now: &str) -> bool {
    if matches!(pod.at("status").text("phase"), "Failed" | "Succeeded") {
        return true;
    }
    let metadata = pod.at("metadata");
    let deletion = metadata.at("deletionTimestamp").as_str();
    let grace = metadata.int("deletionGracePeriodSeconds");
    match (deletion.and_then(parse_seconds), grace, parse_seconds(now)) {
        // Stuck on its way out: gone from its node, or the node is.
        (Some(deletion), Some(grace), Some(now)) => now > deletion.saturating_add(grace),
        _ => false,
    }
}
