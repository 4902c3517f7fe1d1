//! Taints and labels of nodes.

use crate::common::{label, time};
use crate::{Key, Write};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use serde_json::{Map, Value, json};

/// A node that cannot be reached.
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// A node that says that it is not ready.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Conditions, what they say, and the taint that follows.
const BY_CONDITION: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    (
        "MemoryPressure",
        "True",
        "node.kubernetes.io/memory-pressure",
    ),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The taints of a node.
pub(super) fn of(node: &Node) -> &[Taint] {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    taints.unwrap_or_default()
}

/// Whether a node has a taint.
pub(super) fn has(node: &Node, key: &str, effect: &str) -> bool {
    of(node)
        .iter()
        .any(|taint| taint.key == key && taint.effect == effect)
}

/// NoSchedule taints as the conditions want them. Upstream's `doNoScheduleTaintingPass`.
pub(super) fn by_conditions(node: &Node, now: Timestamp) -> Option<Write> {
    let conditions = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut wanted: Vec<&str> = Vec::new();
    for condition in conditions {
        let says = |(type_, status, _): &&(&str, &str, &str)| {
            condition.type_ == *type_ && condition.status == *status
        };
        wanted.extend(BY_CONDITION.iter().find(says).map(|(_, _, key)| *key));
    }
    if node
        .spec
        .as_ref()
        .is_some_and(|spec| spec.unschedulable == Some(true))
    {
        wanted.push(UNSCHEDULABLE);
    }
    let keys = BY_CONDITION
        .iter()
        .map(|(_, _, key)| *key)
        .chain([UNSCHEDULABLE]);
    let unwanted: Vec<&str> = keys.filter(|key| !wanted.contains(key)).collect();
    swap(node, &wanted, &unwanted, "NoSchedule", now)
}

/// Adds taints that are missing, and takes others away; nothing if all is as it should be.
pub(super) fn swap(
    node: &Node,
    add: &[&str],
    remove: &[&str],
    effect: &str,
    now: Timestamp,
) -> Option<Write> {
    let mut taints: Vec<Taint> = of(node).to_vec();
    taints.retain(|taint| taint.effect != effect || !remove.contains(&taint.key.as_str()));
    for key in add.iter().filter(|key| !has(node, key, effect)) {
        taints.push(Taint {
            key: (*key).to_owned(),
            effect: effect.to_owned(),
            time_added: Some(time(now)),
            value: None,
        });
    }
    if taints == of(node) {
        return None;
    }
    let taints = (!taints.is_empty()).then_some(taints);
    let patch = json!({
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": taints},
    });
    Some(Write::merge::<Node>(&Key::of(node), "", &patch).tolerating(&[404]))
}

/// Old names of labels that say the same as new ones. Upstream's `reconcileNodeLabels`.
pub(super) fn beta_labels(node: &Node) -> Option<Write> {
    let mut missing = Map::new();
    for name in ["os", "arch"] {
        let old = format!("beta.kubernetes.io/{name}");
        let new = label(node, &format!("kubernetes.io/{name}"));
        if new.is_some() && new != label(node, &old) {
            missing.insert(old, Value::from(new));
        }
    }
    if missing.is_empty() {
        return None;
    }
    let patch = json!({"metadata": {"labels": missing}});
    Some(Write::merge::<Node>(&Key::of(node), "", &patch).tolerating(&[404]))
}
