//! Soft constraints: how crowded is it already?

use super::constraint::{Constraint, has_all_keys};
use super::logarithm::ln;
use crate::framework::{MAX_NODE_SCORE, Range};
use crate::model::{Node, Pod};
use crate::{NodeInfo, Snapshot};
use std::sync::Arc;
use stowplan_base::{Lookup, Sym, sym};

/// A pod's soft constraints and how its like are spread now. What PreScore leaves for Score.
#[derive(Clone, Debug, Default)]
pub struct SoftConstraints {
    constraints: Arc<[SoftConstraint]>,
    /// Nodes that lack a topology key are not scored.
    require_all_keys: bool,
}

#[derive(Clone, Debug)]
struct SoftConstraint {
    constraint: Constraint,
    /// What a pod weighs, so that topologies of few domains are not drowned by those of many.
    weight: f64,
    /// Matching pods per domain. Only domains that hold a feasible node are there.
    counts: Lookup<Sym, i64>,
}

impl SoftConstraint {
    /// The node's domain: the value of the topology key. Hostname is special: every node is a
    /// domain of its own, by its name, whatever the label says.
    fn domain(&self, node: &Node) -> Sym {
        match self.constraint.topology_key {
            sym::HOSTNAME => node.name,
            // Only under the system defaults can the label be missing.
            key => node.labels.get(key).unwrap_or(Sym::EMPTY),
        }
    }
}

impl SoftConstraints {
    /// Counts the matching pods of every domain that holds a feasible node.
    pub(super) fn count(
        cluster: &Snapshot,
        pod: &Pod,
        constraints: Vec<Constraint>,
        feasible: &[&NodeInfo],
        require_all_keys: bool,
    ) -> Self {
        let ignored = |node: &Node| require_all_keys && !has_all_keys(&node.labels, &constraints);
        let scored: Vec<_> = feasible.iter().filter(|n| !ignored(&n.node)).collect();
        let counted: Vec<_> = cluster
            .nodes()
            .iter()
            .filter(|n| !ignored(&n.node))
            .collect();
        let count = |constraint: &Constraint| {
            let mut soft = SoftConstraint {
                constraint: constraint.clone(),
                weight: 0.0,
                counts: Lookup::new(),
            };
            let pods_on =
                |info: &NodeInfo| constraint.count(&info.pods, pod.namespace, &cluster.names);
            if constraint.topology_key == sym::HOSTNAME {
                // The inclusion policies do not matter here: upstream counts these while scoring.
                for info in &scored {
                    soft.counts.insert(soft.domain(&info.node), pods_on(info));
                }
            } else {
                for info in &scored {
                    soft.counts.insert(soft.domain(&info.node), 0);
                }
                for info in &counted {
                    let domain = soft.domain(&info.node);
                    if soft.counts.contains(&domain)
                        && constraint.includes(pod, &info.node, &cluster.names)
                        && let Some(count) = soft.counts.get_mut(&domain)
                    {
                        *count += pods_on(info);
                    }
                }
            }
            soft.weight = ln((soft.counts.len() + 2) as f64);
            soft
        };
        Self {
            constraints: constraints.iter().map(count).collect(),
            require_all_keys,
        }
    }

    /// How crowded the node's domains are; less is better. `None` for a node that is not scored.
    pub(super) fn score(&self, node: &Node) -> Option<i64> {
        let constraints = self.constraints.iter().map(|soft| &soft.constraint);
        if self.require_all_keys && !has_all_keys(&node.labels, constraints) {
            return None;
        }
        let mut score = 0.0;
        for soft in &*self.constraints {
            if node.labels.has(soft.constraint.topology_key) {
                let count = soft.counts.get(&soft.domain(node)).copied().unwrap_or(0);
                // A larger tolerated skew waters the differences down.
                let tolerance = f64::from(soft.constraint.max_skew - 1);
                score += count as f64 * soft.weight + tolerance;
            }
        }
        Some(score.round() as i64)
    }
}

/// 100 for the least crowded node, less in proportion for the others.
pub(super) fn normalize(raw: i64, over: Range) -> i64 {
    if over.max == 0 {
        return MAX_NODE_SCORE;
    }
    MAX_NODE_SCORE * (over.max + over.min - raw) / over.max
}
