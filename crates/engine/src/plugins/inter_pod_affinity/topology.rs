//! Sums per topology domain.

use crate::model::Labels;
use stowplan_base::{Lookup, Sym};

/// A sum per (topology key, value). Pairs whose sum is 0 may be there or not: see
/// [`add`](Self::add) and [`add_or_remove`](Self::add_or_remove).
#[derive(Clone, Debug, Default)]
pub(super) struct TopologyCounts {
    /// Every key that was ever added, in that order.
    keys: Vec<Sym>,
    sums: Lookup<(Sym, Sym), i64>,
}

impl TopologyCounts {
    /// Adds to the domain of a node with these labels, if it is in one. The pair exists from now
    /// on, even with sum 0.
    pub(super) fn add(&mut self, labels: &Labels, key: Sym, amount: i64) {
        if let Some(value) = labels.get(key) {
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
            *self.sums.or_insert_with((key, value), || 0) += amount;
        }
    }

    /// Adds, and forgets the pair if its sum is 0.
    pub(super) fn add_or_remove(&mut self, labels: &Labels, key: Sym, amount: i64) {
        self.add(labels, key, amount);
        if let Some(value) = labels.get(key)
            && self.sums.get(&(key, value)) == Some(&0)
        {
            self.sums.remove(&(key, value));
        }
    }

    /// Whether no pair is there.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The sum of a domain.
    pub(super) fn get(&self, key: Sym, value: Sym) -> i64 {
        self.sums.get(&(key, value)).copied().unwrap_or(0)
    }

    /// The sums of all domains that a node with these labels is in.
    pub(super) fn of_node<'a>(&'a self, labels: &'a Labels) -> impl Iterator<Item = i64> + 'a {
        self.keys
            .iter()
            .filter_map(|key| Some(self.get(*key, labels.get(*key)?)))
    }
}
