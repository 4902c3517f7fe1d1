//! The whole tournament of one pod: every node, every plugin, verdicts and scores.

use crate::framework::{Cx, Fit, Framework, PluginStatus, PostFilterResult, ScoreTable};
use crate::model::Pod;
use crate::schedule::{self, Coverage, Feasibility};
use stowplan_base::Sym;

/// How one node fared.
#[derive(Clone, Debug)]
pub struct NodeVerdict {
    /// The node.
    pub node: Sym,
    /// The plugin that rejected it first; `None` if it is feasible.
    pub rejected: Option<PluginStatus>,
    /// Whether it was asked at all: PreFilter may have ruled it out.
    pub asked: bool,
    /// The verdict of every filter, nominated pods left aside; empty unless asked for.
    pub filters: Vec<(&'static str, Fit)>,
}

/// Everything about one decision.
pub struct Explanation {
    /// The plugin that keeps the pod out of the queue; nothing else is known then.
    pub pre_enqueue: Option<PluginStatus>,
    /// What broke, and where; the attempt ends there.
    pub error: Option<PluginStatus>,
    /// The plugin that rejected the pod before any node was looked at.
    pub pre_filter: Option<PluginStatus>,
    /// The only nodes that were asked, if PreFilter narrowed them.
    pub narrowed_to: Option<Vec<Sym>>,
    /// The plugins whose filter had nothing to check.
    pub skipped_filters: Vec<&'static str>,
    /// Every node, in the snapshot's order.
    pub nodes: Vec<NodeVerdict>,
    /// Positions in `nodes` of the feasible ones, ascending.
    pub feasible: Vec<usize>,
    /// The plugins that had nothing to tell the nodes apart by.
    pub skipped_scores: Vec<&'static str>,
    /// The scores of the feasible nodes.
    pub scores: ScoreTable,
    /// What broke while scoring. It matters only when there is a choice.
    pub score_error: Option<PluginStatus>,
    /// The node that the pod was promised and that is taken without a look at the others.
    pub nominated: Option<usize>,
    /// Positions in `nodes` of the best ones: any of them is right.
    pub best: Vec<usize>,
    /// What was tried when the pod fit nowhere.
    pub post_filter: Option<PostFilterResult>,
    /// The text of the PodScheduled condition when the pod fits nowhere.
    pub message: Option<String>,
}

impl Explanation {
    fn empty() -> Self {
        Self {
            pre_enqueue: None,
            error: None,
            pre_filter: None,
            narrowed_to: None,
            skipped_filters: Vec::new(),
            nodes: Vec::new(),
            feasible: Vec::new(),
            skipped_scores: Vec::new(),
            scores: ScoreTable::default(),
            score_error: None,
            nominated: None,
            best: Vec::new(),
            post_filter: None,
            message: None,
        }
    }
}

/// Plays the tournament of `pod` without changing anything.
///
/// `all_filters` also asks the filters behind the first that rejects a node. Scores are computed
/// even where the scheduler would not need them, with only one feasible node.
pub fn explain(framework: &Framework, cx: Cx<'_>, pod: &Pod, all_filters: bool) -> Explanation {
    let tournament = Tournament {
        framework,
        cx,
        pod,
        all_filters,
    };
    if let Some(held_back) = tournament.held_back() {
        return held_back;
    }
    match schedule::find_feasible(framework, cx, pod, Coverage::Everything) {
        Ok(found) => tournament.explain(found, PreScored::No),
        Err(error) => Explanation {
            error: Some(error),
            ..Explanation::empty()
        },
    }
}

/// Whether the scores are prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PreScored {
    /// PreScore is yet to be run.
    No,
    /// What it would leave is kept.
    Kept,
}

/// One pod's contest.
#[derive(Clone, Copy)]
pub(crate) struct Tournament<'a> {
    pub(crate) framework: &'a Framework,
    pub(crate) cx: Cx<'a>,
    pub(crate) pod: &'a Pod,
    /// Whether to ask the filters behind the first that rejects a node.
    pub(crate) all_filters: bool,
}

impl Tournament<'_> {
    /// All there is to say of a pod that may not enter the queue.
    pub(crate) fn held_back(&self) -> Option<Explanation> {
        let pre_enqueue = self.framework.run_pre_enqueue(self.cx, self.pod, None)?;
        Some(Explanation {
            pre_enqueue: Some(pre_enqueue),
            ..Explanation::empty()
        })
    }

    /// Everything from Filter on.
    pub(crate) fn explain(&self, mut found: Feasibility, scores: PreScored) -> Explanation {
        let mut explanation = Explanation {
            skipped_filters: self.framework.skipped_filters(&found.cycle),
            nodes: self.node_verdicts(&found),
            pre_filter: found.pre_filter.clone(),
            narrowed_to: found.narrowed_to.clone(),
            feasible: found.feasible.clone(),
            nominated: found.nominated,
            ..Explanation::empty()
        };
        match (found.feasible.is_empty(), explanation.nominated) {
            (true, Some(at)) => explanation.best = vec![at],
            (true, None) => {
                explanation.post_filter =
                    schedule::run_post_filters(self.framework, self.cx, &mut found, self.pod);
                explanation.message = Some(found.diagnosis.message(self.cx.cluster));
            }
            (false, _) => self.pick_best(&mut found, scores, &mut explanation),
        }
        explanation
    }

    fn node_verdicts(&self, found: &Feasibility) -> Vec<NodeVerdict> {
        let Self {
            framework, cx, pod, ..
        } = *self;
        let statuses = &found.diagnosis.statuses;
        let verdict = |(at, node): (usize, &crate::NodeInfo)| {
            let feasible = found.feasible.binary_search(&at).is_ok();
            let asked = feasible || statuses.is_explicit(at);
            NodeVerdict {
                node: node.node.name,
                rejected: (!feasible).then(|| statuses.get(at).clone()),
                asked,
                filters: if asked && self.all_filters {
                    framework.run_all_filters(cx, &found.cycle, pod, node)
                } else {
                    Vec::new()
                },
            }
        };
        cx.cluster.nodes().iter().enumerate().map(verdict).collect()
    }

    fn pick_best(&self, found: &mut Feasibility, scores: PreScored, explanation: &mut Explanation) {
        let Self {
            framework, cx, pod, ..
        } = *self;
        let nodes = found.feasible.iter().map(|&at| &cx.cluster.nodes()[at]);
        let nodes: Vec<_> = nodes.collect();
        let prepared = match scores {
            PreScored::No => framework.run_pre_score(cx, &mut found.cycle, pod, &nodes),
            PreScored::Kept => Ok(()),
        };
        let scored = prepared.and_then(|()| {
            explanation.skipped_scores = framework.skipped_scores(&found.cycle);
            framework.run_scores(cx, &found.cycle, pod, &nodes)
        });
        match scored {
            Ok(table) => {
                explanation.best = schedule::best_of(&found.feasible, &table);
                explanation.scores = table;
            }
            Err(error) => explanation.score_error = Some(error),
        }
        if let Some(at) = explanation.nominated {
            explanation.best = vec![at];
        } else if let ([only], Some(_)) = (&found.feasible[..], &explanation.score_error) {
            explanation.best = vec![*only];
        } else if let Some(error) = &explanation.score_error {
            explanation.error = Some(error.clone());
        }
    }
}
