//! Preferred terms: the pod's own, and those of the pods that are there.

use super::term::IncomingTerm;
use super::topology::{Change, Place, Topologies, TopologyCounts};
use crate::cast::{float, truncate};
use crate::framework::{Invalidation, MAX_NODE_SCORE, Range, Reads};
use crate::model::{AffinityTerm, Labels, Node, Pod, WeightedAffinityTerm};
use crate::{Fact, Snapshot};
use std::sync::Arc;
use stowplan_base::{Lookup, Names, Sym};

/// How many label groups are remembered: about as much room as the nodes of a large cluster take up.
const KNOWN_KIN_MAX: usize = 2048;

/// What each domain is worth to the pod. What PreScore leaves for Score.
#[derive(Clone, Debug, Default)]
pub struct PreferredTerms {
    /// The pod's own terms with their weights.
    own: Arc<[(IncomingTerm, i64)]>,
    hard_weight: i32,
    worth: TopologyCounts,
    topologies: Topologies,
    /// By the number of a label group: the topology in which each of them counts, and what it weighs there.
    /// Only of those that were asked about and for whom that is all.
    known_label_group: Lookup<u32, (Sym, i32)>,
}

impl PreferredTerms {
    /// About how many bytes they refer to.
    pub(super) fn bytes(&self) -> usize {
        self.own.len() * size_of::<(IncomingTerm, i64)>()
            + self.worth.bytes()
            + self.known_label_group.bytes()
    }

    /// The terms, without anybody weighed.
    fn unweighed(cluster: &Snapshot, pod: &Pod, hard_weight: i32) -> Self {
        let incoming = |terms: &[WeightedAffinityTerm], sign: i64| -> Vec<(IncomingTerm, i64)> {
            let weighted = |t: &WeightedAffinityTerm| {
                let term = IncomingTerm::new(&t.term, cluster);
                (term, sign * i64::from(t.weight))
            };
            terms.iter().map(weighted).collect()
        };
        let mut own = incoming(pod.preferred_affinity(), 1);
        own.extend(incoming(pod.preferred_anti_affinity(), -1));
        Self {
            own: own.into(),
            hard_weight,
            ..Self::default()
        }
    }

    /// Weighs every existing pod, node by node.
    pub(super) fn weigh(cluster: &Snapshot, pod: &Pod, hard_weight: i32) -> Self {
        let mut state = Self::unweighed(cluster, pod, hard_weight);
        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        for info in cluster.nodes() {
            let labels = &info.node.labels;
            if !state.own.is_empty() {
                for existing in &info.pods {
                    state.add_own(existing, labels, true, names);
                }
            }
            for existing in &info.pods_with_affinity {
                state.add_existing(existing, pod, namespace_labels, labels, true, names);
            }
        }
        state
    }

