//! Required terms: the pod's own, and those by which others keep it away.

use super::term::{IncomingTerm, matches_all};
use super::topology::{Change, Place, Topologies, TopologyCounts};
use crate::framework::{Fit, Invalidation, Reads, Status};
use crate::model::{AffinityTerm, Labels, Node, Pod};
use crate::{Fact, Snapshot};
use std::sync::Arc;
use stowplan_base::{Names, Sym};

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
    /// The topologies of all terms that were counted so far.
    topologies: Topologies,
}

/// In fine topologies only this much is seen of the counts of a domain.
const HAS_AFFINITY: i64 = 1;
const HAS_ANTI_AFFINITY: i64 = 2;
const HAS_EXISTING: i64 = 4;

impl RequiredTerms {
    /// About how many bytes they refer to.
    pub(super) fn bytes(&self) -> usize {
        let terms = self.affinity.len() + self.anti_affinity.len();
        terms * size_of::<IncomingTerm>()
            + self.affinity_counts.bytes()
            + self.anti_affinity_counts.bytes()
            + self.existing_anti_affinity_counts.bytes()
    }

    /// The terms, without anybody counted.
    fn uncounted(cluster: &Snapshot, pod: &Pod) -> Self {
        let incoming = |terms: &[AffinityTerm]| -> Arc<[IncomingTerm]> {
            terms
                .iter()
                .map(|term| IncomingTerm::new(term, cluster))
                .collect()
        };
        let affinity = incoming(pod.required_affinity());
        Self {
            self_match: matches_all(&affinity, pod, &cluster.names),
            affinity,
            anti_affinity: incoming(pod.required_anti_affinity()),
            ..Self::default()
        }
    }

