//! What would make a pod fit: the smallest single changes, each tried before it is told.
//!
//! Looked for are nodes that exactly one filter rejects, and a change that this filter asks for.
//! Then the change is made to a copy of the cluster, or to a copy of the pod, and all filters are
//! asked again. What does not help is not told.

mod candidates;
#[cfg(test)]
mod tests;
mod trial;

use crate::framework::{Cx, Framework};
use crate::model::{Pod, ResourceId, Taint};
use crate::schedule::{Scope, find_feasible};
use candidates::Candidate;
use std::sync::Arc;
use stowplan_base::Sym;

/// At most so many changes are told.
pub const REMEDIES_MAX: usize = 5;
/// At most so many are tried.
const TRIALS_MAX: usize = 16;

/// One change.
#[derive(Clone, Debug)]
pub enum Remedy {
    /// Take these scheduling gates off the pod.
    Ungate {
        /// The gates.
        gates: Vec<Sym>,
    },
    /// Let the pod tolerate a taint.
    Tolerate {
        /// The taint.
        taint: Taint,
    },
    /// Let a node take pods again.
    Uncordon {
        /// The node.
        node: Sym,
    },
    /// Give a node a label that the pod asks for.
    Label {
        /// The node.
        node: Sym,
        /// The label's key.
        key: Sym,
        /// Its value.
        value: Sym,
    },
    /// Let a node have this much more to give.
    Free {
        /// The node.
        node: Sym,
        /// What is missing, by resource: cpu in thousandths.
        amounts: Vec<(ResourceId, i64)>,
    },
    /// Take these pods off a node.
    Evict {
        /// The node.
        node: Sym,
        /// The pods.
        pods: Vec<Arc<Pod>>,
    },
    /// Add a node like this one, but empty.
    AddNode {
        /// The model.
        like: Sym,
    },
}

impl Remedy {
    /// Which kind it is; those that change less come first.
    fn rank(&self) -> usize {
        match self {
            Self::Ungate { .. } => 0,
            Self::Tolerate { .. } => 1,
            Self::Uncordon { .. } => 2,
            Self::Label { .. } => 3,
            Self::Free { .. } => 4,
            Self::Evict { .. } => 5,
            Self::AddNode { .. } => 6,
        }
    }
}

/// A change that was tried, and helps.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The change.
    pub remedy: Remedy,
    /// On how many nodes the pod would fit.
    pub nodes: usize,
}

/// The changes of which each alone makes a pending pod fit, the least first; at most
/// [`REMEDIES_MAX`]. None if the pod fits as things are, or if no such change is known.
pub fn remedies(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Vec<Suggestion> {
    if framework.run_pre_enqueue(cx, pod, None).is_some() {
        return trial::without_gates(framework, cx, pod)
            .into_iter()
            .collect();
    }
    let Ok(found) = find_feasible(framework, cx, pod, Scope::Everything) else {
        return Vec::new();
    };
    if !found.feasible.is_empty() || found.pre_filter.is_some() {
        return Vec::new();
    }
    let candidates = candidates::all(framework, cx, &found, pod);
    let mut suggestions = Vec::new();
    for candidate in in_order(candidates).into_iter().take(TRIALS_MAX) {
        if suggestions.len() == REMEDIES_MAX {
            break;
        }
        let remedy = candidate.remedy;
        if let Some(nodes) = trial::helps(framework, cx, pod, &remedy) {
            suggestions.push(Suggestion { remedy, nodes });
        }
    }
    suggestions.sort_by_key(|suggestion| suggestion.remedy.rank());
    suggestions
}

/// The best candidate of each kind, then the second best of each, and so on.
fn in_order(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| {
        let (a, b) = (
            (a.remedy.rank(), a.change, a.order),
            (b.remedy.rank(), b.change, b.order),
        );
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
    });
    let mut turns: Vec<(usize, Candidate)> = Vec::new();
    let mut seen = [0; 7];
    for candidate in candidates {
        let turn = &mut seen[candidate.remedy.rank()];
        turns.push((*turn, candidate));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, candidate)| (*turn, candidate.remedy.rank()));
    turns.into_iter().map(|(_, candidate)| candidate).collect()
}
