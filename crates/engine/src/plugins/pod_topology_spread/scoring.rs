//! Soft constraints: how crowded is it already?

use super::constraint::{Constraint, has_all_keys};
use super::logarithm::ln;
use crate::cast::{count, float, low_half, truncate};
use crate::framework::{Invalidation, MAX_NODE_SCORE, NodePart, Range, Reads};
use crate::model::{Node, Pod};
use crate::{Fact, NodeInfo, Snapshot};
use std::sync::Arc;
use stowplan_base::{Lookup, Names, Sym, Table, sym};

/// A pod's soft constraints and how its like are spread now. What PreScore leaves for Score.
#[derive(Clone, Debug, Default)]
pub struct SoftConstraints {
    constraints: Vec<SoftConstraint>,
    /// Nodes that lack a topology key are not scored.
    require_all_keys: bool,
}

#[derive(Clone, Debug)]
struct SoftConstraint {
    constraint: Arc<Constraint>,
    /// What a pod weighs, so that topologies of few domains are not drowned by those of many.
    weight: f64,
    /// Matching pods by domain.
    counts: Counts,
}

/// Matching pods by domain.
#[derive(Clone, Debug)]
enum Counts {
    /// Hostname is special: every node is a domain of its own, by its name, whatever the label
    /// says. Only nodes with pods are here.
    Nodes(Table<Sym, i64>),
    /// By the label's value. Only under the system defaults can the label be missing, which counts
    /// as one more domain. Only domains with pods are here.
    Values {
        pods: Lookup<Sym, i64>,
        /// The domains that hold a feasible node were last marked with `round`.
        marks: Lookup<Sym, u32>,
        round: u32,
    },
}

/// What is seen of a node that is not scored.
const IGNORED: u64 = 0;

impl SoftConstraint {
    /// About how many bytes it takes up.
    fn bytes(&self) -> usize {
        let counts = match &self.counts {
            Counts::Nodes(pods) => pods.bytes(),
            Counts::Values { pods, marks, .. } => pods.bytes() + marks.bytes(),
        };
        size_of::<Self>() + size_of::<Constraint>() + counts
    }

    fn new(constraint: Constraint) -> Self {
        let counts = if constraint.topology_key == sym::HOSTNAME {
            Counts::Nodes(Table::new())
        } else {
            Counts::Values {
                pods: Lookup::new(),
                marks: Lookup::new(),
                round: 0,
            }
        };
        Self {
            constraint: Arc::new(constraint),
            weight: 0.0,
            counts,
        }
    }

    /// Counts pods on a node in or out.
    fn count_pods(&mut self, pod: &Pod, node: &Node, delta: i64, names: &Names) {
        match &mut self.counts {
            // The inclusion policies do not matter here: upstream counts these while scoring.
            Counts::Nodes(counts) => {
                let count = counts.or_insert_with(node.name, || 0);
                *count += delta;
                if *count == 0 {
                    counts.remove(&node.name);
                }
            }
            Counts::Values { pods, .. } => {
                if self.constraint.includes(pod, node, names) {
                    let value = node.labels.get(self.constraint.topology_key);
                    add(pods, value.unwrap_or(Sym::EMPTY), delta);
                }
            }
        }
    }

    /// What is seen of a node: whether it bears the label, and its pods or its domain.
    fn group_word(&self, node: &Node) -> u64 {
        let value = node.labels.get(self.constraint.topology_key);
        let tag = if value.is_some() { 1 } else { 2 };
        let what = match &self.counts {
            Counts::Nodes(counts) => counts.get(&node.name).copied().unwrap_or(0).cast_unsigned(),
            Counts::Values { .. } => u64::from(value.unwrap_or(Sym::EMPTY).number()),
        };
        what << 2 | tag
    }

    /// The pods in the domain of nodes that look like this; `None` without the label.
    fn pods(&self, seen: u64) -> Option<i64> {
        if seen & 3 != 1 {
            return None;
        }
        let what = seen >> 2;
        Some(match &self.counts {
            Counts::Nodes(_) => what.cast_signed(),
            Counts::Values { pods, .. } => pods.get(&domain(seen)).copied().unwrap_or(0),
        })
    }
}