    /// Counts over the whole cluster, node by node.
    pub(super) fn count(cluster: &Snapshot, pod: &Pod) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(cluster, pod);
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let has_terms = state.has_terms();
        for info in cluster.nodes() {
            let labels = &info.node.labels;
            for existing in &info.pods_with_required_anti_affinity {
                state.count_existing(existing, pod, namespace_labels, labels, true, names);
            }
            if has_terms {
                for existing in &info.pods {
                    state.count_incoming(existing, labels, true, names);
                }
            }
        }
        state
    }

    /// The same, by way of the label groups that terms select.
    pub(super) fn count_label_group(cluster: &Snapshot, pod: &Pod) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(cluster, pod);
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let (affinity, anti_affinity) = (state.affinity.clone(), state.anti_affinity.clone());
        cluster
            .label_groups()
            .with_terms_for(&pod.labels, |label_group| {
                let terms = label_group.example.required_anti_affinity().iter();
                let means = |term: &&AffinityTerm| term.matches(pod, namespace_labels, names);
                if terms.clone().any(|term| means(&term)) {
                    for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                        for term in terms.clone().filter(means) {
                            let counts = &mut state.existing_anti_affinity_counts;
                            counts.add(&info.node.labels, term.topology_key, 1, true);
                        }
                    }
                }
            });
        if let Some(first) = affinity.first() {
            cluster
                .label_groups()
                .selected(first.selector(), |label_group| {
                    if matches_all(&affinity, &label_group.example, names) {
                        for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                            for term in &*affinity {
                                let counts = &mut state.affinity_counts;
                                counts.add(&info.node.labels, term.topology_key, 1, true);
                            }
                        }
                    }
                });
        }
        for term in &*anti_affinity {
            cluster
                .label_groups()
                .selected(term.selector(), |label_group| {
                    if term.matches(&label_group.example, names) {
                        for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                            let counts = &mut state.anti_affinity_counts;
                            counts.add(&info.node.labels, term.topology_key, 1, true);
                        }
                    }
                });
        }
        state
    }

    /// The marks of labels of which a pod must bear one to be meant by the pod's own terms.
    pub(super) fn label_marks(&self) -> u64 {
        let own = self.affinity.iter().chain(&*self.anti_affinity);
        own.fold(0, |all, term| all | term.selector().marks())
    }

    /// Whether pods like `other` count.
    pub(super) fn is_affected_by(&self, cluster: &Snapshot, pod: &Pod, other: &Pod) -> bool {
        let names = &cluster.names;
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let mut existing = other.required_anti_affinity().iter();
        existing.any(|term| term.matches(pod, namespace_labels, names))
            || matches_all(&self.affinity, other, names)
            || self.anti_affinity.iter().any(|t| t.matches(other, names))
    }

    /// Takes note of the topologies, for [`group_key`](Self::group_key) and [`update`](Self::update).
    pub(super) fn with_topologies(mut self, cluster: &Snapshot) -> Self {
        let own = self.affinity.iter().chain(&*self.anti_affinity);
        let existing = self.existing_anti_affinity_counts.keys().iter().copied();
        let keys = own.map(|term| term.topology_key).chain(existing);
        self.topologies = Topologies::new(cluster, keys);
        self
    }

    fn has_terms(&self) -> bool {
        !self.affinity.is_empty() || !self.anti_affinity.is_empty()
    }

    /// Counts `other` in or out.
    pub(super) fn update_with_pod(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        other: &Pod,
        node: &Node,
        added: bool,
    ) -> Invalidation {
        let namespace_labels = cluster.namespace_labels(pod.namespace);
        let names = &cluster.names;
        let existing = if other.has_required_anti_affinity() {
            self.count_existing(other, pod, namespace_labels, &node.labels, added, names)
        } else {
            Invalidation::Nothing
        };
        let incoming = if self.has_terms() {
            self.count_incoming(other, &node.labels, added, names)
        } else {
            Invalidation::Nothing
        };
        existing.max(incoming)
    }

    /// Keeps the counts as [`count`](Self::count) would make them.
    pub(super) fn update(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        match fact {
            Fact::Node(_) => Invalidation::Answers,
            Fact::Pod(other, node, _) => {
                let kept = self.update_with_pod(cluster, pod, other, node, holds);
                if kept == Invalidation::Answers
                    && self.topologies.shares_a_fine_domain(cluster, node)
                {
                    return Invalidation::Groups;
                }
                kept
            }
        }
    }

    /// Counts the anti-affinity terms of `other`, on a node with these labels, that mean `pod`.
    fn count_existing(
        &mut self,
        other: &Pod,
        pod: &Pod,
        namespace_labels: &Labels,
        labels: &Labels,
        added: bool,
        names: &Names,
    ) -> Invalidation {
        let mut kept = Invalidation::Nothing;
        for term in other.required_anti_affinity() {
            if term.matches(pod, namespace_labels, names) {
                let counts = &mut self.existing_anti_affinity_counts;
                let change = counts.add(labels, term.topology_key, 1, added);
                kept = kept.max(match change {
                    Change::None => Invalidation::Nothing,
                    Change::NewKey if !self.topologies.knows(term.topology_key) => {
                        Invalidation::State
                    }
                    Change::NewKey | Change::Known => Invalidation::Answers,
                });
            }
        }
        kept
    }

    /// Counts `other`, on a node with these labels, for the pod's own terms.
    fn count_incoming(
        &mut self,
        other: &Pod,
        labels: &Labels,
        added: bool,
        names: &Names,
    ) -> Invalidation {
        let mut kept = Invalidation::Nothing;
        if matches_all(&self.affinity, other, names) {
            for term in &*self.affinity {
                self.affinity_counts
                    .add(labels, term.topology_key, 1, added);
                kept = Invalidation::Answers;
            }
        }
        for term in &*self.anti_affinity {
            if term.matches(other, names) {
                self.anti_affinity_counts
                    .add(labels, term.topology_key, 1, added);
                kept = Invalidation::Answers;
            }
        }
        kept
    }

    /// Nothing keeps the pod from any node, and it asks for nothing.
    pub(super) fn restricts_nothing(&self) -> bool {
        self.affinity.is_empty()
            && self.anti_affinity.is_empty()
            && self.existing_anti_affinity_counts.is_empty()
    }

    /// Does the pod fit on the node?
    pub(super) fn filter(&self, node: &Node) -> Fit {
        self.judge(|key| Place::of(&node.labels, key))
    }

    /// Does the pod fit on nodes that look like this?
    pub(super) fn filter_group(&self, seen: &[u64]) -> Fit {
        self.judge(|key| {
            let at = self.topologies.position(key);
            at.map_or(Place::Missing, |at| Place::unpack(seen[at]))
        })
    }

    /// What is seen of a node.
    pub(super) fn group_key(&self, node: &Node, seen: &mut Vec<u64>) {
        self.topologies.group_key(node, seen, |key, value| {
            let has = |counts: &TopologyCounts, bit| bit * i64::from(counts.get(key, value) > 0);
            has(&self.affinity_counts, HAS_AFFINITY)
                | has(&self.anti_affinity_counts, HAS_ANTI_AFFINITY)
                | has(&self.existing_anti_affinity_counts, HAS_EXISTING)
        });
    }

    /// What [`group_key`](Self::group_key) reads of a node.
    pub(super) fn reads(&self) -> Reads {
        self.topologies.reads(&[
            &self.affinity_counts,
            &self.anti_affinity_counts,
            &self.existing_anti_affinity_counts,
        ])
    }

    /// The rule, for nodes that stand there in each topology.
    fn judge(&self, place: impl Fn(Sym) -> Place) -> Fit {
        if !self.satisfies_affinity(&place) {
            return Err(Status::unresolvable(AFFINITY_RULES_NOT_MATCH));
        }
        if !self.satisfies_anti_affinity(&place) {
            return Err(Status::unschedulable(ANTI_AFFINITY_RULES_NOT_MATCH));
        }
        let existing = &self.existing_anti_affinity_counts;
        let mut keys = existing.keys().iter();
        if keys.any(|key| is_met(existing, *key, place(*key), HAS_EXISTING)) {
            return Err(Status::unschedulable(
                EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
            ));
        }
        Ok(())
    }

    /// The node must bear all topology keys, and the pods that are asked for must be in each of its
    /// domains. The first of a group that seeks its own kind is let in while nobody else is there.
    fn satisfies_affinity(&self, place: impl Fn(Sym) -> Place) -> bool {
        let mut pods_exist = true;
        for term in &*self.affinity {
            let at = place(term.topology_key);
            if at == Place::Missing {
                return false;
            }
            pods_exist &= is_met(&self.affinity_counts, term.topology_key, at, HAS_AFFINITY);
        }
        pods_exist || self.affinity_counts.is_empty() && self.self_match
    }

    fn satisfies_anti_affinity(&self, place: impl Fn(Sym) -> Place) -> bool {
        let (counts, bit) = (&self.anti_affinity_counts, HAS_ANTI_AFFINITY);
        let met = |key| is_met(counts, key, place(key), bit);
        !self.anti_affinity.iter().any(|term| met(term.topology_key))
    }
}

/// Whether somebody is counted in the domain at this place.
fn is_met(counts: &TopologyCounts, key: Sym, place: Place, bit: i64) -> bool {
    match place {
        Place::Missing => false,
        Place::In(value) => counts.get(key, value) > 0,
        Place::With(bits) => bits & bit != 0,
    }
}
