//! The search for a node where evictions make room.

use super::pick::{DecidedBy, pick};
use super::victims::select_victims;
use crate::framework::{
    Code, Cx, CycleState, Diagnosis, Fit, Framework, NodeStatuses, Nomination, PluginStatus, Status,
};
use crate::model::{Pod, PodDisruptionBudget};
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::Sym;

/// A node where the pod would fit if the victims were gone.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where the node stands in the snapshot's list.
    pub position: usize,
    /// The node's name.
    pub node: Sym,
    /// Who would have to go, the most important first; never empty.
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
    /// The pods to be evicted; the last of them after all others.
    pub evict: Vec<Arc<Pod>>,
    /// Pods that have to give up their nomination to the node.
    pub denominate: Vec<Arc<Pod>>,
}

/// Tries on every node where it could help whether evictions make room for `pod`.
///
/// `minCandidateNodesPercentage` and `minCandidateNodesAbsolute` ask for a minimum of candidates;
/// here all of them are found, always.
pub fn evaluate(
    framework: &Framework,
    cx: Cx<'_>,
    cycle: &CycleState,
    pod: &Pod,
    statuses: &NodeStatuses,
) -> PreemptionReport {
    let mut report = PreemptionReport {
        ineligible: why_ineligible(cx, pod, statuses),
        ..PreemptionReport::default()
    };
    if report.ineligible.is_some() {
        return report;
    }
    let budgets: Vec<&PodDisruptionBudget> = cx.cluster.budgets.iter().map(|b| &**b).collect();
    for (position, node) in cx.cluster.nodes().iter().enumerate() {
        if statuses.get(position).status.code != Code::Unschedulable {
            continue;
        }
        match select_victims(framework, cx, cycle, pod, node, &budgets) {
            Ok((victims, pdb_violations)) => report.candidates.push(Candidate {
                position,
                node: node.node.name,
                victims,
                pdb_violations,
            }),
            Err(status) => report.rejected.push((position, status)),
        }
    }
    if let Some((best, decided_by)) = pick(&report.candidates, &cx.cluster.names) {
        report.best = best;
        report.decided_by = Some(decided_by);
    }
    report
}

/// Upstream's `PodEligibleToPreemptOthers`.
fn why_ineligible(cx: Cx<'_>, pod: &Pod, statuses: &NodeStatuses) -> Option<&'static str> {
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

impl PreemptionReport {
    /// The candidate that is taken.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.best.first().map(|&i| &self.candidates[i])
    }

    /// What PostFilter says, and what becomes of the pod's nomination.
    pub(super) fn verdict(&self, cx: Cx<'_>) -> (Fit, Nomination) {
        if let Some(reason) = self.ineligible {
            return (fail(Code::Unschedulable, reason), Nomination::Keep);
        }
        if let Some(chosen) = self.chosen() {
            return (Ok(()), Nomination::Set(Some(chosen.node)));
        }
        if let Some(errors) = self.errors(cx) {
            return (fail(Code::Error, &errors), Nomination::Keep);
        }
        let mut diagnosis = Diagnosis::new(cx.cluster.nodes().len());
        diagnosis.statuses.set_absent(PluginStatus {
            plugin: "",
            status: Status::unresolvable("Preemption is not helpful for scheduling"),
        });
        for (position, status) in &self.rejected {
            diagnosis.statuses.set(*position, status.clone());
        }
        let message = diagnosis.message(cx.cluster);
        (fail(Code::Unschedulable, &message), Nomination::Set(None))
    }

    /// What broke in the dry runs, each text once.
    fn errors(&self, cx: Cx<'_>) -> Option<String> {
        let mut seen = BTreeSet::new();
        let mut texts: Vec<String> = self
            .rejected
            .iter()
            .filter(|(_, rejected)| rejected.status.code == Code::Error)
            .map(|(_, rejected)| rejected.status.message(cx.cluster))
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
            .nominator
            .pods_on(chosen.node)
            .iter()
            .filter(|other| other.priority < pod.priority && other.nominated_node_name.is_some())
            .cloned()
            .collect();
        Some(Preemption {
            node: chosen.node,
            evict,
            denominate,
        })
    }
}

fn fail(code: Code, text: &str) -> Fit {
    Err(Status::made(code, format!("preemption: {text}")))
}
