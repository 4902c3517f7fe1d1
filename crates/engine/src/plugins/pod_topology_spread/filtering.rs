//! Hard constraints: how uneven would it get?

use super::constraint::{Constraint, has_all_keys};
use super::domains::{Domains, Place};
use crate::framework::{Fit, Invalidation, NodePart, Reads, Status};
use crate::model::{Node, Pod};
use crate::{Fact, Snapshot};
use std::sync::Arc;
use stowplan_base::Names;

const CONSTRAINTS_NOT_MATCH: &str = "node(s) didn't match pod topology spread constraints";
const NODE_LABEL_NOT_MATCH: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// A pod's hard constraints and how its like are spread now. What PreFilter leaves for Filter.
#[derive(Clone, Debug, Default)]
pub struct HardConstraints(pub(super) Vec<HardConstraint>);

#[derive(Clone, Debug)]
pub(super) struct HardConstraint {
    pub(super) constraint: Arc<Constraint>,
    /// The pod matches its own selector.
    pub(super) self_match: bool,
    pub(super) domains: Domains,
    /// Nearly every node is a domain of its own.
    fine: bool,
}

impl HardConstraints {
    /// About how many bytes they refer to.
    pub(super) fn bytes(&self) -> usize {
        let one = |hard: &HardConstraint| {
            size_of::<HardConstraint>() + size_of::<Constraint>() + hard.domains.bytes()
        };
        self.0.iter().map(one).sum()
    }

