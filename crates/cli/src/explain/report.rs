//! The tournament as data: what `-o json` and `-o yaml` print, and what tables are made of.

use super::find::{Found, State};
use crate::output;
use crate::world::requests;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use stowplan_engine::Snapshot;
use stowplan_engine::explain::{Explanation, NodeVerdict};
use stowplan_engine::framework::{Code, Framework, PluginStatus, PostFilterResult, Status};
use stowplan_engine::model::Pod;
use stowplan_engine::packing::Packing;
use stowplan_engine::plugins::default_preemption::{Candidate, PreemptionReport};

/// The whole tournament of one pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    api_version: &'static str,
    kind: &'static str,
    pub(super) pod: PodReport,
    pub(super) outcome: Outcome,
    /// The text of the condition PodScheduled, where the pod fits nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// Who held the pod back, rejected it before any node was asked, or broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rejected_by: Option<Verdict>,
    /// What broke while scoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score_error: Option<Verdict>,
    /// The only nodes that were asked, where PreFilter narrowed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) narrowed_to: Option<Vec<String>>,
    /// The node that the pod was promised and that is taken without a look at the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nominated_node: Option<String>,
    /// Nodes with the greatest total: any of them is right.
    pub(super) best: Vec<String>,
    /// How many nodes are feasible.
    pub(super) feasible: usize,
    /// How many nodes there are.
    pub(super) total_nodes: usize,
    /// Filters that had nothing to check.
    pub(super) skipped_filters: Vec<&'static str>,
    /// Scores that had nothing to tell nodes apart by.
    pub(super) skipped_scores: Vec<&'static str>,
    /// The packing policy that takes the place of all scores.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "policy")]
    pub(super) packing: Option<Packing>,
    /// Every node, or the one that was asked for.
    pub(super) nodes: Vec<NodeReport>,
    /// What preemption tried, where the pod fits nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preemption: Option<PreemptionSummary>,
}

/// What comes of the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) enum Outcome {
    /// It has a place.
    Fits,
    /// It has none, but preemption makes one.
    FitsAfterPreemption,
    /// It has none.
    FitsNowhere,
    /// It is not even tried.
    Gated,
    /// The attempt broke.
    Error,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodReport {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) priority: i32,
    pub(super) scheduler_name: String,
    /// `Pending`, `Bound` or `Hypothetical`.
    pub(super) state: &'static str,
    /// Where it is, if it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// Whose pod it would be, if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workload: Option<String>,
    /// What it asks for: cpu in thousandths, memory and storage in bytes.
    #[serde(serialize_with = "quantities")]
    pub(super) requests: BTreeMap<String, i64>,
}

fn policy<S: Serializer>(packing: &Option<Packing>, to: S) -> Result<S::Ok, S::Error> {
    packing.map(Packing::name).serialize(to)
}

/// Amounts as the API writes them.
fn quantities<S: Serializer>(amounts: &BTreeMap<String, i64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(
        amounts
            .iter()
            .map(|(name, value)| (name, output::exact(name, *value))),
    )
}

/// A verdict and who gave it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Verdict {
    pub(super) plugin: &'static str,
    pub(super) code: &'static str,
    pub(super) reasons: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeReport {
    pub(super) name: String,
    pub(super) feasible: bool,
    /// The first who rejected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rejected_by: Option<Verdict>,
    /// Every filter that had something to check; `code` is `Success` where it passed.
    pub(super) filters: Vec<Verdict>,
    pub(super) scores: Vec<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<i64>,
    /// What preemption found out about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preemption: Option<NodePreemption>,
}

#[derive(Serialize)]
pub(super) struct Score {
    pub(super) plugin: &'static str,
    /// Before NormalizeScore; nothing if the plugin leaves the node out.
    pub(super) raw: Option<i64>,
    /// After NormalizeScore.
    pub(super) normalized: i64,
    pub(super) weight: i64,
}

