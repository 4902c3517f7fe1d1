//! What would make a pod fit: the smallest single changes, each tried before it is told.
//!
//! Looked for are nodes that exactly one filter rejects, and a change that this filter asks for.
//! Then the change is made to a copy of the cluster, or to a copy of the pod, and all filters are
//! asked again. What does not help is not told.

mod blocking_pods;
mod candidates;
mod labels;
mod measure;
mod new_nodes;
mod room;
#[cfg(test)]
mod tests;
mod trial;
mod volumes;

use crate::framework::{Cx, Fit, Framework};
use crate::model::{Pod, ResourceId, Taint};
use crate::schedule::{Coverage, Feasibility, find_feasible};
use crate::{NodeInfo, Snapshot};
use candidates::Candidate;
use std::sync::Arc;
use stowplan_base::Sym;
use trial::DryRun;

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
    /// Take these pods away.
    Evict {
        /// Where they must not be.
        from: Place,
        /// The pods.
        pods: Vec<Arc<Pod>>,
    },
    /// Add a node like this one, but empty.
    AddNode {
        /// The model.
        like: Sym,
    },
}

/// Where pods are in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On this node.
    Node(Sym),
    /// On all nodes with this label.
    Domain {
        /// The label's key.
        key: Sym,
        /// Its value.
        value: Sym,
    },
    /// Wherever they are: it does not help to move them.
    Anywhere,
}

impl Remedy {
    /// Which kind it is; of changes of the same size, the first comes first.
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

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Remedies {
    /// The changes that help, the least first.
    pub suggestions: Vec<Suggestion>,
    /// How many others suggest themselves and were not tried, though too little was found.
    pub untried: usize,
}

/// The changes of which each alone makes a pending pod fit, the least first; at most
/// [`REMEDIES_MAX`]. None if the pod fits as things are, or if no such change is known.
pub fn remedies(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Remedies {
    if framework.run_pre_enqueue(cx, pod, None).is_some() {
        let suggestion = trial::without_gates(framework, cx, pod);
        return Remedies {
            suggestions: suggestion.into_iter().collect(),
            untried: 0,
        };
    }
    let Ok(found) = find_feasible(framework, cx, pod, Coverage::Everything) else {
        return Remedies::default();
    };
    if !found.feasible.is_empty() || found.pre_filter.is_some() {
        return Remedies::default();
    }
    let case = Case {
        framework,
        cx,
        found: &found,
        pod,
    };
    let mut trials = DryRun::new(framework, cx, pod);
    let candidates = in_order(candidates::all(case));
    let mut remedies = verified(candidates, |remedy| trials.helps(remedy));
    sort(cx.cluster, &mut remedies.suggestions);
    remedies
}

/// A pod that fits nowhere.
#[derive(Clone, Copy)]
struct Case<'a> {
    framework: &'a Framework,
    cx: Cx<'a>,
    found: &'a Feasibility,
    pod: &'a Pod,
}

impl<'a> Case<'a> {
    fn node(&self, at: usize) -> &'a NodeInfo {
        &self.cx.cluster.nodes()[at]
    }

    /// What every filter says to a node.
    fn verdicts(&self, node: &NodeInfo) -> Vec<(&'static str, Fit)> {
        let cycle = &self.found.cycle;
        self.framework
            .run_all_filters(self.cx, cycle, self.pod, node)
    }

    fn fits(&self, node: &NodeInfo) -> bool {
        self.verdicts(node).iter().all(|(_, fit)| fit.is_ok())
    }
}

/// Those of the first [`TRIALS_MAX`] candidates that help, up to [`REMEDIES_MAX`]: `helps` says on
/// how many nodes.
fn verified(
    candidates: Vec<Candidate>,
    mut helps: impl FnMut(&Remedy) -> Option<usize>,
) -> Remedies {
    let beyond = candidates.len().saturating_sub(TRIALS_MAX);
    let tried = candidates.into_iter().take(TRIALS_MAX);
    let help = tried.filter_map(|Candidate { remedy, .. }| {
        let nodes = helps(&remedy)?;
        Some(Suggestion { remedy, nodes })
    });
    let suggestions: Vec<_> = help.take(REMEDIES_MAX).collect();
    let untried = match suggestions.len() {
        REMEDIES_MAX => 0,
        _ => beyond,
    };
    Remedies {
        suggestions,
        untried,
    }
}

/// The least change first, whatever its kind.
fn sort(cluster: &Snapshot, suggestions: &mut [Suggestion]) {
    suggestions.sort_by(|a, b| {
        let (a, b) = (&a.remedy, &b.remedy);
        let sizes = (measure::size(cluster, a), measure::size(cluster, b));
        sizes.0.total_cmp(&sizes.1).then(a.rank().cmp(&b.rank()))
    });
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