    /// The same, by way of the label groups that terms select.
    pub(super) fn weigh_label_group(cluster: &Snapshot, pod: &Pod, hard_weight: i32) -> Self {
        let mut state = Self::unweighed(cluster, pod, hard_weight);
        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        for (term, weight) in &*state.own.clone() {
            cluster
                .label_groups()
                .selected(term.selector(), |label_group| {
                    if term.matches(&label_group.example, names) {
                        for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                            let labels = &info.node.labels;
                            state.worth.add(labels, term.topology_key, *weight, true);
                        }
                    }
                });
        }
        cluster
            .label_groups()
            .with_terms_for(&pod.labels, |label_group| {
                for (term, weight) in terms_of_existing(&label_group.example, hard_weight) {
                    if term.matches(pod, namespace_labels, names) {
                        for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                            let labels = &info.node.labels;
                            state.worth.add(labels, term.topology_key, weight, true);
                        }
                    }
                }
            });
        state
    }

    /// The marks of labels of which a pod must bear one to be meant by the pod's own terms.
    pub(super) fn label_marks(&self) -> u64 {
        let own = self.own.iter();
        own.fold(0, |all, (term, _)| all | term.selector().marks())
    }

    /// Whether pods like `other` count.
    pub(super) fn is_affected_by(&self, cluster: &Snapshot, pod: &Pod, other: &Pod) -> bool {
        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let mut existing = terms_of_existing(other, self.hard_weight);
        existing.any(|(term, _)| term.matches(pod, namespace_labels, names))
            || self.own.iter().any(|(term, _)| term.matches(other, names))
    }

    /// Takes note of the topologies, for [`group_key`](Self::group_key) and [`update`](Self::update).
    pub(super) fn with_topologies(mut self, cluster: &Snapshot) -> Self {
        let own = self.own.iter().map(|(term, _)| term.topology_key);
        let keys = own.chain(self.worth.keys().iter().copied());
        self.topologies = Topologies::new(cluster, keys);
        self
    }

    /// No term meant anybody.
    pub(super) fn is_empty(&self) -> bool {
        self.worth.is_empty()
    }

    /// Weighs an existing pod by the pod's own terms.
    fn add_own(
        &mut self,
        existing: &Pod,
        labels: &Labels,
        added: bool,
        names: &Names,
    ) -> Invalidation {
        let mut kept = Invalidation::Nothing;
        for (term, weight) in &*self.own.clone() {
            if term.matches(existing, names) {
                let change = self.worth.add(labels, term.topology_key, *weight, added);
                kept = kept.max(self.kept_after(change, term.topology_key));
            }
        }
        kept
    }

    /// Weighs the terms of an existing pod that mean the pod.
    fn add_existing(
        &mut self,
        existing: &Pod,
        pod: &Pod,
        namespace_labels: &Labels,
        labels: &Labels,
        added: bool,
        names: &Names,
    ) -> Invalidation {
        let mut kept = Invalidation::Nothing;
        for (term, weight) in terms_of_existing(existing, self.hard_weight) {
            if term.matches(pod, namespace_labels, names) {
                let change = self.worth.add(labels, term.topology_key, weight, added);
                kept = kept.max(self.kept_after(change, term.topology_key));
            }
        }
        kept
    }

    fn kept_after(&self, change: Change, key: Sym) -> Invalidation {
        match change {
            Change::None => Invalidation::Nothing,
            // Nodes are looked at in one more topology.
            Change::NewKey if !self.topologies.knows(key) => Invalidation::State,
            Change::NewKey | Change::Known => Invalidation::Answers,
        }
    }

    /// Remembers what pods like `other` are worth, should that be short.
    fn meet(&mut self, cluster: &Snapshot, pod: &Pod, other: &Pod, label_group: u32) {
        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let own = self.own.iter();
        let own = own
            .filter(|(term, _)| term.matches(other, names))
            .map(|(term, weight)| (term.topology_key, *weight));
        let existing = terms_of_existing(other, self.hard_weight)
            .filter(|(term, _)| term.matches(pod, namespace_labels, names))
            .map(|(term, weight)| (term.topology_key, weight));
        let mut all = own.chain(existing);
        if let (Some((key, weight)), None) = (all.next(), all.next())
            && self.known_label_group.len() < KNOWN_KIN_MAX
            && let Ok(weight) = i32::try_from(weight)
        {
            self.known_label_group.insert(label_group, (key, weight));
        }
    }

    /// Keeps the weights as [`weigh`](Self::weigh) would make them.
    pub(super) fn update(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        let (other, node, label_group) = match fact {
            Fact::Node(_) => return Invalidation::Answers,
            Fact::Pod(other, node, label_group) => (other, node, label_group),
        };
        let kept = match label_group
            .and_then(|label_group| self.known_label_group.get(&label_group).copied())
        {
            Some((key, weight)) => {
                let weight = i64::from(weight);
                let change = self.worth.add(&node.labels, key, weight, holds);
                self.kept_after(change, key)
            }
            None => {
                if let Some(label_group) = label_group {
                    self.meet(cluster, pod, other, label_group);
                }
                let names = &cluster.names;
                let namespace_labels = cluster.namespace_labels(pod.namespace);
                let labels = &node.labels;
                let own = self.add_own(other, labels, holds, names);
                own.max(self.add_existing(other, pod, namespace_labels, labels, holds, names))
            }
        };
        if kept == Invalidation::Answers && self.topologies.shares_a_fine_domain(cluster, node) {
            return Invalidation::Groups;
        }
        kept
    }

    /// What all domains of the node are worth together; below 0 if the pod had better stay away.
    pub(super) fn score(&self, node: &Node) -> i64 {
        self.sum(|key| Place::of(&node.labels, key))
    }

    /// What the domains of nodes are worth that look like this.
    pub(super) fn score_group(&self, seen: &[u64]) -> i64 {
        self.sum(|key| {
            let at = self.topologies.position(key);
            at.map_or(Place::Missing, |at| Place::unpack(seen[at]))
        })
    }

    /// What is seen of a node.
    pub(super) fn group_key(&self, node: &Node, seen: &mut Vec<u64>) {
        let worth = |key, value| self.worth.get(key, value);
        self.topologies.group_key(node, seen, worth);
    }

    /// What [`group_key`](Self::group_key) reads of a node.
    pub(super) fn reads(&self) -> Reads {
        self.topologies.reads(&[&self.worth])
    }

    fn sum(&self, place: impl Fn(Sym) -> Place) -> i64 {
        let worth = |key: &Sym| match place(*key) {
            Place::Missing => 0,
            Place::In(value) => self.worth.get(*key, value),
            Place::With(worth) => worth,
        };
        self.worth.keys().iter().map(worth).sum()
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
    truncate(float(MAX_NODE_SCORE) * (float(raw - over.min) / float(spread)))
}
