//! Why a pod fits nowhere.

use super::{Code, PluginStatus, Reasons, Status};
use crate::Snapshot;
use std::collections::{BTreeMap, BTreeSet};

/// Why each node was rejected. Upstream's `NodeToStatus`.
#[derive(Clone, Debug)]
pub struct NodeStatuses {
    /// By position in the snapshot's list of nodes; `None` for nodes that were not asked.
    explicit: Vec<Option<PluginStatus>>,
    /// The verdict on nodes that were not asked.
    absent: PluginStatus,
}

impl NodeStatuses {
    /// No node was asked yet.
    pub fn new(nodes: usize) -> Self {
        Self {
            explicit: vec![None; nodes],
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
        self.explicit[node] = Some(status);
    }

    /// Sets the verdict on all nodes that were not asked.
    pub fn set_absent(&mut self, status: PluginStatus) {
        self.absent = status;
    }

    /// The verdict on a node.
    pub fn get(&self, node: usize) -> &PluginStatus {
        self.explicit[node].as_ref().unwrap_or(&self.absent)
    }

    /// Whether the node was asked and rejected.
    pub fn is_explicit(&self, node: usize) -> bool {
        self.explicit[node].is_some()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.explicit.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.explicit.is_empty()
    }

    /// `N REASON` for every reason, sorted as strings.
    pub fn histogram(&self, cluster: &Snapshot) -> Vec<String> {
        histogram((0..self.len()).map(|node| &self.get(node).status), cluster)
    }
}

/// `N REASON` for every reason, sorted as strings (so "10 x" comes before "2 y").
pub(crate) fn histogram<'a>(
    statuses: impl Iterator<Item = &'a Status>,
    cluster: &Snapshot,
) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for status in statuses {
        for reason in status.reasons() {
            *counts.entry(reason.render(cluster)).or_default() += 1;
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
