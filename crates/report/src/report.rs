//! The tournament as data: what `-o json` and `-o yaml` print, and what tables are made of.

use crate::change::Change;
use crate::quantity;
use crate::spread::Spread;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use stowplan_engine::Snapshot;
use stowplan_engine::explain::{Explanation, NodeVerdict};
use stowplan_engine::framework::{Candidate, PreemptionReport};
use stowplan_engine::framework::{Code, Framework, PluginStatus, Point, PostFilterResult, Status};
use stowplan_engine::model::Pod;
use stowplan_engine::remedy::Remedies;

/// A name: one of ours, or one that was read.
pub type Text = Cow<'static, str>;

/// What is known of a pod's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// On no node yet.
    Pending,
    /// On this node; it was taken off for the question.
    Bound(String),
    /// One more pod of this workload; it does not exist.
    Hypothetical(String),
    /// It does not exist, and is nobody's.
    Imagined,
}

/// When and how what is told was found out, for a pod of a live cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Whether the cluster is that of the decision; else it is that of the question.
    pub at_decision: bool,
    /// When the pod was last tried, if that is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<String>,
    /// What to know about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The whole tournament of one pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    api_version: Text,
    kind: Text,
    /// The pod.
    pub pod: PodReport,
    /// When the question was asked, of a live cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<Moment>,
    /// What comes of it.
    pub outcome: Outcome,
    /// The text of the condition PodScheduled, where the pod fits nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who held the pod back, rejected it before any node was asked, or broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_by: Option<Verdict>,
    /// What broke while scoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_error: Option<Verdict>,
    /// The only nodes that were asked, where PreFilter narrowed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrowed_to: Option<Vec<String>>,
    /// The node that the pod was promised and that is taken without a look at the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// Nodes with the greatest total: any of them is right.
    pub best: Vec<String>,
    /// How many nodes are feasible.
    pub feasible: usize,
    /// How many nodes there are.
    pub total_nodes: usize,
    /// Filters that had nothing to check.
    pub skipped_filters: Vec<Text>,
    /// Scores that had nothing to tell nodes apart by.
    pub skipped_scores: Vec<Text>,
    /// The packing policy that takes the place of all scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<Text>,
    /// Every node, or the one that was asked for.
    pub nodes: Vec<NodeReport>,
    /// The pod's own topology spread constraints, and how its like are spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<Spread>,
    /// What preemption tried, where the pod fits nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<PreemptionSummary>,
    /// Changes of which each alone makes the pod fit, where it fits nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_would_help: Option<Vec<Change>>,
    /// How many other changes suggest themselves and were not tried, though few helped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes_untried: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What comes of the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outcome {
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

/// The pod that is asked about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: i32,
    /// `spec.schedulerName`.
    pub scheduler_name: String,
    /// `Pending`, `Bound` or `Hypothetical`.
    pub state: Text,
    /// Where it is, if it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Whose pod it would be, if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What it asks for: cpu in thousandths, memory and storage in bytes.
    #[serde(serialize_with = "quantities", deserialize_with = "amounts")]
    pub requests: BTreeMap<String, i64>,
}

/// Amounts as the API writes them.
fn quantities<S: Serializer>(amounts: &BTreeMap<String, i64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(
        amounts
            .iter()
            .map(|(name, value)| (name, quantity::exact(name, *value))),
    )
}

/// What [`quantities`] wrote.
fn amounts<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, i64>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(from)?;
    let amounts = texts.into_iter().map(|(name, text)| {
        let amount = quantity::parse_exact(&name, &text);
        let wrong = || serde::de::Error::custom(format_args!("{text:?} is no amount of {name}"));
        Ok((name.clone(), amount.ok_or_else(wrong)?))
    });
    amounts.collect()
}

/// A verdict and who gave it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The plugin.
    pub plugin: Text,
    /// The code of its status.
    pub code: Text,
    /// What it said.
    pub reasons: Vec<String>,
}

/// How one node fared.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Whether the pod fits there.
    pub feasible: bool,
    /// The first who rejected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_by: Option<Verdict>,
    /// Every filter that had something to check; `code` is `Success` where it passed.
    pub filters: Vec<Verdict>,
    /// What each plugin gave it.
    pub scores: Vec<Score>,
    /// The weighted sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// What preemption found out about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<NodePreemption>,
}

