//! Which labels of a pending pod matter to others.

use crate::model::{Pod, Selector};
use stowplan_base::{Lookup, Sym};

/// The keys that selectors of others read from a pending pod's labels: the terms of pods on nodes,
/// Services and the owners of pods.
///
/// A key that was ever read stays: two pods that differ only in labels which nobody ever read look
/// alike to every plugin.
#[derive(Clone, Debug, Default)]
pub struct ReadKeys(Lookup<Sym, ()>);

impl ReadKeys {
    /// Whether somebody reads the key.
    pub fn contains(&self, key: Sym) -> bool {
        self.0.contains(&key)
    }

    /// Notes the keys of a selector.
    pub(super) fn add_selector(&mut self, selector: &Selector) {
        for requirement in selector.requirements() {
            self.0.insert(requirement.key, ());
        }
    }

    /// Notes the keys of all pod affinity terms of a pod.
    pub(super) fn add_terms(&mut self, pod: &Pod) {
        for term in pod.affinity_terms() {
            self.add_selector(&term.selector);
        }
    }
}
