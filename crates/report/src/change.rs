//! What would make the pod fit.

use crate::quantity::amount;
use crate::report::Text;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Effect, Pod, Taint};
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
    /// What the words are made of, where the change comes from the engine.
    #[serde(skip)]
    pub pieces: Vec<Piece>,
}

/// A piece of what is told: other things than words may be hidden from a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Words.
    Text(Text),
    /// The name of a node.
    Node(String),
    /// The value of a label of nodes.
    Label(String),
    /// The namespace and the name of a pod.
    Pod(String),
}

impl Change {
    /// A change that was tried, in words.
    pub fn new(cluster: &Snapshot, suggestion: &Suggestion) -> Self {
        let (kind, pieces) = pieces(cluster, &suggestion.remedy);
        Self::of(kind, pieces, suggestion.nodes)
    }

    pub(crate) fn of(kind: &'static str, pieces: Vec<Piece>, nodes: usize) -> Self {
        let mut change = Self {
            kind: kind.into(),
            change: String::new(),
            nodes,
            pieces,
        };
        change.tell();
        change
    }

    /// Says it anew, after pieces have changed.
    pub(crate) fn tell(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Node(text) | Piece::Label(text) | Piece::Pod(text) => text.as_str(),
        });
        self.change = texts.collect();
    }
}

fn words(words: impl Into<Text>) -> Piece {
    Piece::Text(words.into())
}

fn pieces(cluster: &Snapshot, remedy: &Remedy) -> (&'static str, Vec<Piece>) {
    let text = |sym| cluster.names.text(sym);
    let node = |sym| Piece::Node(text(sym).to_owned());
    match remedy {
        Remedy::Ungate { gates } => {
            let gates: Vec<_> = gates.iter().map(|gate| text(*gate)).collect();
            let change = format!("remove the pod's gate {}", gates.join(", "));
            ("Ungate", vec![words(change)])
        }
        Remedy::Tolerate { taint } => {
            let taint = taint_text(cluster, taint);
            let change = format!("let the pod tolerate {taint}");
            ("Tolerate", vec![words(change)])
        }
        Remedy::Uncordon { node: cordoned } => {
            ("Uncordon", vec![words("uncordon "), node(*cordoned)])
        }
        Remedy::Label {
            node: bare,
            key,
            value,
        } => {
            // The pod itself asks for it.
            let with = format!(" with {}={}", text(*key), text(*value));
            ("Label", vec![words("label "), node(*bare), words(with)])
        }
        Remedy::Free {
            node: full,
            amounts,
        } => {
            let amounts = amounts.iter().map(|(resource, value)| {
                let name = text(cluster.resource_names.name(*resource));
                format!("{} more {name}", amount(name, *value))
            });
            let amounts: Vec<_> = amounts.collect();
            let change = format!("have {} free on ", amounts.join(" and "));
            ("Free", vec![words(change), node(*full)])
        }
        Remedy::Evict { from, pods } => ("Evict", eviction(cluster, *from, pods)),
        Remedy::AddNode { like } => ("AddNode", vec![words("add a node like "), node(*like)]),
    }
}

fn eviction(cluster: &Snapshot, from: Place, pods: &[Arc<Pod>]) -> Vec<Piece> {
    let text = |sym| cluster.names.text(sym).to_owned();
    let pod = |pod: &Arc<Pod>| Piece::Pod(pod.key.to_string());
    let mut out = match from {
        Place::Anywhere => vec![words("remove ")],
        Place::Node(_) | Place::Domain { .. } => vec![words("move ")],
    };
    match pods {
        [one, two, others @ ..] if others.len() > 1 => {
            let more = format!(" and {} more pods", others.len());
            out.extend([pod(one), words(", "), pod(two), words(more)]);
        }
        all => {
            for (at, one) in all.iter().enumerate() {
                if at > 0 {
                    out.push(words(" and "));
                }
                out.push(pod(one));
            }
        }
    }
    match from {
        Place::Node(node) => out.extend([words(" away from "), Piece::Node(text(node))]),
        Place::Domain { key, value } => {
            let with = format!(" away from all nodes with {}=", text(key));
            out.extend([words(with), Piece::Label(text(value))]);
        }
        Place::Anywhere => {}
    }
    out
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
