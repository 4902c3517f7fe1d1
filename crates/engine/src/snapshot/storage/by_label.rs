//! Things that are found by the labels of a node.

use crate::model::{Labels, NodeSelector, Op, Requirement, Selector};
use std::collections::BTreeMap;
use stowplan_base::{Lookup, Sym};

/// A label that a node must have.
pub(super) type Label = (Sym, Sym);

/// Things in an order of their own that need a node with certain labels.
///
/// What a thing is kept under is only necessary for it to match: whoever finds it there still has
/// to ask.
#[derive(Clone, Debug)]
pub struct ByLabel<K, T> {
    /// Those that need one of some labels, by each of them.
    labelled: Lookup<Label, BTreeMap<K, T>>,
    /// How many labels with this key there are in `labelled`.
    keys: BTreeMap<Sym, usize>,
    /// All others.
    unlabelled: BTreeMap<K, T>,
}

impl<K, T> Default for ByLabel<K, T> {
    fn default() -> Self {
        Self {
            labelled: Lookup::new(),
            keys: BTreeMap::new(),
            unlabelled: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, T: Clone> ByLabel<K, T> {
    /// Adds a thing that needs one of these labels, or any.
    pub(super) fn insert(&mut self, needs: Option<Vec<Label>>, key: K, thing: T) {
        let Some(needs) = needs else {
            self.unlabelled.insert(key, thing);
            return;
        };
        for label in needs {
            let keys = &mut self.keys;
            let things = self.labelled.or_insert_with(label, || {
                *keys.entry(label.0).or_default() += 1;
                BTreeMap::new()
            });
            things.insert(key.clone(), thing.clone());
        }
    }

    /// Takes out what was added so.
    pub(super) fn remove(&mut self, needs: Option<Vec<Label>>, key: &K) {
        let Some(needs) = needs else {
            self.unlabelled.remove(key);
            return;
        };
        for label in needs {
            let Some(things) = self.labelled.get_mut(&label) else {
                continue;
            };
            things.remove(key);
            if things.is_empty() {
                self.labelled.remove(&label);
                self.forget_key(label.0);
            }
        }
    }

    fn forget_key(&mut self, key: Sym) {
        if let Some(labels) = self.keys.get_mut(&key) {
            *labels -= 1;
            if *labels == 0 {
                self.keys.remove(&key);
            }
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.unlabelled.is_empty()
    }

    /// Whether some need a label.
    pub(crate) fn has_labelled(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Those that need no label in particular.
    pub(crate) fn unlabelled(&self) -> &BTreeMap<K, T> {
        &self.unlabelled
    }

    /// Those that need a label which is among these.
    pub(crate) fn labelled<'a>(
        &'a self,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a BTreeMap<K, T>> {
        self.keys.keys().filter_map(move |key| {
            let value = labels.get(*key)?;
            self.labelled.get(&(*key, value))
        })
    }
}

/// Labels of which a node must have one to be selected; `None` if there is no such list.
pub(super) fn needs_of_node_selector(selector: Option<&NodeSelector>) -> Option<Vec<Label>> {
    let terms = selector?.terms.iter();
    let mut needs = Vec::new();
    for term in terms.filter(|term| term.error.is_none()) {
        needs.extend(needs_of(&term.expressions)?);
    }
    Some(needs)
}

/// The same of labels to be selected.
pub(super) fn needs_of_selector(selector: &Selector) -> Option<Vec<Label>> {
    match selector {
        Selector::Nothing => Some(Vec::new()),
        Selector::All(requirements) => needs_of(requirements),
    }
}

fn needs_of(requirements: &[Requirement]) -> Option<Vec<Label>> {
    let listed = requirements.iter().find(|r| r.op == Op::In)?;
    let labels = listed.values.iter().map(|value| (listed.key, *value));
    Some(labels.collect())
}