    /// Counts the matching pods per domain over the whole cluster, node by node.
    pub(super) fn count(cluster: &Snapshot, pod: &Pod, constraints: Vec<Constraint>) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(cluster, pod, constraints);
        for info in cluster.nodes() {
            let all_keys = state.has_all_keys(&info.node);
            for hard in state.0.iter_mut().filter(|_| all_keys) {
                let pods = hard.constraint.count(&info.pods, pod.namespace, names);
                hard.count_pods(pod, &info.node, names, pods);
            }
        }
        state
    }

    /// The same, by way of the label groups that the selectors select.
    pub(super) fn count_label_group(
        cluster: &Snapshot,
        pod: &Pod,
        constraints: Vec<Constraint>,
    ) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(cluster, pod, constraints);
        for i in 0..state.0.len() {
            let constraint = state.0[i].constraint.clone();
            cluster
                .label_groups()
                .selected(&constraint.selector, |label_group| {
                    if !constraint.counts(&label_group.example, pod.namespace, names) {
                        return;
                    }
                    for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                        if state.has_all_keys(&info.node) {
                            state.0[i].count_pods(pod, &info.node, names, 1);
                        }
                    }
                });
        }
        state
    }

    /// The domains, without any pods.
    fn uncounted(cluster: &Snapshot, pod: &Pod, constraints: Vec<Constraint>) -> Self {
        let names = &cluster.names;
        let hard = |constraint: Constraint| {
            let domains = cluster.label_values(constraint.topology_key);
            HardConstraint {
                self_match: constraint.selector.matches(&pod.labels, names),
                constraint: Arc::new(constraint),
                domains: Domains::with_capacity(domains),
                fine: domains * 2 > cluster.nodes().len(),
            }
        };
        let mut state = Self(constraints.into_iter().map(hard).collect());
        for info in cluster.nodes() {
            state.observe_node(pod, &info.node, true, names);
        }
        state
    }

    /// The marks of labels of which a pod must bear one to count.
    pub(super) fn label_marks(&self) -> u64 {
        let constraints = self.0.iter();
        constraints.fold(0, |all, hard| all | hard.constraint.selector.marks())
    }

    /// Whether pods like `other` count.
    pub(super) fn is_affected_by(&self, pod: &Pod, other: &Pod, names: &Names) -> bool {
        let mut constraints = self.0.iter().map(|hard| &hard.constraint);
        constraints.any(|constraint| constraint.counts(other, pod.namespace, names))
    }

    pub(super) fn has_all_keys(&self, node: &Node) -> bool {
        has_all_keys(&node.labels, self.0.iter().map(|hard| &*hard.constraint))
    }

    /// Keeps the counts as [`count`](Self::count) would make them.
    pub(super) fn update(
        &mut self,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
        cluster: &Snapshot,
    ) -> Invalidation {
        match fact {
            Fact::Node(node) => {
                self.observe_node(pod, node, holds, &cluster.names);
                Invalidation::Answers
            }
            Fact::Pod(other, node, _) => self.observe_pod(pod, other, node, holds, cluster),
        }
    }

    fn observe_node(&mut self, pod: &Pod, node: &Node, holds: bool, names: &Names) {
        let all_keys = self.has_all_keys(node);
        for hard in &mut self.0 {
            let Some(value) = node.labels.get(hard.constraint.topology_key) else {
                continue;
            };
            let id = hard.domains.intern(value);
            if all_keys && hard.constraint.includes(pod, node, names) {
                hard.domains.count_node(id, holds);
            }
        }
    }

    fn observe_pod(
        &mut self,
        pod: &Pod,
        other: &Pod,
        node: &Node,
        holds: bool,
        cluster: &Snapshot,
    ) -> Invalidation {
        let names = &cluster.names;
        let counts = |hard: &HardConstraint| hard.constraint.counts(other, pod.namespace, names);
        if other.namespace != pod.namespace
            || !self.0.iter().any(counts)
            || !self.has_all_keys(node)
        {
            return Invalidation::Nothing;
        }
        let mut kept = Invalidation::Nothing;
        for hard in &mut self.0 {
            let delta = match (counts(hard), holds) {
                (false, _) => continue,
                (true, true) => 1,
                (true, false) => -1,
            };
            let key = hard.constraint.topology_key;
            kept = kept.max(match hard.count_pods(pod, node, names, delta) {
                true if hard.fine && cluster.shares_label(node, key) => Invalidation::Groups,
                true => Invalidation::Answers,
                false => Invalidation::Nothing,
            });
        }
        kept
    }

    /// Does the pod fit on the node? Per constraint: pods in the node's domain, and this one if it
    /// counts, less those in the emptiest domain, are at most `maxSkew`.
    pub(super) fn filter(&self, node: &Node) -> Fit {
        self.filter_group(self.0.iter().map(|hard| hard.place(node)))
    }

    /// Does the pod fit on nodes at these places?
    pub(super) fn filter_group(&self, places: impl Iterator<Item = Place>) -> Fit {
        for (hard, place) in self.0.iter().zip(places) {
            if place == Place::Missing {
                return Err(Status::unresolvable(NODE_LABEL_NOT_MATCH));
            }
            if hard.surplus(place.pods(&hard.domains)) > 0 {
                return Err(Status::unschedulable(CONSTRAINTS_NOT_MATCH));
            }
        }
        Ok(())
    }

    /// What is seen of a node.
    pub(super) fn group_key(&self, node: &Node, seen: &mut Vec<u64>) {
        seen.extend(self.0.iter().map(|hard| hard.place(node).pack()));
    }

    /// What [`group_key`](Self::group_key) reads of a node.
    pub(super) fn reads(&self) -> Reads {
        let part = |hard: &HardConstraint| match hard.fine {
            true => NodePart::HasLabel(hard.constraint.topology_key),
            false => NodePart::Label(hard.constraint.topology_key),
        };
        let fine = self.0.iter().filter(|hard| hard.fine);
        let crowded = fine.flat_map(|hard| {
            let values = hard.domains.with_pods();
            values.map(|value| (hard.constraint.topology_key, value))
        });
        Reads::of(self.0.iter().map(part)).apart_by_label(crowded)
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
        if other.namespace != pod.namespace || !self.has_all_keys(node) {
            return;
        }
        for hard in &mut self.0 {
            if hard.constraint.selector.matches(&other.labels, names) {
                hard.count_pods(pod, node, names, delta);
            }
        }
    }
}

impl HardConstraint {
    /// How many pods too many there are in a domain with so many, once the pod is there too.
    pub(super) fn surplus(&self, pods: i64) -> i64 {
        let least = self.domains.global_minimum(self.constraint.min_domains);
        let skew = pods + i64::from(self.self_match) - least;
        skew - i64::from(self.constraint.max_skew)
    }

    fn place(&self, node: &Node) -> Place {
        Place::of(node, self.constraint.topology_key, &self.domains, self.fine)
    }

    /// Counts pods on a node that bears all keys in or out, if the node counts; returns whether it
    /// does.
    fn count_pods(&mut self, pod: &Pod, node: &Node, names: &Names, pods: i64) -> bool {
        let Some(value) = node.labels.get(self.constraint.topology_key) else {
            return false;
        };
        if !self.constraint.includes(pod, node, names) {
            return false;
        }
        let id = self.domains.intern(value);
        self.domains.add_pods(id, pods);
        true
    }
}