/// What one plugin gave one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// The plugin.
    pub plugin: Text,
    /// Before NormalizeScore; nothing if the plugin leaves the node out.
    pub raw: Option<i64>,
    /// After NormalizeScore.
    pub normalized: i64,
    /// What the score is multiplied by.
    pub weight: i64,
}

impl Score {
    /// What it adds to the total.
    pub fn weighted(&self) -> i64 {
        self.normalized * self.weight
    }
}

/// What preemption found out about one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePreemption {
    /// Who would have to go, the most important first.
    pub victims: Vec<String>,
    /// How many of them a PodDisruptionBudget protects.
    pub pdb_violations: usize,
    /// Why nobody's going would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_by: Option<Verdict>,
}

/// What preemption came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionSummary {
    /// Why the pod may not preempt others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ineligible: Option<Text>,
    /// Where room is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The rule that told the node from the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Text>,
}

impl Report {
    /// What the engine found out, in words.
    pub fn new(
        cluster: &Snapshot,
        framework: &Framework,
        pod: &Pod,
        state: &State,
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
            api_version: "stowplan.dev/v1".into(),
            kind: "Explanation".into(),
            pod: pod_report(cluster, pod, state),
            moment: None,
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
            skipped_filters: named(&explanation.skipped_filters),
            skipped_scores: named(&explanation.skipped_scores),
            packing: framework.packing().map(|packing| packing.name().into()),
            nodes: node_reports(cluster, explanation, preemption),
            spread: match spreads(framework) {
                true => Spread::all(cluster, pod, state),
                false => Vec::new(),
            },
            preemption: preemption.map(|report| PreemptionSummary {
                ineligible: report.ineligible.map(Text::from),
                node: report
                    .chosen()
                    .map(|chosen| cluster.names.text(chosen.node).to_owned()),
                decided_by: report.decided_by.map(|rule| rule.as_str().into()),
            }),
            what_would_help: None,
            changes_untried: 0,
        }
    }

    /// Adds what would make the pod fit, as it was tried on this cluster.
    pub fn suggest(&mut self, cluster: &Snapshot, remedies: &Remedies) {
        let suggestions = remedies.suggestions.iter();
        self.what_would_help = Some(suggestions.map(|s| Change::new(cluster, s)).collect());
        self.changes_untried = remedies.untried;
    }

    /// Leaves only one node in; says whether there is such a node.
    pub fn retain_node(&mut self, name: &str) -> bool {
        self.nodes.retain(|node| node.name == name);
        !self.nodes.is_empty()
    }
}

/// Whether the profile looks at topology spread constraints.
fn spreads(framework: &Framework) -> bool {
    let filters = framework.enabled_at(Point::Filter);
    filters.contains(&"PodTopologySpread")
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

fn named(plugins: &[&'static str]) -> Vec<Text> {
    plugins.iter().map(|plugin| Text::from(*plugin)).collect()
}

fn pod_report(cluster: &Snapshot, pod: &Pod, state: &State) -> PodReport {
    let (state, node, workload) = match state {
        State::Pending => ("Pending", None, None),
        State::Bound(node) => ("Bound", Some(node.clone()), None),
        State::Hypothetical(workload) => ("Hypothetical", None, Some(workload.clone())),
        State::Imagined => ("Hypothetical", None, None),
    };
    PodReport {
        namespace: pod.key.namespace.to_string(),
        name: pod.key.name.to_string(),
        priority: pod.priority,
        scheduler_name: cluster.names.text(pod.scheduler_name).to_owned(),
        state: state.into(),
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
        plugin: plugin.into(),
        code: status.code.as_str().into(),
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
                plugin: Text::from(*plugin),
                code: "Success".into(),
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
            plugin: scores.plugin.into(),
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

/// What a pod asks for, by resource: cpu in thousandths, the rest in whole units.
pub fn requests(cluster: &Snapshot, pod: &Pod) -> Vec<(String, i64)> {
    let name = |id| {
        cluster
            .names
            .text(cluster.resource_names.name(id))
            .to_owned()
    };
    let columns = pod.requests.total_columns.iter();
    columns.map(|(id, amount)| (name(id), amount)).collect()
}

/// Whether a verdict leaves no hope that evictions help.
pub fn is_hopeless(verdict: &Verdict) -> bool {
    verdict.code == Code::UnschedulableAndUnresolvable.as_str()
}
