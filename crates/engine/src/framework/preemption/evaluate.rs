//! The search for a node where evictions make room.

use super::pick::{DecidedBy, Figures, pick};
use super::victims::select_victims;
use crate::framework::{
    Code, Cx, CycleState, DryRun, DryRunSpace, Fit, Framework, Histogram, Nomination, PluginStatus,
    PostFilterResult, Status, Verdicts,
};
use crate::model::{Pod, PodDisruptionBudget};
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::{Names, Sym};

/// A node where the pod would fit if the victims were gone.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where the node stands in the snapshot's list.
    pub position: usize,
    /// The node's name.
    pub node: Sym,
    /// The victims, the most important first; never empty.
    pub victims: Vec<Arc<Pod>>,
    /// How many of them a PodDisruptionBudget protects.
    pub pdb_violations: usize,
}

/// What preemption tried for a pod that fits nowhere, and what it came to.
#[must_use]
#[derive(Clone, Debug, Default)]
pub struct PreemptionReport {
    /// Why the pod may not preempt others; nothing else was tried then.
    pub ineligible: Option<&'static str>,
    /// The nodes where evictions make room, in the snapshot's order.
    pub candidates: Vec<Candidate>,
    /// The nodes, by position, where they do not, though the filters left hope.
    pub rejected: Vec<(usize, PluginStatus)>,
    /// How many nodes are no candidates for which reason, those included where the filters left no
    /// hope. Not told if there are candidates.
    pub(super) tally: Vec<(PluginStatus, usize)>,
    /// Which of the candidates are equally good, in the order of node names: the first is taken.
    pub best: Vec<usize>,
    /// What told the best from the others.
    pub decided_by: Option<DecidedBy>,
}

/// What is to be done so that a pod finds room. Upstream's `prepareCandidateAsync`.
#[derive(Clone, Debug)]
pub struct Preemption {
    /// The node where it will find room.
    pub node: Sym,
    /// How many pods are in the way, those included that are on their way out already.
    pub victims: usize,
    /// The pods to be evicted; the last of them after all others.
    pub evict: Vec<Arc<Pod>>,
    /// Pods that have to give up their nomination to the node.
    pub denominate: Vec<Arc<Pod>>,
}

/// A pod that fits nowhere, and all that is known about it.
#[derive(Clone, Copy)]
pub struct Preemptor<'a> {
    /// The profile that is being run.
    pub framework: &'a Framework,
    /// The cluster.
    pub cx: Cx<'a>,
    /// What PreFilter left for every plugin.
    pub cycle: &'a CycleState,
    /// The pod.
    pub pod: &'a Pod,
    /// Why each node was rejected.
    pub statuses: &'a dyn Verdicts,
}

impl<'a> Preemptor<'a> {
    /// Dry runs for the pod.
    pub(super) fn dry_run(&self, space: &'a mut DryRunSpace) -> DryRun<'a> {
        DryRun::new(self.framework, self.cx, self.cycle, self.pod, space)
    }

    /// All budgets.
    pub(super) fn budgets(&self) -> Vec<&'a PodDisruptionBudget> {
        self.cx.cluster.budgets.iter().map(|b| &**b).collect()
    }

    /// Whether evictions might help on the node at this position.
    pub(super) fn has_hope(&self, position: usize) -> bool {
        self.statuses.get(position).status.code == Code::Unschedulable
    }

    /// Whether evictions make room on the node at this position.
    pub(super) fn try_node(
        &self,
        position: usize,
        dry_run: &mut DryRun<'_>,
        budgets: &[&PodDisruptionBudget],
    ) -> Result<Candidate, PluginStatus> {
        let cluster = self.cx.cluster;
        let node = &cluster.nodes()[position];
        let (victims, pdb_violations) = select_victims(dry_run, cluster, self.pod, node, budgets)?;
        Ok(Candidate {
            position,
            node: node.node.name,
            victims,
            pdb_violations,
        })
    }

    /// Upstream's `PodEligibleToPreemptOthers`.
    pub(crate) fn why_ineligible(&self) -> Option<&'static str> {
        let Self {
            cx, pod, statuses, ..
        } = self;
        if pod.never_preempts {
            return Some("not eligible due to preemptionPolicy=Never.");
        }
        let at = cx.cluster.node_position(pod.nominated_node_name?)?;
        // Evictions on a node that became hopeless are no reason to wait.
        if statuses.get(at).status.code == Code::UnschedulableAndUnresolvable {
            return None;
        }
        cx.cluster.nodes()[at]
            .pods
            .iter()
            .any(|other| {
                other.priority < pod.priority && other.terminating && other.preempted_by_scheduler
            })
            .then_some("not eligible due to a terminating pod on the nominated node.")
    }
}

