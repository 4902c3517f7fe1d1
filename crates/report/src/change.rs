//! What would make the pod fit.

use crate::quantity::amount;
use crate::report::Text;
use serde::{Deserialize, Serialize};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Effect, Taint};
use stowplan_engine::remedy::{Place, Remedy, Suggestion};

/// One change that alone makes the pod fit: the engine has tried it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What kind of change it is.
    pub kind: Text,
    /// What to change, in words.
    pub change: String,
    /// On how many nodes the pod would fit then.
    pub nodes: usize,
}

impl Change {
    /// A change that was tried, in words.
    pub fn new(cluster: &Snapshot, suggestion: &Suggestion) -> Self {
        let (kind, change) = in_words(cluster, &suggestion.remedy);
        Self {
            kind: kind.into(),
            change,
            nodes: suggestion.nodes,
        }
    }
}

fn in_words(cluster: &Snapshot, remedy: &Remedy) -> (&'static str, String) {
    let text = |sym| cluster.names.text(sym);
    match remedy {
        Remedy::Ungate { gates } => {
            let gates: Vec<_> = gates.iter().map(|gate| text(*gate)).collect();
            (
                "Ungate",
                format!("remove the pod's gate {}", gates.join(", ")),
            )
        }
        Remedy::Tolerate { taint } => {
            let taint = taint_text(cluster, taint);
            ("Tolerate", format!("let the pod tolerate {taint}"))
        }
        Remedy::Uncordon { node } => ("Uncordon", format!("uncordon {}", text(*node))),
        Remedy::Label { node, key, value } => {
            let (node, key, value) = (text(*node), text(*key), text(*value));
            ("Label", format!("label {node} with {key}={value}"))
        }
        Remedy::Free { node, amounts } => {
            let amounts = amounts.iter().map(|(resource, value)| {
                let name = text(cluster.resource_names.name(*resource));
                format!("{} more {name}", amount(name, *value))
            });
            let amounts: Vec<_> = amounts.collect();
            let change = format!("have {} free on {}", amounts.join(" and "), text(*node));
            ("Free", change)
        }
        Remedy::Evict { from, pods } => {
            let pods: Vec<_> = pods.iter().map(|pod| pod.key.to_string()).collect();
            let pods = match pods.as_slice() {
                [one, two, others @ ..] if others.len() > 1 => {
                    format!("{one}, {two} and {} more pods", others.len())
                }
                all => all.join(" and "),
            };
            let change = match *from {
                Place::Node(node) => format!("move {pods} away from {}", text(node)),
                Place::Domain { key, value } => {
                    let (key, value) = (text(key), text(value));
                    format!("move {pods} away from all nodes with {key}={value}")
                }
                Place::Anywhere => format!("remove {pods}"),
            };
            ("Evict", change)
        }
        Remedy::AddNode { like } => ("AddNode", format!("add a node like {}", text(*like))),
    }
}

fn taint_text(cluster: &Snapshot, taint: &Taint) -> String {
    let effect = match taint.effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    };
    let (key, value) = (
        cluster.names.text(taint.key),
        cluster.names.text(taint.value),
    );
    match value {
        "" => format!("{key}:{effect}"),
        value => format!("{key}={value}:{effect}"),
    }
}
