//! A spread constraint as it applies to one pod.

use crate::model::{
    Labels, Node, Pod, Requirement, Selector, SpreadConstraint, find_untolerated_taint,
};
use std::sync::Arc;
use stowplan_base::{Names, Sym};

/// A spread constraint with its final selector. Upstream's `topologySpreadConstraint`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Constraint {
    pub(super) max_skew: i32,
    pub(super) topology_key: Sym,
    pub(super) selector: Selector,
    pub(super) min_domains: i32,
    pub(super) honor_node_affinity: bool,
    pub(super) honor_node_taints: bool,
}

impl Constraint {
    /// The constraint with another selector than its own.
    pub(super) fn new(constraint: &SpreadConstraint, selector: Selector) -> Self {
        Self {
            max_skew: constraint.max_skew,
            topology_key: constraint.topology_key,
            selector,
            min_domains: constraint.min_domains,
            honor_node_affinity: constraint.honor_node_affinity,
            honor_node_taints: constraint.honor_node_taints,
        }
    }

    /// A pod's own constraint, its `matchLabelKeys` made part of the selector.
    pub(super) fn own(constraint: &SpreadConstraint, labels: &Labels) -> Self {
        let selector = match &constraint.selector {
            Selector::Nothing => Selector::Nothing,
            Selector::All(requirements) => {
                let same = |key: &Sym| Some(Requirement::equals(*key, labels.get(*key)?));
                let keys = constraint.match_label_keys.iter().filter_map(same);
                Selector::All(keys.chain(requirements.iter().cloned()).collect())
            }
        };
        Self::new(constraint, selector)
    }

    /// Whether the node counts for `pod`: upstream's `matchNodeInclusionPolicies`.
    pub(super) fn includes(&self, pod: &Pod, node: &Node, names: &Names) -> bool {
        let tolerated = || {
            let rejecting = find_untolerated_taint(&node.taints, &pod.tolerations, |taint| {
                taint.effect.rejects()
            });
            rejecting.is_none()
        };
        (!self.honor_node_affinity || pod.required_node_affinity_matches(node, names))
            && (!self.honor_node_taints || tolerated())
    }

    /// Whether `other` counts: it is of the namespace, selected and not terminating. An empty
    /// selector counts nobody, although it matches everybody.
    pub(super) fn counts(&self, other: &Pod, namespace: Sym, names: &Names) -> bool {
        !other.terminating
            && other.namespace == namespace
            && !self.selector.is_empty()
            && self.selector.matches(&other.labels, names)
    }

    /// How many of `pods` count.
    pub(super) fn count(&self, pods: &[Arc<Pod>], namespace: Sym, names: &Names) -> i64 {
        let counts = |pod: &&Arc<Pod>| self.counts(pod, namespace, names);
        pods.iter().filter(counts).map(|_| 1).sum()
    }
}

/// Whether the node bears the topology key of every constraint.
pub(super) fn has_all_keys<'a>(
    labels: &Labels,
    constraints: impl IntoIterator<Item = &'a Constraint>,
) -> bool {
    constraints.into_iter().all(|c| labels.has(c.topology_key))
}
