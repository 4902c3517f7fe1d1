//! What dry runs came to, node by node, so that it can be kept.

use super::evaluate::{Candidate, PreemptionReport, Preemptor, evaluate, not_helpful};
use super::pick::Figures;
use super::victims::no_victims;
use super::winner_tree::WinnerTree;
use crate::cast::narrow;
use crate::framework::{Code, Cx, DryRunSpace, PluginStatus};
use crate::model::Pod;

/// Dry runs that are kept for pods that are alike.
pub trait KeptDryRuns {
    /// As `evaluate`, from what is kept.
    fn report(&mut self, preemptor: Preemptor<'_>) -> PreemptionReport;
}

/// What is told of dry runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    /// The chosen candidate; of the others only how many there are.
    Choice,
    /// Everything.
    Everything,
}

/// What a dry run on one node came to.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The filters left no hope.
    Untried,
    /// Evictions do not help, for the reason of this number.
    Rejected(u32),
    /// Evictions make room.
    Candidate(Figures),
}

/// What dry runs on all nodes came to, by the nodes' positions. Who has to go is left out: it takes
/// one more dry run to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct DryRuns {
    outcomes: Vec<Outcome>,
    /// Why evictions do not help, and on how many nodes.
    rejections: Vec<(PluginStatus, usize)>,
    candidates: usize,
    winner_tree: WinnerTree,
    /// The tournament has to be played anew.
    stale: bool,
}

