//! Why a pod fits nowhere.

use super::{Code, PluginStatus, Reasons, Status};
use crate::Snapshot;
use crate::cast::narrow;
use std::collections::{BTreeMap, BTreeSet};

/// Why each node was rejected. Upstream's `NodeToStatus`.
#[derive(Clone, Debug)]
pub struct NodeStatuses {
    /// The verdicts that occur.
    verdicts: Vec<PluginStatus>,
    /// By position in the snapshot's list of nodes: which verdict, counted from 1; 0 for nodes that
    /// were not asked.
    nodes: Vec<u32>,
    /// The verdict on nodes that were not asked.
    absent: PluginStatus,
}

/// Why nodes were rejected: one by one, and how many for which reason.
pub trait Verdicts {
    /// The verdict on the node at this position.
    fn get(&self, node: usize) -> &PluginStatus;

    /// Every verdict, with a number of nodes. No node is counted twice.
    fn tally(&self, see: &mut dyn FnMut(&PluginStatus, usize));
}

impl Verdicts for NodeStatuses {
    fn get(&self, node: usize) -> &PluginStatus {
        self.get(node)
    }

    fn tally(&self, see: &mut dyn FnMut(&PluginStatus, usize)) {
        let mut nodes = vec![0; self.verdicts.len() + 1];
        for verdict in &self.nodes {
            nodes[*verdict as usize] += 1;
        }
        let statuses = std::iter::once(&self.absent).chain(&self.verdicts);
        for (verdict, nodes) in statuses.zip(nodes).filter(|(_, nodes)| *nodes > 0) {
            see(verdict, nodes);
        }
    }
}

impl NodeStatuses {
    /// No node was asked yet.
    pub fn new(nodes: usize) -> Self {
        Self::of(Vec::new(), vec![0; nodes])
    }

    /// These verdicts occur; `nodes` says by position which, counted from 1, or 0 if the node was
    /// not asked.
    pub(crate) fn of(verdicts: Vec<PluginStatus>, nodes: Vec<u32>) -> Self {
        Self {
            verdicts,
            nodes,
            absent: PluginStatus {
                plugin: "",
                status: Status {
                    code: Code::UnschedulableAndUnresolvable,
                    reasons: Reasons::Many([].into()),
                },
            },
        }
    }

    /// Sets the verdict on one node.
    pub fn set(&mut self, node: usize, status: PluginStatus) {
        // Nodes in a row often get the same verdict.
        let known = self.verdicts.iter().rposition(|known| *known == status);
        let at = known.unwrap_or_else(|| {
            self.verdicts.push(status);
            self.verdicts.len() - 1
        });
        self.nodes[node] = narrow(at) + 1;
    }

    /// Sets the verdict on all nodes that were not asked.
    pub fn set_absent(&mut self, status: PluginStatus) {
        self.absent = status;
    }

    /// The verdict on a node.
    pub fn get(&self, node: usize) -> &PluginStatus {
        match self.nodes[node] {
            0 => &self.absent,
            verdict => &self.verdicts[verdict as usize - 1],
        }
    }

    /// Whether the node was asked and rejected.
    pub fn is_explicit(&self, node: usize) -> bool {
        self.nodes[node] != 0
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// How many nodes there are for each reason.
#[derive(Default)]
pub(crate) struct Histogram {
    counts: BTreeMap<String, usize>,
    nodes: usize,
}

impl Histogram {
    pub(crate) fn add(&mut self, status: &Status, nodes: usize, cluster: &Snapshot) {
        if nodes == 0 {
            return;
        }
        self.nodes += nodes;
        for reason in status.reasons() {
            *self.counts.entry(reason.render(cluster)).or_default() += nodes;
        }
    }

    /// `0/5 nodes are available: 2 x, 3 y.` The reasons are sorted as strings, so "10 x" comes
    /// before "2 y".
    pub(crate) fn message(&self) -> String {
        let counts = self.counts.iter();
        let mut lines: Vec<_> = counts.map(|(reason, n)| format!("{n} {reason}")).collect();
        lines.sort();
        let (nodes, dot) = (self.nodes, if lines.is_empty() { "" } else { "." });
        let space = if lines.is_empty() { "" } else { " " };
        let lines = lines.join(", ");
        format!("0/{nodes} nodes are available:{space}{lines}{dot}")
    }
}

/// The text of the PodScheduled condition: `0/5 nodes are available: …`, and what PostFilter says.
/// Upstream's `FitError.Error()`.
pub(crate) fn message(verdicts: &dyn Verdicts, post_filter: &str, cluster: &Snapshot) -> String {
    let mut histogram = Histogram::default();
    verdicts.tally(&mut |verdict, nodes| histogram.add(&verdict.status, nodes, cluster));
    let mut message = histogram.message();
    if !post_filter.is_empty() {
        message.push(' ');
        message.push_str(post_filter);
    }
    message
}

/// Everything that is known about a failed attempt.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// Why each node was rejected.
    pub statuses: NodeStatuses,
    /// The plugins that rejected the pod.
    pub unschedulable_plugins: BTreeSet<&'static str>,
    /// The plugins that will wake the pod themselves.
    pub pending_plugins: BTreeSet<&'static str>,
    /// What PreFilter said, if it rejected the pod.
    pub pre_filter_message: String,
    /// What PostFilter said.
    pub post_filter_message: String,
}

impl Diagnosis {
    /// Nothing is known yet.
    pub fn new(nodes: usize) -> Self {
        Self {
            statuses: NodeStatuses::new(nodes),
            unschedulable_plugins: BTreeSet::new(),
            pending_plugins: BTreeSet::new(),
            pre_filter_message: String::new(),
            post_filter_message: String::new(),
        }
    }

    /// Remembers who rejected the pod.
    pub fn add_plugin_status(&mut self, status: &PluginStatus) {
        if status.plugin.is_empty() {
            return;
        }
        if status.status.is_rejected() {
            self.unschedulable_plugins.insert(status.plugin);
        }
        if status.status.code == Code::Pending {
            self.pending_plugins.insert(status.plugin);
        }
    }

    /// The text of the PodScheduled condition: `0/5 nodes are available: …`.
    pub fn message(&self, cluster: &Snapshot) -> String {
        let post_filter = &self.post_filter_message;
        if self.pre_filter_message.is_empty() {
            return message(&self.statuses, post_filter, cluster);
        }
        let (nodes, reason) = (self.statuses.len(), &self.pre_filter_message);
        let space = if post_filter.is_empty() { "" } else { " " };
        format!("0/{nodes} nodes are available: {reason}.{space}{post_filter}")
    }
}
