//! What extenders answer.

use super::{Extender, verdict};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use stowplan_engine::Snapshot;
use stowplan_engine::extended::Filtered;
use stowplan_engine::framework::Candidate;

/// A field of an answer; its name may be in capitals or not, as Go reads it.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    let Value::Object(fields) = object else {
        return &Value::Null;
    };
    let exact = fields.get(name);
    let any = || {
        let mut fields = fields.iter();
        fields.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    };
    exact.or_else(any).unwrap_or(&Value::Null)
}

/// The answer to Filter.
pub(super) fn filtered(
    extender: &Extender,
    cluster: &Snapshot,
    nodes: &[usize],
    answer: &Value,
) -> Result<Filtered, String> {
    if let Some(error) = field(answer, "Error").as_str().filter(|e| !e.is_empty()) {
        return Err(error.to_owned());
    }
    let positions: BTreeMap<&str, usize> = nodes
        .iter()
        .map(|&at| (super::node_name(cluster, at), at))
        .collect();
    let names = match (extender.knows_nodes(), field(answer, "NodeNames")) {
        (true, Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => listed(field(answer, "Nodes")),
    };
    let mut left = Vec::new();
    for name in names {
        let at = positions.get(name).ok_or_else(|| {
            format!(
                "extender {:?} claims a filtered node {name:?} which is not found in the input \
                 node list",
                extender.url()
            )
        })?;
        left.push(*at);
    }
    left.sort_unstable();
    left.dedup();
    let none = Map::new();
    let map = |name: &'static str| field(answer, name).as_object().unwrap_or(&none);
    let hopeless = map("FailedAndUnresolvableNodes");
    let failed = map("FailedNodes").iter().map(|entry| (entry, false));
    let failed = failed.filter(|((name, _), _)| !hopeless.contains_key(*name));
    let all = failed.chain(hopeless.iter().map(|entry| (entry, true)));
    let failed = all.filter_map(|((name, message), is_final)| {
        let at = positions.get(name.as_str())?;
        Some((*at, verdict(message.as_str().unwrap_or_default(), is_final)))
    });
    Ok(Filtered {
        nodes: left,
        failed: failed.collect(),
    })
}

/// The names in a list of nodes.
fn listed(nodes: &Value) -> Vec<&str> {
    let items = field(nodes, "items").as_array();
    let items = items.into_iter().flatten();
    items
        .filter_map(|node| node["metadata"]["name"].as_str())
        .collect()
}

/// The answer to Preempt.
pub(super) fn candidates(
    extender: &Extender,
    cluster: &Snapshot,
    answer: &Value,
) -> Result<Vec<Candidate>, String> {
    let Some(victims) = field(answer, "NodeNameToMetaVictims").as_object() else {
        return Ok(Vec::new());
    };
    let mut left = Vec::new();
    for (name, entry) in victims {
        let mut nodes = cluster.nodes().iter().enumerate();
        let found = nodes.find(|(_, node)| cluster.names.text(node.node.name) == name);
        let Some((position, node)) = found else {
            return Err(format!("nodeinfo not found for node name {name:?}"));
        };
        let uids = field(entry, "Pods").as_array();
        let mut pods = Vec::new();
        for uid in uids.into_iter().flatten() {
            let uid = field(uid, "UID").as_str().unwrap_or_default();
            let pod = node.pods.iter().find(|pod| *pod.uid == *uid);
            let pod = pod.ok_or_else(|| {
                format!(
                    "extender: {} claims to preempt pod (UID: {uid}) on node: {name}, but the pod \
                     is not found on that node",
                    extender.url()
                )
            })?;
            pods.push(pod.clone());
        }
        let violations = field(entry, "NumPDBViolations").as_u64().unwrap_or(0);
        left.push(Candidate {
            position,
            node: node.node.name,
            victims: pods,
            pdb_violations: usize::try_from(violations).unwrap_or(usize::MAX),
        });
    }
    left.sort_by_key(|candidate| candidate.position);
    Ok(left)
}
