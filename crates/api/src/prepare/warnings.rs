//! What is no error but may surprise.

use crate::load::{Input, Loaded, Object};
use std::collections::BTreeSet;

/// How many of many things are named.
const NAMED: usize = 3;

/// How many fields that do not exist are told.
const FIELDS_TOLD: usize = 10;

/// Kinds that were passed over, and fields that do not exist.
pub(super) fn of_input(input: &Input) -> Vec<String> {
    let mut warnings = Vec::new();
    if !input.passed_over.is_empty() {
        let counts: Vec<String> = input
            .passed_over
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        warnings.push(format!(
            "passed over, for scheduling does not read them: {}",
            counts.join(", ")
        ));
    }
    for ((kind, field), (first, count)) in input.unknown_fields.iter().take(FIELDS_TOLD) {
        let others = match count - 1 {
            0 => String::new(),
            others => format!(" (and in {others} more)"),
        };
        warnings.push(format!(
            "{first}{others}: {} has no field {field:?}, it is ignored",
            kind.as_str()
        ));
    }
    if let more @ 1.. = input.unknown_fields.len().saturating_sub(FIELDS_TOLD) {
        let fields = if more == 1 { "field" } else { "fields" };
        warnings.push(format!("and {more} more {fields} that do not exist"));
    }
    warnings
}

/// Nodes that can hold nothing, and pods on nodes that are not there.
pub(super) fn of_objects(objects: &[Loaded]) -> Vec<String> {
    let mut warnings = Vec::new();
    let nodes: BTreeSet<&str> = objects
        .iter()
        .filter(|loaded| matches!(loaded.object, Object::Node(_)))
        .map(|loaded| loaded.object.name())
        .collect();
    let lost: Vec<String> = objects
        .iter()
        .filter_map(|loaded| lost_pod(loaded, &nodes))
        .collect();
    if !lost.is_empty() {
        warnings.push(format!(
            "{} bound to a node that is not there, and left out: {}",
            if lost.len() == 1 {
                "1 pod is".to_owned()
            } else {
                format!("{} pods are", lost.len())
            },
            some_of(&lost)
        ));
    }
    let full: Vec<String> = objects.iter().filter_map(podless_node).collect();
    if !full.is_empty() {
        warnings.push(format!(
            "no allocatable pods, so nothing fits (kubelets say `pods: \"110\"`): {}",
            some_of(&full)
        ));
    }
    warnings
}

fn lost_pod(loaded: &Loaded, nodes: &BTreeSet<&str>) -> Option<String> {
    let Object::Pod(pod) = &loaded.object else {
        return None;
    };
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if nodes.contains(node) || matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let title = loaded.object.title();
    Some(format!("{title} on {node} ({})", loaded.source))
}

fn podless_node(loaded: &Loaded) -> Option<String> {
    let Object::Node(node) = &loaded.object else {
        return None;
    };
    let allocatable = node
        .status
        .as_ref()
        .and_then(|status| status.allocatable.as_ref());
    let pods = allocatable.and_then(|allocatable| allocatable.get("pods"));
    pods.is_none()
        .then(|| format!("{} ({})", loaded.object.title(), loaded.source))
}

fn some_of(things: &[String]) -> String {
    let named = things[..things.len().min(NAMED)].join(", ");
    match things.len().saturating_sub(NAMED) {
        0 => named,
        others => format!("{named} and {others} more"),
    }
}
