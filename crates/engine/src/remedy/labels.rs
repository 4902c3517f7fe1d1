//! Labels that a node lacks.

use super::candidates::{Candidate, Rejected};
use super::{Case, Remedy};
use crate::model::{Labels, Node, Op, Pod, Requirement};
use stowplan_base::{Names, Sym};

/// Of a requirement with many values the first few are looked at.
const VALUES_MAX: usize = 8;

/// Labels by which the node selector or a term of the node affinity would accept a node.
pub(super) fn asked_for(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let names = &case.cx.cluster.names;
    let mut out = Vec::new();
    for Rejected { at, .. } in nodes {
        let node = &case.node(*at).node;
        let labels = missing(node, case.pod, names).into_iter();
        out.extend(labels.map(|label| Candidate::label(node, label, *at)));
    }
    out
}

impl Candidate {
    /// The node gets this label.
    pub(super) fn label(node: &Node, (key, value): (Sym, Sym), order: usize) -> Self {
        let node = node.name;
        Self {
            remedy: Remedy::Label { node, key, value },
            change: 0.0,
            order,
        }
    }
}

/// The labels of which each alone would do: for each requirement that the node fails, the first
/// value that does.
fn missing(node: &Node, pod: &Pod, names: &Names) -> Vec<(Sym, Sym)> {
    let selector = pod.node_selector.iter();
    let mut asked: Vec<Requirement> = selector
        .map(|(key, value)| Requirement::equals(key, value))
        .collect();
    let terms = pod.node_affinity.required.iter().flat_map(|r| &r.terms);
    asked.extend(terms.flat_map(|term| term.expressions.iter().cloned()));
    let mut out = Vec::new();
    for requirement in asked {
        if requirement.matches(&node.labels, names) {
            continue;
        }
        let values = match requirement.op {
            Op::In => &requirement.values[..],
            Op::Exists => &[Sym::EMPTY],
            _ => continue,
        };
        let labels = values.iter().map(|value| (requirement.key, *value));
        let mut labels = labels.take(VALUES_MAX);
        if let Some(label) = labels.find(|label| would_do(node, *label, pod, names))
            && !out.contains(&label)
        {
            out.push(label);
        }
    }
    out
}

/// Whether the pod would accept the node with one more label.
fn would_do(node: &Node, label: (Sym, Sym), pod: &Pod, names: &Names) -> bool {
    let labels = Labels::new(node.labels.iter().chain([label]));
    let selected = |(key, value)| labels.get(key) == Some(value);
    let required = pod.node_affinity.required.as_ref();
    pod.node_selector.iter().all(selected)
        && required.is_none_or(|required| {
            let mut terms = required.terms.iter();
            terms.any(|term| term.matches_labels(node.name, &labels, names))
        })
}
