//! Required terms: the pod's own, and those by which others keep it away.

use super::term::{IncomingTerm, matches_all};
use super::topology::TopologyCounts;
use crate::Snapshot;
use crate::framework::{Fit, Status};
use crate::model::{AffinityTerm, Labels, Node, Pod};
use std::sync::Arc;
use stowplan_base::Names;

const AFFINITY_RULES_NOT_MATCH: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY_RULES_NOT_MATCH: &str = "node(s) didn't match pod anti-affinity rules";
const EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH: &str =
    "node(s) didn't satisfy existing pods anti-affinity rules";

/// A pod's required terms and who meets them where. What PreFilter leaves for Filter.
#[derive(Clone, Debug, Default)]
pub struct RequiredTerms {
    affinity: Arc<[IncomingTerm]>,
    anti_affinity: Arc<[IncomingTerm]>,
    /// The pod is meant by all its own affinity terms.
    self_match: bool,
    /// Pods that are meant by *all* of the pod's affinity terms, once per term.
    affinity_counts: TopologyCounts,
    /// Pods that are meant by an anti-affinity term of the pod, term by term.
    anti_affinity_counts: TopologyCounts,
    /// Anti-affinity terms of existing pods that mean the pod.
    existing_anti_affinity_counts: TopologyCounts,
}

impl RequiredTerms {
    /// Counts over the whole cluster.
    pub(super) fn count(cluster: &Snapshot, pod: &Pod) -> Self {
        let names = &cluster.names;
        let incoming = |terms: &[AffinityTerm]| -> Arc<[IncomingTerm]> {
            terms
                .iter()
                .map(|term| IncomingTerm::new(term, cluster))
                .collect()
        };
        let affinity = incoming(pod.required_affinity());
        let mut state = Self {
            self_match: matches_all(&affinity, pod, names),
            affinity,
            anti_affinity: incoming(pod.required_anti_affinity()),
            ..Self::default()
        };
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let has_terms = !state.affinity.is_empty() || !state.anti_affinity.is_empty();
        for info in cluster.nodes() {
            let labels = &info.node.labels;
            for existing in &info.pods_with_required_anti_affinity {
                state.count_existing(existing, pod, namespace_labels, labels, 1, names);
            }
            if has_terms {
                for existing in &info.pods {
                    state.count_incoming(existing, labels, 1, names);
                }
            }
        }
        state
    }

    /// Counts `other` in or out.
    pub(super) fn update_with_pod(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        other: &Pod,
        node: &Node,
        delta: i64,
    ) {
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let names = &cluster.names;
        self.count_existing(other, pod, namespace_labels, &node.labels, delta, names);
        self.count_incoming(other, &node.labels, delta, names);
    }

    /// Counts the anti-affinity terms of `other`, on a node with these labels, that mean `pod`.
    fn count_existing(
        &mut self,
        other: &Pod,
        pod: &Pod,
        namespace_labels: &Labels,
        labels: &Labels,
        delta: i64,
        names: &Names,
    ) {
        for term in other.required_anti_affinity() {
            if term.matches(pod, namespace_labels, names) {
                self.existing_anti_affinity_counts
                    .add_or_remove(labels, term.topology_key, delta);
            }
        }
    }

    /// Counts `other`, on a node with these labels, for the pod's own terms.
    fn count_incoming(&mut self, other: &Pod, labels: &Labels, delta: i64, names: &Names) {
        if matches_all(&self.affinity, other, names) {
            for term in &*self.affinity {
                self.affinity_counts
                    .add_or_remove(labels, term.topology_key, delta);
            }
        }
        for term in &*self.anti_affinity {
            if term.matches(other, names) {
                self.anti_affinity_counts
                    .add_or_remove(labels, term.topology_key, delta);
            }
        }
    }

    /// Nothing keeps the pod from any node, and it asks for nothing.
    pub(super) fn restricts_nothing(&self) -> bool {
        self.affinity.is_empty()
            && self.anti_affinity.is_empty()
            && self.existing_anti_affinity_counts.is_empty()
    }

    /// Does the pod fit on the node?
    pub(super) fn filter(&self, node: &Node) -> Fit {
        if !self.satisfies_affinity(&node.labels) {
            return Err(Status::unresolvable(AFFINITY_RULES_NOT_MATCH));
        }
        if !self.satisfies_anti_affinity(&node.labels) {
            return Err(Status::unschedulable(ANTI_AFFINITY_RULES_NOT_MATCH));
        }
        let mut existing = self.existing_anti_affinity_counts.of_node(&node.labels);
        if existing.any(|count| count > 0) {
            return Err(Status::unschedulable(
                EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
            ));
        }
        Ok(())
    }

    /// The node must bear all topology keys, and the pods that are asked for must be in each of its
    /// domains. The first of a group that seeks its own kind is let in while nobody else is there.
    fn satisfies_affinity(&self, labels: &Labels) -> bool {
        let mut pods_exist = true;
        for term in &*self.affinity {
            let Some(value) = labels.get(term.topology_key) else {
                return false;
            };
            pods_exist &= self.affinity_counts.get(term.topology_key, value) > 0;
        }
        pods_exist || self.affinity_counts.is_empty() && self.self_match
    }

    fn satisfies_anti_affinity(&self, labels: &Labels) -> bool {
        self.anti_affinity.iter().all(|term| {
            labels
                .get(term.topology_key)
                .is_none_or(|value| self.anti_affinity_counts.get(term.topology_key, value) <= 0)
        })
    }
}
