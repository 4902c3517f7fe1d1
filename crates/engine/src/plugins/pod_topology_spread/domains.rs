//! The domains of one topology key.

use crate::cast::{count, low_half, narrow};
use crate::model::Node;
use stowplan_base::{Lookup, Sym};

/// A domain as a dense number.
pub(super) type DomainId = u32;

/// Every value of a topology key that some node bears, and what is known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Domains {
    ids: Lookup<Sym, DomainId>,
    /// The values, by number.
    values: Vec<Sym>,
    domains: Vec<Domain>,
    /// How many domains have a node that counts.
    counted: usize,
    /// How many counted domains hold how many pods, by the number of pods.
    tally: Vec<(i64, u32)>,
}

/// So many values are found sooner by looking at each than by hashing.
const FEW: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    /// Matching pods.
    pods: i64,
    /// Nodes that bear the value and count.
    counted: u32,
}

impl Domains {
    /// No domains, and room for so many.
    pub(super) fn with_capacity(domains: usize) -> Self {
        Self {
            ids: Lookup::with_capacity(domains),
            values: Vec::with_capacity(domains),
            domains: Vec::with_capacity(domains),
            ..Self::default()
        }
    }

    /// About how many bytes they take up.
    pub(super) fn bytes(&self) -> usize {
        self.ids.bytes()
            + self.values.capacity() * size_of::<Sym>()
            + self.domains.capacity() * size_of::<Domain>()
            + self.tally.capacity() * size_of::<(i64, u32)>()
    }

    /// The domain of a value.
    pub(super) fn id(&self, value: Sym) -> Option<DomainId> {
        if self.values.len() <= FEW {
            let at = self.values.iter().position(|known| *known == value);
            return at.map(narrow);
        }
        self.ids.get(&value).copied()
    }

    /// The domain of a value, new if need be.
    pub(super) fn intern(&mut self, value: Sym) -> DomainId {
        if let Some(id) = self.id(value) {
            return id;
        }
        let id = narrow(self.domains.len());
        self.ids.insert(value, id);
        self.values.push(value);
        self.domains.push(Domain::default());
        id
    }

    /// The matching pods of a domain.
    pub(super) fn pods(&self, id: DomainId) -> i64 {
        self.domains[id as usize].pods
    }

    /// Every domain: its value, its matching pods, and whether it exists.
    pub(super) fn all(&self) -> impl Iterator<Item = (Sym, i64, bool)> {
        let domains = self.values.iter().zip(&self.domains);
        domains.map(|(value, domain)| (*value, domain.pods, domain.counted > 0))
    }

    /// The values of the domains with matching pods.
    pub(super) fn with_pods(&self) -> impl Iterator<Item = Sym> {
        let domains = self.values.iter().zip(&self.domains);
        let with_pods = domains.filter(|(_, domain)| domain.pods != 0);
        with_pods.map(|(value, _)| *value)
    }

    /// The value of the domain with the least matching pods, of those that exist.
    pub(super) fn emptiest(&self) -> Option<Sym> {
        let domains = self.values.iter().zip(&self.domains);
        let existing = domains.filter(|(_, domain)| domain.counted > 0);
        let least = existing.min_by_key(|(_, domain)| domain.pods);
        least.map(|(value, _)| *value)
    }

    /// A node that counts came or went. A domain exists while it has one.
    pub(super) fn count_node(&mut self, id: DomainId, comes: bool) {
        let domain = &mut self.domains[id as usize];
        let before = domain.counted;
        step(&mut domain.counted, comes);
        let (pods, after) = (domain.pods, domain.counted);
        match (before, after) {
            (0, 1) => {
                self.counted += 1;
                self.enter(pods);
            }
            (1, 0) => {
                self.counted -= 1;
                self.leave(pods);
            }
            _ => {}
        }
    }

    /// Matching pods came or went.
    pub(super) fn add_pods(&mut self, id: DomainId, delta: i64) {
        let domain = &mut self.domains[id as usize];
        let before = domain.pods;
        domain.pods += delta;
        let (after, exists) = (domain.pods, domain.counted > 0);
        if exists && delta != 0 {
            self.leave(before);
            self.enter(after);
        }
    }

    /// The least number of pods in a domain, or 0 while there are fewer than `min_domains`.
    pub(super) fn global_minimum(&self, min_domains: i32) -> i64 {
        if count(self.counted) < i64::from(min_domains) {
            return 0;
        }
        self.tally.first().map_or(0, |(least, _)| *least)
    }

    fn enter(&mut self, pods: i64) {
        match self.tally.binary_search_by_key(&pods, |(pods, _)| *pods) {
            Ok(at) => self.tally[at].1 += 1,
            Err(at) => self.tally.insert(at, (pods, 1)),
        }
    }

    fn leave(&mut self, pods: i64) {
        if let Ok(at) = self.tally.binary_search_by_key(&pods, |(pods, _)| *pods) {
            self.tally[at].1 -= 1;
            if self.tally[at].1 == 0 {
                self.tally.remove(at);
            }
        }
    }
}

fn step(count: &mut u32, up: bool) {
    *count = if up {
        *count + 1
    } else {
        count.saturating_sub(1)
    };
}

/// Where a node stands in one topology, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It lacks the label.
    Missing,
    /// In this domain.
    In(DomainId),
    /// In some domain with so many pods.
    With(i64),
}

impl Place {
    /// Where `node` stands; of `fine` topologies, where nearly every node is a domain of its own,
    /// only the number of pods is told.
    pub(super) fn of(node: &Node, key: Sym, domains: &Domains, fine: bool) -> Self {
        let Some(value) = node.labels.get(key) else {
            return Self::Missing;
        };
        match domains.id(value) {
            // No node of the cluster bears this value.
            None => Self::With(0),
            Some(id) if fine => Self::With(domains.pods(id)),
            Some(id) => Self::In(id),
        }
    }

    /// The place as a word.
    pub(super) fn pack(self) -> u64 {
        match self {
            Self::Missing => 0,
            Self::In(id) => u64::from(id) << 2 | 1,
            Self::With(pods) => (pods << 2).cast_unsigned() | 2,
        }
    }

    /// The place of a word.
    pub(super) fn unpack(word: u64) -> Self {
        match word & 3 {
            0 => Self::Missing,
            1 => Self::In(low_half(word >> 2)),
            _ => Self::With(word.cast_signed() >> 2),
        }
    }

    /// The matching pods there.
    pub(super) fn pods(self, domains: &Domains) -> i64 {
        match self {
            Self::Missing => 0,
            Self::In(id) => domains.pods(id),
            Self::With(pods) => pods,
        }
    }
}