/// Adds to a count, which is kept only while it is not 0.
fn add(counts: &mut Lookup<Sym, i64>, key: Sym, delta: i64) {
    let count = counts.or_insert_with(key, || 0);
    *count += delta;
    if *count == 0 {
        counts.remove(&key);
    }
}

/// The domain of nodes that look like this, if domains are values of a label.
fn domain(seen: u64) -> Sym {
    Sym::from_number(low_half(seen >> 2))
}

impl SoftConstraints {
    /// About how many bytes they refer to.
    pub(super) fn bytes(&self) -> usize {
        self.constraints.iter().map(SoftConstraint::bytes).sum()
    }

    /// Counts the matching pods of every domain, node by node.
    pub(super) fn count(
        cluster: &Snapshot,
        pod: &Pod,
        constraints: Vec<Constraint>,
        require_all_keys: bool,
    ) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(constraints, require_all_keys);
        for info in cluster.nodes() {
            if state.ignores(&info.node) {
                continue;
            }
            for soft in &mut state.constraints {
                let pods = soft.constraint.count(&info.pods, pod.namespace, names);
                if pods != 0 {
                    soft.count_pods(pod, &info.node, pods, names);
                }
            }
        }
        state
    }

    /// The same, by way of the label groups that the selectors select.
    pub(super) fn count_label_group(
        cluster: &Snapshot,
        pod: &Pod,
        constraints: Vec<Constraint>,
        require_all_keys: bool,
    ) -> Self {
        let names = &cluster.names;
        let mut state = Self::uncounted(constraints, require_all_keys);
        for i in 0..state.constraints.len() {
            let constraint = state.constraints[i].constraint.clone();
            cluster
                .label_groups()
                .selected(&constraint.selector, |label_group| {
                    if !constraint.counts(&label_group.example, pod.namespace, names) {
                        return;
                    }
                    for info in label_group.nodes().filter_map(|node| cluster.node(node)) {
                        if !state.ignores(&info.node) {
                            state.constraints[i].count_pods(pod, &info.node, 1, names);
                        }
                    }
                });
        }
        state
    }

    /// The constraints, without any pods.
    fn uncounted(constraints: Vec<Constraint>, require_all_keys: bool) -> Self {
        Self {
            constraints: constraints.into_iter().map(SoftConstraint::new).collect(),
            require_all_keys,
        }
    }

    /// The marks of labels of which a pod must bear one to count.
    pub(super) fn label_marks(&self) -> u64 {
        let constraints = self.constraints.iter();
        constraints.fold(0, |all, soft| all | soft.constraint.selector.marks())
    }

    /// Whether pods like `other` count.
    pub(super) fn is_affected_by(&self, pod: &Pod, other: &Pod, names: &Names) -> bool {
        let mut constraints = self.constraints.iter().map(|soft| &soft.constraint);
        constraints.any(|constraint| constraint.counts(other, pod.namespace, names))
    }

    fn ignores(&self, node: &Node) -> bool {
        let constraints = self.constraints.iter().map(|soft| &*soft.constraint);
        self.require_all_keys && !has_all_keys(&node.labels, constraints)
    }

    /// Keeps the counts as [`count`](Self::count) would make them.
    pub(super) fn update(
        &mut self,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
        names: &Names,
    ) -> Invalidation {
        let (other, node) = match fact {
            Fact::Node(_) => return Invalidation::Answers,
            Fact::Pod(other, node, _) => (other, node),
        };
        let counts = |soft: &SoftConstraint| soft.constraint.counts(other, pod.namespace, names);
        if other.namespace != pod.namespace
            || !self.constraints.iter().any(counts)
            || self.ignores(node)
        {
            return Invalidation::Nothing;
        }
        for soft in &mut self.constraints {
            if counts(soft) {
                soft.count_pods(pod, node, if holds { 1 } else { -1 }, names);
            }
        }
        Invalidation::Answers
    }

    /// What is seen of a node.
    pub(super) fn group_key(&self, node: &Node, seen: &mut Vec<u64>) {
        let ignored = self.ignores(node);
        let word = |soft: &SoftConstraint| {
            if ignored {
                IGNORED
            } else {
                soft.group_word(node)
            }
        };
        seen.extend(self.constraints.iter().map(word));
    }

    /// What [`group_key`](Self::group_key) reads of a node.
    pub(super) fn reads(&self) -> Reads {
        let mut parts = Vec::new();
        let mut crowded = Vec::new();
        for soft in &self.constraints {
            let key = soft.constraint.topology_key;
            match &soft.counts {
                Counts::Nodes(counts) => {
                    parts.push(NodePart::HasLabel(key));
                    crowded.extend(counts.iter().map(|(node, _)| *node));
                }
                Counts::Values { .. } => parts.push(NodePart::Label(key)),
            }
        }
        Reads::of(parts).apart(crowded)
    }

    /// Weighs each topology by its domains that hold a feasible node.
    pub(super) fn weigh<'a>(&mut self, feasible: impl Iterator<Item = (&'a [u64], usize)>) {
        let mut domains = [0_usize; 64];
        let mut more;
        let domains = if self.constraints.len() <= domains.len() {
            &mut domains[..self.constraints.len()]
        } else {
            more = vec![0; self.constraints.len()];
            &mut more[..]
        };
        for soft in &mut self.constraints {
            if let Counts::Values { round, .. } = &mut soft.counts {
                *round += 1;
            }
        }
        for (seen, nodes) in feasible {
            for ((soft, seen), domains) in self.constraints.iter_mut().zip(seen).zip(&mut *domains)
            {
                if *seen == IGNORED {
                    continue;
                }
                match &mut soft.counts {
                    Counts::Nodes(_) => *domains += nodes,
                    Counts::Values { marks, round, .. } => {
                        let before = marks.insert(domain(*seen), *round);
                        *domains += usize::from(before != Some(*round));
                    }
                }
            }
        }
        for (soft, domains) in self.constraints.iter_mut().zip(domains) {
            soft.weight = ln(float(count(*domains + 2)));
            if let Counts::Values { marks, .. } = &mut soft.counts
                && marks.len() > 2 * *domains + 64
            {
                // Most of these domains are gone, or have no feasible nodes any more.
                *marks = Lookup::new();
            }
        }
    }

    /// Takes in the feasible nodes one by one.
    pub(super) fn weigh_nodes(&mut self, feasible: &[&NodeInfo]) {
        let width = self.constraints.len();
        let mut seen = Vec::with_capacity(feasible.len() * width);
        for info in feasible {
            self.group_key(&info.node, &mut seen);
        }
        self.weigh(seen.chunks(width).map(|seen| (seen, 1)));
    }

    /// How crowded the node's domains are; less is better. `None` for a node that is not scored.
    pub(super) fn score(&self, node: &Node) -> Option<i64> {
        if self.ignores(node) {
            return None;
        }
        self.score_group(self.constraints.iter().map(|soft| soft.group_word(node)))
    }

    /// How crowded the domains of nodes are that look like this.
    pub(super) fn score_group(&self, seen: impl Iterator<Item = u64>) -> Option<i64> {
        let mut score = 0.0;
        for (soft, seen) in self.constraints.iter().zip(seen) {
            if seen == IGNORED {
                return None;
            }
            if let Some(pods) = soft.pods(seen) {
                // A larger tolerated skew waters the differences down.
                let tolerance = f64::from(soft.constraint.max_skew - 1);
                score += float(pods) * soft.weight + tolerance;
            }
        }
        Some(truncate(score.round()))
    }
}

/// 100 for the least crowded node, less in proportion for the others.
pub(super) fn normalize(raw: i64, over: Range) -> i64 {
    if over.max == 0 {
        return MAX_NODE_SCORE;
    }
    MAX_NODE_SCORE * (over.max + over.min - raw) / over.max
}
