//! Sums per topology domain, and how nodes stand to them.

use crate::Snapshot;
use crate::cast::low_half;
use crate::framework::{NodePart, Reads};
use crate::model::{Labels, Node};
use stowplan_base::{Sym, Table};

/// A sum per (topology key, value), over whatever was added there.
#[derive(Clone, Debug, Default)]
pub(super) struct TopologyCounts {
    /// Every key that was ever added, in that order.
    keys: Vec<Sym>,
    sums: Table<(Sym, Sym), Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    amount: i64,
    /// How many amounts were added and not taken back.
    parts: i64,
}

/// A change of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The node is in no such domain.
    None,
    /// In a topology that was known.
    Known,
    /// In a topology that is new.
    NewKey,
}

impl TopologyCounts {
    /// Adds an amount to (or takes it back from) the domain of a node with these labels, if it is
    /// in one. A pair exists while an amount is left that was added, even with sum 0.
    pub(super) fn add(&mut self, labels: &Labels, key: Sym, amount: i64, added: bool) -> Change {
        let Some(value) = labels.get(key) else {
            return Change::None;
        };
        let is_new = !self.keys.contains(&key);
        if is_new {
            self.keys.push(key);
        }
        let sum = self.sums.or_insert_with((key, value), Sum::default);
        let sign = if added { 1 } else { -1 };
        sum.amount += sign * amount;
        sum.parts += sign;
        if sum.parts == 0 {
            self.sums.remove(&(key, value));
        }
        if is_new {
            Change::NewKey
        } else {
            Change::Known
        }
    }

    /// About how many bytes they take up.
    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Sym>() + self.sums.bytes()
    }

    /// Whether no pair is there.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Every key that was ever added.
    pub(super) fn keys(&self) -> &[Sym] {
        &self.keys
    }

    /// The sum of a domain.
    pub(super) fn get(&self, key: Sym, value: Sym) -> i64 {
        self.sums.get(&(key, value)).map_or(0, |sum| sum.amount)
    }
}

/// The topologies that the rules look at, and whether nearly every node is a domain of its own
/// there.
#[derive(Clone, Debug, Default)]
pub(super) struct Topologies(Vec<Topology>);

#[derive(Clone, Debug)]
struct Topology {
    key: Sym,
    fine: bool,
}

impl Topologies {
    /// The topologies of these keys, each once.
    pub(super) fn new(cluster: &Snapshot, keys: impl Iterator<Item = Sym>) -> Self {
        let mut topologies: Vec<Topology> = Vec::new();
        for key in keys {
            if topologies.iter().any(|topology| topology.key == key) {
                continue;
            }
            let fine = cluster.label_values(key) * 2 > cluster.nodes().len();
            topologies.push(Topology { key, fine });
        }
        Self(topologies)
    }

    /// Whether the topology of this key is among them.
    pub(super) fn knows(&self, key: Sym) -> bool {
        self.0.iter().any(|topology| topology.key == key)
    }

    /// Where in the list the topology of this key stands.
    pub(super) fn position(&self, key: Sym) -> Option<usize> {
        self.0.iter().position(|topology| topology.key == key)
    }

    /// Whether a change in the node's domain may be seen on other nodes than itself, in a topology
    /// of which only the sums are seen.
    pub(super) fn shares_a_fine_domain(&self, cluster: &Snapshot, node: &Node) -> bool {
        let mut fine = self.0.iter().filter(|topology| topology.fine);
        fine.any(|topology| cluster.shares_label(node, topology.key))
    }

    /// What is read of a node, if only these sums are.
    pub(super) fn reads(&self, sums: &[&TopologyCounts]) -> Reads {
        let part = |topology: &Topology| match topology.fine {
            true => NodePart::HasLabel(topology.key),
            false => NodePart::Label(topology.key),
        };
        let pairs = sums.iter().flat_map(|counts| counts.sums.iter());
        let is_fine = |key: Sym| self.0.iter().any(|t| t.fine && t.key == key);
        let fine = pairs.filter(|((key, _), _)| is_fine(*key));
        Reads::of(self.0.iter().map(part)).apart_by_label(fine.map(|(pair, _)| *pair))
    }

    /// What is seen of a node, topology by topology: nothing, its value, or, in fine topologies,
    /// what `sums` says of (key, value), at most 61 bits.
    pub(super) fn group_key(
        &self,
        node: &Node,
        seen: &mut Vec<u64>,
        sums: impl Fn(Sym, Sym) -> i64,
    ) {
        seen.extend(self.0.iter().map(|topology| {
            let key = topology.key;
            match node.labels.get(key) {
                None => Place::Missing,
                Some(value) if topology.fine => Place::With(sums(key, value)),
                Some(value) => Place::In(value),
            }
            .pack()
        }));
    }
}

/// Where a node stands in one topology, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It lacks the label.
    Missing,
    /// In the domain of this value.
    In(Sym),
    /// In a domain with these sums.
    With(i64),
}

impl Place {
    /// The place of a node with these labels.
    pub(super) fn of(labels: &Labels, key: Sym) -> Self {
        labels.get(key).map_or(Self::Missing, Self::In)
    }

    fn pack(self) -> u64 {
        match self {
            Self::Missing => 0,
            Self::In(value) => u64::from(value.number()) << 2 | 1,
            Self::With(sums) => (sums << 2).cast_unsigned() | 2,
        }
    }

    /// The place of a word.
    pub(super) fn unpack(word: u64) -> Self {
        match word & 3 {
            0 => Self::Missing,
            1 => Self::In(Sym::from_number(low_half(word >> 2))),
            _ => Self::With(word.cast_signed() >> 2),
        }
    }
}
