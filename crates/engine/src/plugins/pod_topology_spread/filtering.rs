//! Hard constraints: how uneven would it get?

use super::constraint::{Constraint, has_all_keys};
use crate::Snapshot;
use crate::framework::{Fit, Status};
use crate::model::{Node, Pod};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Lookup, Names, Sym};

const CONSTRAINTS_NOT_MATCH: &str = "node(s) didn't match pod topology spread constraints";
const NODE_LABEL_NOT_MATCH: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// A pod's hard constraints and how its like are spread now. What PreFilter leaves for Filter.
#[derive(Clone, Debug, Default)]
pub struct HardConstraints(Vec<HardConstraint>);

#[derive(Clone, Debug)]
struct HardConstraint {
    constraint: Arc<Constraint>,
    /// The pod matches its own selector.
    self_match: bool,
    domains: Domains,
}

impl HardConstraints {
    /// Counts the matching pods per domain over the whole cluster.
    pub(super) fn count(cluster: &Snapshot, pod: &Pod, constraints: Vec<Constraint>) -> Self {
        let names = &cluster.names;
        let mut domains = vec![Domains::default(); constraints.len()];
        for info in cluster.nodes() {
            let node = &info.node;
            if !has_all_keys(&node.labels, &constraints) {
                continue;
            }
            for (constraint, domains) in constraints.iter().zip(&mut domains) {
                if let Some(value) = node.labels.get(constraint.topology_key)
                    && constraint.includes(pod, node, names)
                {
                    domains.add(value, constraint.count(&info.pods, pod.namespace, names));
                }
            }
        }
        let counted = constraints.into_iter().zip(domains);
        Self(
            counted
                .map(|(constraint, domains)| HardConstraint {
                    self_match: constraint.selector.matches(&pod.labels, names),
                    constraint: Arc::new(constraint),
                    domains,
                })
                .collect(),
        )
    }

    /// Does the pod fit on the node? Per constraint: pods in the node's domain, and this one if it
    /// counts, less those in the emptiest domain, are at most `maxSkew`.
    pub(super) fn filter(&self, node: &Node) -> Fit {
        for hard in &self.0 {
            let Some(value) = node.labels.get(hard.constraint.topology_key) else {
                return Err(Status::unresolvable(NODE_LABEL_NOT_MATCH));
            };
            let least = hard.domains.global_minimum(hard.constraint.min_domains);
            let skew = hard.domains.get(value) + i64::from(hard.self_match) - least;
            if skew > i64::from(hard.constraint.max_skew) {
                return Err(Status::unschedulable(CONSTRAINTS_NOT_MATCH));
            }
        }
        Ok(())
    }

    /// Counts `other` in or out. Unlike [`count`](Self::count) this does not look whether `other`
    /// is terminating or the selector is empty, because upstream does not.
    pub(super) fn update_with_pod(
        &mut self,
        pod: &Pod,
        other: &Pod,
        node: &Node,
        delta: i64,
        names: &Names,
    ) {
        let constraints = self.0.iter().map(|hard| &*hard.constraint);
        if other.namespace != pod.namespace || !has_all_keys(&node.labels, constraints) {
            return;
        }
        for hard in &mut self.0 {
            let constraint = &hard.constraint;
            if let Some(value) = node.labels.get(constraint.topology_key)
                && constraint.selector.matches(&other.labels, names)
                && constraint.includes(pod, node, names)
            {
                hard.domains.add(value, delta);
            }
        }
    }
}

/// Matching pods per topology value, and the least of these counts.
///
/// Upstream keeps the two least counts only, which is right as long as one domain changes at a
/// time; a tally of the counts is right always.
#[derive(Clone, Debug, Default)]
struct Domains {
    counts: Lookup<Sym, i64>,
    /// How many values have this count.
    tally: BTreeMap<i64, usize>,
}

impl Domains {
    /// Adds to the count of a value, which exists from now on.
    fn add(&mut self, value: Sym, delta: i64) {
        let known = self.counts.contains(&value);
        let count = self.counts.or_insert_with(value, || 0);
        let before = *count;
        *count += delta;
        let after = *count;
        if known {
            if delta == 0 {
                return;
            }
            if let Some(values) = self.tally.get_mut(&before) {
                *values -= 1;
                if *values == 0 {
                    self.tally.remove(&before);
                }
            }
        }
        *self.tally.entry(after).or_default() += 1;
    }

    /// The count of a value; none for a value that no counted node bears.
    fn get(&self, value: Sym) -> i64 {
        self.counts.get(&value).copied().unwrap_or(0)
    }

    /// The least count over all values, or 0 while there are fewer than `min_domains` of them.
    fn global_minimum(&self, min_domains: i32) -> i64 {
        if (self.counts.len() as i64) < i64::from(min_domains) {
            return 0;
        }
        self.tally.first_key_value().map_or(0, |(least, _)| *least)
    }
}
