//! What is no error but may surprise.

use crate::Source;
use crate::cluster::Loaded;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_api::load::Object;
use stowplan_registry::Resource;

/// How many of many things are named.
const NAMED: usize = 3;

/// How many fields that do not exist are told.
const FIELDS_TOLD: usize = 10;

/// Kinds that were passed over.
pub(super) fn of_passed_over(passed_over: &BTreeMap<String, usize>) -> Option<String> {
    let counts: Vec<String> = passed_over
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    (!counts.is_empty()).then(|| {
        format!(
            "passed over, for scheduling does not read them: {}",
            counts.join(", ")
        )
    })
}

/// Fields that do not exist, by kind: where first, and in how many objects.
#[derive(Default)]
pub(super) struct Unknown(BTreeMap<(String, String), (Source, usize)>);

impl Unknown {
    /// Notes what decoding found in an object.
    pub(super) fn note(&mut self, resource: &Resource, at: &Source, problems: Vec<String>) {
        let told = |problem: String| match problem.strip_prefix("unknown field ") {
            Some(field) => format!("has no field {}, it is ignored", without_indices(field)),
            None => without_indices(&problem),
        };
        // Once per object, however often it repeats the slip.
        let told: BTreeSet<String> = problems.into_iter().map(told).collect();
        for told in told {
            let entry = self.0.entry((resource.kind().to_owned(), told));
            entry.or_insert_with(|| (at.clone(), 0)).1 += 1;
        }
    }

    /// What to tell of them.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for ((kind, told), (first, count)) in self.0.iter().take(FIELDS_TOLD) {
            let others = match count - 1 {
                0 => String::new(),
                others => format!(" (and in {others} more)"),
            };
            warnings.push(format!("{first}{others}: {kind} {told}"));
        }
        if let more @ 1.. = self.0.len().saturating_sub(FIELDS_TOLD) {
            let fields = if more == 1 { "field" } else { "fields" };
            warnings.push(format!("and {more} more {fields} that do not exist"));
        }
        warnings
    }
}

/// A path without the numbers of its items, so that the same slip in many places reads the same.
fn without_indices(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        inside = inside && c.is_ascii_digit();
        if !inside {
            shown.push(c);
        }
        inside |= c == '[';
    }
    shown
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
