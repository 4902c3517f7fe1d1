//! Why a pod fits nowhere.

use super::{Code, PluginStatus, Reasons, Status};
use crate::Snapshot;
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
        self.nodes[node] = at as u32 + 1;
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

    /// `N REASON` for every reason, sorted as strings (so "10 x" comes before "2 y").
    pub fn histogram(&self, cluster: &Snapshot) -> Vec<String> {
        let mut nodes = vec![0; self.verdicts.len() + 1];
        for verdict in &self.nodes {
            nodes[*verdict as usize] += 1;
        }
        let statuses = std::iter::once(&self.absent).chain(&self.verdicts);
        let counted = statuses.zip(nodes).filter(|(_, nodes)| *nodes > 0);
        histogram(
            counted.map(|(verdict, nodes)| (&verdict.status, nodes)),
            cluster,
        )
    }
}

/// `N REASON` for every reason, sorted as strings.
pub(crate) fn histogram<'a>(
    statuses: impl Iterator<Item = (&'a Status, usize)>,
    cluster: &Snapshot,
) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (status, nodes) in statuses {
        for reason in status.reasons() {
            *counts.entry(reason.render(cluster)).or_default() += nodes;
        }
    }
    let mut lines: Vec<_> = counts
        .iter()
        .map(|(reason, n)| format!("{n} {reason}"))
        .collect();
    lines.sort();
    lines
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

    /// The text of the PodScheduled condition: `0/5 nodes are available: …`. Upstream's
    /// `FitError.Error()`.
    pub fn message(&self, cluster: &Snapshot) -> String {
        let mut message = format!("0/{} nodes are available:", self.statuses.len());
        if self.pre_filter_message.is_empty() {
            let reasons = self.statuses.histogram(cluster);
            if !reasons.is_empty() {
                message.push_str(&format!(" {}.", reasons.join(", ")));
            }
        } else {
            message.push_str(&format!(" {}.", self.pre_filter_message));
        }
        if !self.post_filter_message.is_empty() {
            message.push_str(&format!(" {}", self.post_filter_message));
        }
        message
    }
}