impl Score {
    pub(super) fn weighted(&self) -> i64 {
        self.normalized * self.weight
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodePreemption {
    /// Who would have to go, the most important first.
    pub(super) victims: Vec<String>,
    /// How many of them a PodDisruptionBudget protects.
    pub(super) pdb_violations: usize,
    /// Why nobody's going would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rejected_by: Option<Verdict>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreemptionSummary {
    /// Why the pod may not preempt others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ineligible: Option<&'static str>,
    /// Where room is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// The rule that told the node from the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<&'static str>,
}

impl Report {
    /// What the engine found out, in words.
    pub(super) fn new(
        cluster: &Snapshot,
        framework: &Framework,
        found: &Found,
        explanation: &Explanation,
    ) -> Self {
        let name = |at: &usize| node_name(cluster, *at);
        let preemption = explanation
            .post_filter
            .as_ref()
            .and_then(|post| post.preemption.as_ref());
        let no_nodes = cluster.nodes().is_empty() && explanation.pre_enqueue.is_none();
        let early = [
            &explanation.pre_enqueue,
            &explanation.error,
            &explanation.pre_filter,
        ];
        Self {
            api_version: "stowplan.dev/v1",
            kind: "Explanation",
            pod: pod_report(cluster, found),
            outcome: outcome(explanation),
            message: match no_nodes {
                true => Some("no nodes available to schedule pods".to_owned()),
                false => explanation.message.clone(),
            },
            rejected_by: early
                .into_iter()
                .flatten()
                .next()
                .map(|status| verdict(cluster, status)),
            score_error: explanation
                .score_error
                .as_ref()
                .map(|status| verdict(cluster, status)),
            narrowed_to: explanation.narrowed_to.as_ref().map(|nodes| {
                nodes
                    .iter()
                    .map(|node| cluster.names.text(*node).to_owned())
                    .collect()
            }),
            nominated_node: explanation.nominated.as_ref().map(name),
            best: explanation.best.iter().map(name).collect(),
            feasible: explanation.feasible.len(),
            total_nodes: cluster.nodes().len(),
            skipped_filters: explanation.skipped_filters.clone(),
            skipped_scores: explanation.skipped_scores.clone(),
            packing: framework.packing(),
            nodes: node_reports(cluster, explanation, preemption),
            preemption: preemption.map(|report| PreemptionSummary {
                ineligible: report.ineligible,
                node: report
                    .chosen()
                    .map(|chosen| cluster.names.text(chosen.node).to_owned()),
                decided_by: report.decided_by.map(|rule| rule.as_str()),
            }),
        }
    }

    /// Leaves only one node in; says whether there is such a node.
    pub(super) fn retain_node(&mut self, name: &str) -> bool {
        self.nodes.retain(|node| node.name == name);
        !self.nodes.is_empty()
    }
}

fn outcome(explanation: &Explanation) -> Outcome {
    let makes_room = |post: &PostFilterResult| post.status.is_ok();
    if explanation.pre_enqueue.is_some() {
        Outcome::Gated
    } else if explanation.error.is_some() {
        Outcome::Error
    } else if !explanation.best.is_empty() {
        Outcome::Fits
    } else if explanation.post_filter.as_ref().is_some_and(makes_room) {
        Outcome::FitsAfterPreemption
    } else {
        Outcome::FitsNowhere
    }
}

fn node_name(cluster: &Snapshot, at: usize) -> String {
    cluster.names.text(cluster.nodes()[at].node.name).to_owned()
}

fn pod_report(cluster: &Snapshot, found: &Found) -> PodReport {
    let pod = &found.pod;
    let (state, node, workload) = match &found.state {
        State::Pending => ("Pending", None, None),
        State::Bound(node) => ("Bound", Some(node.clone()), None),
        State::Hypothetical(workload) => ("Hypothetical", None, Some(workload.clone())),
    };
    PodReport {
        namespace: pod.key.namespace.to_string(),
        name: pod.key.name.to_string(),
        priority: pod.priority,
        scheduler_name: cluster.names.text(pod.scheduler_name).to_owned(),
        state,
        node,
        workload,
        requests: requests(cluster, pod).into_iter().collect(),
    }
}

fn verdict(cluster: &Snapshot, status: &PluginStatus) -> Verdict {
    rejection(cluster, status.plugin, &status.status)
}

fn rejection(cluster: &Snapshot, plugin: &'static str, status: &Status) -> Verdict {
    Verdict {
        plugin,
        code: status.code.as_str(),
        reasons: status
            .reasons()
            .iter()
            .map(|reason| reason.render(cluster))
            .collect(),
    }
}

fn node_reports(
    cluster: &Snapshot,
    explanation: &Explanation,
    preemption: Option<&PreemptionReport>,
) -> Vec<NodeReport> {
    let report = |(at, node): (usize, &NodeVerdict)| {
        let rank = explanation.feasible.binary_search(&at).ok();
        let rank = rank.filter(|rank| *rank < explanation.scores.totals.len());
        NodeReport {
            name: cluster.names.text(node.node).to_owned(),
            feasible: node.rejected.is_none(),
            rejected_by: node
                .rejected
                .as_ref()
                .map(|status| verdict(cluster, status)),
            filters: filters(cluster, node),
            scores: rank
                .map(|rank| scores(explanation, rank))
                .unwrap_or_default(),
            total: rank.map(|rank| explanation.scores.totals[rank]),
            preemption: preemption.and_then(|report| node_preemption(cluster, report, at)),
        }
    };
    explanation.nodes.iter().enumerate().map(report).collect()
}

fn filters(cluster: &Snapshot, node: &NodeVerdict) -> Vec<Verdict> {
    let filters = node.filters.iter();
    filters
        .map(|(plugin, fit)| match fit {
            Ok(()) => Verdict {
                plugin,
                code: "Success",
                reasons: Vec::new(),
            },
            Err(status) => rejection(cluster, plugin, status),
        })
        .collect()
}

fn scores(explanation: &Explanation, rank: usize) -> Vec<Score> {
    let plugins = explanation.scores.plugins.iter();
    plugins
        .map(|scores| Score {
            plugin: scores.plugin,
            raw: scores.raw[rank],
            normalized: scores.normalized[rank],
            weight: scores.weight,
        })
        .collect()
}

fn node_preemption(
    cluster: &Snapshot,
    report: &PreemptionReport,
    at: usize,
) -> Option<NodePreemption> {
    let names = |candidate: &Candidate| {
        let victim = |victim: &std::sync::Arc<Pod>| victim.key.to_string();
        candidate.victims.iter().map(victim).collect()
    };
    if let Some(candidate) = report.candidates.iter().find(|c| c.position == at) {
        return Some(NodePreemption {
            victims: names(candidate),
            pdb_violations: candidate.pdb_violations,
            rejected_by: None,
        });
    }
    let (_, status) = report
        .rejected
        .iter()
        .find(|(position, _)| *position == at)?;
    Some(NodePreemption {
        victims: Vec::new(),
        pdb_violations: 0,
        rejected_by: Some(verdict(cluster, status)),
    })
}

/// Whether a verdict leaves hope that evictions help.
pub(super) fn is_hopeless(verdict: &Verdict) -> bool {
    verdict.code == Code::UnschedulableAndUnresolvable.as_str()
}
