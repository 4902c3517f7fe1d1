//! The whole tournament of one pod: every node, every plugin, verdicts and scores.

use crate::framework::{Cx, Fit, Framework, PluginStatus, PostFilterResult, ScoreTable};
use crate::model::Pod;
use crate::schedule::{self, Feasibility, Scope};
use stowplan_base::Sym;

/// How one node fared.
#[derive(Clone, Debug)]
pub struct NodeVerdict {
    /// The node.
    pub node: Sym,
    /// Who rejected it first; `None` if it is feasible.
    pub rejected: Option<PluginStatus>,
    /// Whether it was asked at all: PreFilter may have ruled it out.
    pub asked: bool,
    /// The verdict of every filter, nominated pods left aside; empty unless asked for.
    pub filters: Vec<(&'static str, Fit)>,
}

/// Everything about one decision.
pub struct Explanation {
    /// Who keeps the pod out of the queue; nothing else is known then.
    pub pre_enqueue: Option<PluginStatus>,
    /// What broke, and where; the attempt ends there.
    pub error: Option<PluginStatus>,
    /// Who rejected the pod before any node was asked.
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
    let mut explanation = Explanation::empty();
    explanation.pre_enqueue = framework.run_pre_enqueue(cx, pod, None);
    if explanation.pre_enqueue.is_some() {
        return explanation;
    }
    let mut found = match schedule::find_feasible(framework, cx, pod, Scope::Everything) {
        Ok(found) => found,
        Err(error) => {
            explanation.error = Some(error);
            return explanation;
        }
    };
    explanation.skipped_filters = framework.skipped_filters(&found.cycle);
    explanation.nodes = node_verdicts(framework, cx, pod, &found, all_filters);
    explanation.pre_filter = found.pre_filter.clone();
    explanation.narrowed_to = found.narrowed_to.clone();
    explanation.feasible = found.feasible.clone();
    explanation.nominated = found.nominated;
    match (found.feasible.is_empty(), explanation.nominated) {
        (true, Some(at)) => explanation.best = vec![at],
        (true, None) => {
            explanation.post_filter = schedule::run_post_filters(framework, cx, &mut found, pod);
            explanation.message = Some(found.diagnosis.message(cx.cluster));
        }
        (false, _) => pick_best(framework, cx, pod, &mut found, &mut explanation),
    }
    explanation
}

fn node_verdicts(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    found: &Feasibility,
    all_filters: bool,
) -> Vec<NodeVerdict> {
    let statuses = &found.diagnosis.statuses;
    let verdict = |(at, node): (usize, &crate::NodeInfo)| {
        let feasible = found.feasible.binary_search(&at).is_ok();
        let asked = feasible || statuses.is_explicit(at);
        NodeVerdict {
            node: node.node.name,
            rejected: (!feasible).then(|| statuses.get(at).clone()),
            asked,
            filters: if asked && all_filters {
                framework.run_all_filters(cx, &found.cycle, pod, node)
            } else {
                Vec::new()
            },
        }
    };
    cx.cluster.nodes().iter().enumerate().map(verdict).collect()
}

fn pick_best(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    found: &mut Feasibility,
    explanation: &mut Explanation,
) {
    let nodes: Vec<_> = found
        .feasible
        .iter()
        .map(|&at| &cx.cluster.nodes()[at])
        .collect();
    let scored = framework
        .run_pre_score(cx, &mut found.cycle, pod, &nodes)
        .and_then(|()| {
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