impl DryRuns {
    /// Forgets all nodes.
    pub(crate) fn clear(&mut self) {
        self.outcomes.clear();
        self.rejections.clear();
        self.candidates = 0;
        self.stale = true;
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// About how many bytes they take up.
    pub(crate) fn size(&self) -> usize {
        self.outcomes.capacity() * (size_of::<Outcome>() + size_of::<u32>())
    }

    /// A node came, as the last.
    pub(crate) fn push(&mut self) {
        self.outcomes.push(Outcome::Untried);
        self.stale = true;
    }

    /// A node went, and the last took its position.
    pub(crate) fn swap_remove(&mut self, at: usize) {
        self.set(at, Outcome::Untried);
        self.outcomes.swap_remove(at);
        self.stale = true;
    }

    /// Makes a dry run on each of these nodes.
    pub(crate) fn run(
        &mut self,
        preemptor: Preemptor<'_>,
        space: &mut DryRunSpace,
        nodes: impl Iterator<Item = usize>,
    ) {
        let (mut dry_run, budgets) = (preemptor.dry_run(space), preemptor.budgets());
        for at in nodes {
            let outcome = if !preemptor.has_hope(at) {
                Outcome::Untried
            } else {
                match preemptor.try_node(at, &mut dry_run, &budgets) {
                    Ok(candidate) => Outcome::Candidate(candidate.figures()),
                    Err(status) => Outcome::Rejected(self.rejection(status)),
                }
            };
            self.set(at, outcome);
            if !self.stale {
                let outcomes = &self.outcomes;
                let better = |a, b| better(outcomes, preemptor.cx, a, b);
                self.winner_tree.replay(at, better);
            }
        }
    }

    fn set(&mut self, at: usize, outcome: Outcome) {
        match std::mem::replace(&mut self.outcomes[at], outcome) {
            Outcome::Untried => {}
            Outcome::Rejected(reason) => self.rejections[reason as usize].1 -= 1,
            Outcome::Candidate(_) => self.candidates -= 1,
        }
        match outcome {
            Outcome::Untried => {}
            Outcome::Rejected(reason) => self.rejections[reason as usize].1 += 1,
            Outcome::Candidate(_) => self.candidates += 1,
        }
    }

    /// The number of a reason; one that no node has any more may be given away.
    fn rejection(&mut self, status: PluginStatus) -> u32 {
        let mut known = self.rejections.iter();
        let at = known
            .position(|(known, _)| *known == status)
            .or_else(|| self.rejections.iter().position(|(_, nodes)| *nodes == 0));
        match at {
            Some(at) => {
                self.rejections[at].0 = status;
                narrow(at)
            }
            None => {
                self.rejections.push((status, 0));
                narrow(self.rejections.len()) - 1
            }
        }
    }

    /// What preemption comes to. There must have been a dry run on every node since it changed.
    pub(crate) fn report(
        &mut self,
        preemptor: Preemptor<'_>,
        space: &mut DryRunSpace,
        detail: Detail,
    ) -> PreemptionReport {
        let mut report = match detail {
            Detail::Choice => self.choice(preemptor, space),
            Detail::Everything => self.everything(preemptor, space),
        };
        if report.candidates.is_empty() {
            report.tally = self.tally();
        }
        report
    }

    fn choice(&mut self, preemptor: Preemptor<'_>, space: &mut DryRunSpace) -> PreemptionReport {
        let Some(best) = self.best(preemptor.cx) else {
            return PreemptionReport::default();
        };
        let (mut dry_run, budgets) = (preemptor.dry_run(space), preemptor.budgets());
        match preemptor.try_node(best, &mut dry_run, &budgets) {
            Ok(candidate) => {
                self.check(&candidate);
                PreemptionReport {
                    candidates: vec![candidate],
                    best: vec![0],
                    ..PreemptionReport::default()
                }
            }
            Err(status) => {
                debug_assert!(false, "a candidate is rejected: {status:?}");
                evaluate(preemptor)
            }
        }
    }

    fn everything(
        &mut self,
        preemptor: Preemptor<'_>,
        space: &mut DryRunSpace,
    ) -> PreemptionReport {
        let (mut dry_run, budgets) = (preemptor.dry_run(space), preemptor.budgets());
        let mut report = PreemptionReport::default();
        let mut candidates = Vec::new();
        for (at, outcome) in self.outcomes.iter().enumerate() {
            match outcome {
                Outcome::Untried => {}
                Outcome::Rejected(reason) => {
                    let status = &self.rejections[*reason as usize].0;
                    report.rejected.push((at, status.clone()));
                }
                Outcome::Candidate(figures) => {
                    match preemptor.try_node(at, &mut dry_run, &budgets) {
                        Ok(candidate) => {
                            self.check(&candidate);
                            candidates.push((*figures, candidate.node));
                            report.candidates.push(candidate);
                        }
                        Err(status) => report.rejected.push((at, status)),
                    }
                }
            }
        }
        report.choose(&candidates, &preemptor.cx.cluster.names);
        let chosen = report.chosen().map(|candidate| candidate.position);
        debug_assert_eq!(chosen, self.best(preemptor.cx), "the tournament went wrong");
        report
    }

    /// What is kept must be what a dry run finds.
    fn check(&self, candidate: &Candidate) {
        debug_assert!(
            matches!(self.outcomes[candidate.position], Outcome::Candidate(kept) if kept == candidate.figures()),
            "{candidate:?} is kept as {:?}",
            self.outcomes[candidate.position]
        );
    }

    /// The position of the best candidate; of those that are equally good, the first by name.
    fn best(&mut self, cx: Cx<'_>) -> Option<usize> {
        if self.candidates == 0 {
            return None;
        }
        let outcomes = &self.outcomes;
        if self.stale {
            let better = |a, b| better(outcomes, cx, a, b);
            self.winner_tree.play(outcomes.len(), better);
            self.stale = false;
        }
        self.winner_tree.winner()
    }

    /// How many nodes are no candidates for which reason. Errors come in the order of nodes.
    fn tally(&self) -> Vec<(PluginStatus, usize)> {
        let is_error = |(status, nodes): &&(PluginStatus, usize)| {
            *nodes > 0 && status.status.code == Code::Error
        };
        if self.rejections.iter().any(|rejection| is_error(&rejection)) {
            let rejected = self.outcomes.iter().filter_map(|outcome| match outcome {
                Outcome::Rejected(reason) => Some(&self.rejections[*reason as usize]),
                _ => None,
            });
            let errors = rejected.filter(is_error);
            return errors.map(|(status, _)| (status.clone(), 1)).collect();
        }
        let rejections = self.rejections.iter().filter(|(_, nodes)| *nodes > 0);
        let mut tally: Vec<_> = rejections.cloned().collect();
        let tried: usize = tally.iter().map(|(_, nodes)| nodes).sum();
        tally.push((not_helpful(), self.len() - tried));
        tally
    }
}

/// Which of two nodes is the better candidate.
fn better(outcomes: &[Outcome], cx: Cx<'_>, a: u32, b: u32) -> u32 {
    use Outcome::Candidate;
    let name = |at: u32| {
        let node = &cx.cluster.nodes()[at as usize];
        cx.cluster.names.text(node.node.name)
    };
    let order = match (&outcomes[a as usize], &outcomes[b as usize]) {
        (Candidate(x), Candidate(y)) => x.cmp(y).then_with(|| name(a).cmp(name(b))),
        (Candidate(_), _) => return a,
        _ => return b,
    };
    if order.is_lt() { a } else { b }
}

/// What preemption comes to where no pod on any node has a lower priority than `pod`.
pub(crate) fn report_without_victims(preemptor: Preemptor<'_>, detail: Detail) -> PreemptionReport {
    let mut report = PreemptionReport::default();
    let (mut hopeful, mut nodes) = (0, 0);
    preemptor.statuses.tally(&mut |verdict, members| {
        nodes += members;
        if verdict.status.code == Code::Unschedulable {
            hopeful += members;
        }
    });
    report.tally = vec![(no_victims(), hopeful), (not_helpful(), nodes - hopeful)];
    if detail == Detail::Everything {
        let hopeful = (0..nodes).filter(|at| preemptor.has_hope(*at));
        report.rejected = hopeful.map(|at| (at, no_victims())).collect();
    }
    report
}

/// Whether dry runs can be left out: nobody on any node has a lower priority than `pod`.
pub(crate) fn has_no_victims(cx: Cx<'_>, pod: &Pod) -> bool {
    cx.cluster
        .least_priority()
        .is_none_or(|least| least >= pod.priority)
}
