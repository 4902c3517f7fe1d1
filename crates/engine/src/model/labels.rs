//! Label sets.

use stowplan_base::Sym;

/// A set of labels, sorted by key symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Labels(Box<[(Sym, Sym)]>);

impl Labels {
    /// Labels from pairs in any order; a key given twice keeps its last value.
    pub fn new(pairs: impl IntoIterator<Item = (Sym, Sym)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(key, _)| *key);
        pairs.reverse();
        pairs.dedup_by_key(|(key, _)| *key);
        pairs.reverse();
        Self(pairs.into())
    }

    /// The value of `key`.
    pub fn get(&self, key: Sym) -> Option<Sym> {
        // Label sets are small: a scan beats a binary search.
        self.0
            .iter()
            .find(|(k, _)| *k == key)
            .map(|(_, value)| *value)
    }

    /// Whether `key` is present.
    pub fn has(&self, key: Sym) -> bool {
        self.get(key).is_some()
    }

    /// The pairs, by key symbol.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, Sym)> + '_ {
        self.0.iter().copied()
    }

    /// One bit for every pair, and one that is always there: sets that share no other bit share no
    /// pair.
    pub fn marks(&self) -> u64 {
        let always = 1 << 63;
        self.iter()
            .fold(always, |marks, (key, value)| marks | mark(key, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bit of a pair; never the last.
pub(super) fn mark(key: Sym, value: Sym) -> u64 {
    let mixed = (u64::from(key.number()) << 32 | u64::from(value.number()))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1 << ((mixed >> 32) % 63)
}