/// Tries on every node where it could help whether evictions make room for the pod.
///
/// `minCandidateNodesPercentage` and `minCandidateNodesAbsolute` ask for a minimum of candidates;
/// here all of them are found, always.
pub(crate) fn evaluate(preemptor: Preemptor<'_>) -> PreemptionReport {
    let mut report = PreemptionReport::default();
    let (mut space, budgets) = (DryRunSpace::default(), preemptor.budgets());
    let mut dry_run = preemptor.dry_run(&mut space);
    let nodes = preemptor.cx.cluster.nodes().len();
    for position in (0..nodes).filter(|&position| preemptor.has_hope(position)) {
        match preemptor.try_node(position, &mut dry_run, &budgets) {
            Ok(candidate) => report.candidates.push(candidate),
            Err(status) => report.rejected.push((position, status)),
        }
    }
    let candidates = report.candidates.iter();
    let figures: Vec<_> = candidates.map(|c| (c.figures(), c.node)).collect();
    report.choose(&figures, &preemptor.cx.cluster.names);
    if report.candidates.is_empty() {
        let rejected = report.rejected.iter();
        report.tally = rejected.map(|(_, status)| (status.clone(), 1)).collect();
        report
            .tally
            .push((not_helpful(), nodes - report.rejected.len()));
    }
    report
}

/// The verdict on nodes where the filters left no hope.
pub(super) fn not_helpful() -> PluginStatus {
    PluginStatus {
        plugin: "",
        status: Status::unresolvable("Preemption is not helpful for scheduling"),
    }
}

impl Candidate {
    /// What it is compared by.
    pub(super) fn figures(&self) -> Figures {
        Figures::of(&self.victims, self.pdb_violations)
    }
}

impl PostFilterResult {
    /// Others chose among the candidates, which were taken out of the report. Upstream's
    /// `callExtenders` and what follows from it.
    pub(crate) fn extended(&mut self, cx: Cx<'_>, candidates: Result<Vec<Candidate>, String>) {
        let Some(report) = &mut self.preemption else {
            return;
        };
        let candidates = match candidates {
            Ok(candidates) => candidates,
            Err(error) => {
                report.best.clear();
                self.status = fail(Code::Error, &error);
                self.nomination = Nomination::Keep;
                return;
            }
        };
        let figures: Vec<_> = candidates.iter().map(|c| (c.figures(), c.node)).collect();
        report.candidates = candidates;
        report.best.clear();
        report.choose(&figures, &cx.cluster.names);
        (self.status, self.nomination) = match report.chosen() {
            Some(_) => report.verdict(cx),
            None => {
                let message = "no candidate node for preemption";
                (fail(Code::Unschedulable, message), Nomination::Keep)
            }
        };
    }
}

impl PreemptionReport {
    /// The pod may not preempt others.
    pub(crate) fn ineligible(reason: &'static str) -> Self {
        Self {
            ineligible: Some(reason),
            ..Self::default()
        }
    }

    /// The candidate that is taken.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.best.first().map(|&i| &self.candidates[i])
    }

    /// Chooses among the candidates by these figures of theirs.
    pub(super) fn choose(&mut self, figures: &[(Figures, Sym)], names: &Names) {
        if let Some((best, decided_by)) = pick(figures, names) {
            self.best = best;
            self.decided_by = Some(decided_by);
        }
    }

    /// What PostFilter says, and what becomes of the pod's nomination.
    pub(crate) fn verdict(&self, cx: Cx<'_>) -> (Fit, Nomination) {
        if let Some(reason) = self.ineligible {
            return (fail(Code::Unschedulable, reason), Nomination::Keep);
        }
        if let Some(chosen) = self.chosen() {
            return (Ok(()), Nomination::Set(Some(chosen.node)));
        }
        if let Some(errors) = self.errors(cx) {
            return (fail(Code::Error, &errors), Nomination::Keep);
        }
        let mut histogram = Histogram::default();
        for (rejected, nodes) in &self.tally {
            histogram.add(&rejected.status, *nodes, cx.cluster);
        }
        let message = histogram.message();
        (fail(Code::Unschedulable, &message), Nomination::Set(None))
    }

    /// What broke in the dry runs, each text once.
    fn errors(&self, cx: Cx<'_>) -> Option<String> {
        let mut seen = BTreeSet::new();
        let mut texts: Vec<String> = self
            .tally
            .iter()
            .filter(|(rejected, _)| rejected.status.code == Code::Error)
            .map(|(rejected, _)| rejected.status.message(cx.cluster))
            .filter(|text| seen.insert(text.clone()))
            .collect();
        if texts.len() > 1 {
            return Some(format!("[{}]", texts.join(", ")));
        }
        texts.pop()
    }

    /// What is to be done for `pod`; nothing if all victims are on their way out already.
    pub fn preemption(&self, cx: Cx<'_>, pod: &Pod) -> Option<Preemption> {
        let chosen = self.chosen()?;
        let evict: Vec<_> = chosen
            .victims
            .iter()
            .filter(|victim| !victim.terminating)
            .cloned()
            .collect();
        if evict.is_empty() {
            return None;
        }
        let denominate = cx
            .underway
            .nominator
            .pods_on(chosen.node)
            .iter()
            .filter(|other| other.priority < pod.priority && other.nominated_node_name.is_some())
            .cloned()
            .collect();
        Some(Preemption {
            node: chosen.node,
            victims: chosen.victims.len(),
            evict,
            denominate,
        })
    }
}

fn fail(code: Code, text: &str) -> Fit {
    Err(Status::made(code, format!("preemption: {text}")))
}
