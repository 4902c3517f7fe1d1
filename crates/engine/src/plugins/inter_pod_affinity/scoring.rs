//! Preferred terms: the pod's own, and those of the pods that are there.

use super::term::IncomingTerm;
use super::topology::TopologyCounts;
use crate::Snapshot;
use crate::framework::{MAX_NODE_SCORE, Range};
use crate::model::{AffinityTerm, Node, Pod, WeightedAffinityTerm};
use std::sync::Arc;

/// What each domain is worth to the pod. What PreScore leaves for Score.
#[derive(Clone, Debug, Default)]
pub struct PreferredTerms {
    worth: Arc<TopologyCounts>,
}

impl PreferredTerms {
    /// Weighs every existing pod; `None` if no term meant anybody.
    pub(super) fn weigh(cluster: &Snapshot, pod: &Pod, hard_weight: i32) -> Option<Self> {
        let incoming = |terms: &[WeightedAffinityTerm], sign: i64| -> Vec<(IncomingTerm, i64)> {
            let weighted = |t: &WeightedAffinityTerm| {
                let term = IncomingTerm::new(&t.term, cluster);
                (term, sign * i64::from(t.weight))
            };
            terms.iter().map(weighted).collect()
        };
        let mut own = incoming(pod.preferred_affinity(), 1);
        own.extend(incoming(pod.preferred_anti_affinity(), -1));

        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let mut worth = TopologyCounts::default();
        for info in cluster.nodes() {
            let labels = &info.node.labels;
            if !own.is_empty() {
                for existing in &info.pods {
                    for (term, weight) in &own {
                        if term.matches(existing, names) {
                            worth.add(labels, term.topology_key, *weight);
                        }
                    }
                }
            }
            for existing in &info.pods_with_affinity {
                for (term, weight) in terms_of_existing(existing, hard_weight) {
                    if term.matches(pod, namespace_labels, names) {
                        worth.add(labels, term.topology_key, weight);
                    }
                }
            }
        }
        (!worth.is_empty()).then(|| Self {
            worth: Arc::new(worth),
        })
    }

    /// What all domains of the node are worth together; below 0 if the pod had better stay away.
    pub(super) fn score(&self, node: &Node) -> i64 {
        self.worth.of_node(&node.labels).sum()
    }
}

/// The terms of an existing pod that speak for (or against) a newcomer, with their weights.
fn terms_of_existing(
    existing: &Pod,
    hard_weight: i32,
) -> impl Iterator<Item = (&AffinityTerm, i64)> {
    let hard = existing.required_affinity().iter();
    let attracting = existing.preferred_affinity().iter();
    let repelling = existing.preferred_anti_affinity().iter();
    hard.filter(move |_| hard_weight > 0)
        .map(move |term| (term, i64::from(hard_weight)))
        .chain(attracting.map(|t| (&t.term, i64::from(t.weight))))
        .chain(repelling.map(|t| (&t.term, -i64::from(t.weight))))
}

/// 0 for the least score and 100 for the greatest; 0 for everybody if they are equal.
pub(super) fn normalize(raw: i64, over: Range) -> i64 {
    let spread = over.max - over.min;
    if spread <= 0 {
        return 0;
    }
    (MAX_NODE_SCORE as f64 * ((raw - over.min) as f64 / spread as f64)) as i64
}
