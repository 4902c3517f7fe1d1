//! How many nodes bear which label.

use crate::model::Labels;
use stowplan_base::{Lookup, Sym};

/// The labels of all nodes, counted.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelCounts {
    /// How many nodes bear this value of this key; 0 is left out.
    nodes: Lookup<(Sym, Sym), u32>,
    /// How many different values of this key there are; 0 is left out.
    values: Lookup<Sym, u32>,
}

impl LabelCounts {
    /// How many nodes bear the label.
    pub(super) fn nodes(&self, key: Sym, value: Sym) -> usize {
        self.nodes.get(&(key, value)).map_or(0, |n| *n as usize)
    }

    /// How many different values the key has.
    pub(super) fn values(&self, key: Sym) -> usize {
        self.values.get(&key).map_or(0, |n| *n as usize)
    }

    /// A node with these labels came.
    pub(super) fn add(&mut self, labels: &Labels) {
        for (key, value) in labels.iter() {
            let nodes = self.nodes.or_insert_with((key, value), || 0);
            *nodes += 1;
            if *nodes == 1 {
                *self.values.or_insert_with(key, || 0) += 1;
            }
        }
    }

    /// A node with these labels went.
    pub(super) fn remove(&mut self, labels: &Labels) {
        for (key, value) in labels.iter() {
            if step_down(&mut self.nodes, &(key, value)) {
                step_down(&mut self.values, &key);
            }
        }
    }
}

/// Takes one off a count that is left out when it is 0; returns whether it is now.
fn step_down<K: Eq + std::hash::Hash>(counts: &mut Lookup<K, u32>, key: &K) -> bool {
    let Some(count) = counts.get_mut(key) else {
        return false;
    };
    *count -= 1;
    let is_zero = *count == 0;
    if is_zero {
        counts.remove(key);
    }
    is_zero
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Object};
    use crate::testing::World;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use stowplan_base::Rng;

    #[test]
    fn labels_are_counted_as_nodes_come_and_go() {
        let (mut world, mut rng) = (World::default(), Rng::new(5));
        for _ in 0..500 {
            let name = format!("n{}", rng.below(12));
            if rng.below(3) == 0 {
                let name = world.sym(&name);
                world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
            } else {
                let zone = format!("z{}", rng.below(3));
                let labels = [("zone", zone.as_str()), ("host", name.as_str())];
                let node = world.node(&name, &labels[rng.below(2)..]);
                world.snapshot.upsert(Object::Node(Arc::new(node)));
            }
            let mut counted: BTreeMap<(Sym, Sym), usize> = BTreeMap::new();
            for node in world.snapshot.nodes() {
                for label in node.node.labels.iter() {
                    *counted.entry(label).or_default() += 1;
                }
            }
            for ((key, value), nodes) in &counted {
                assert_eq!(world.snapshot.label_counts(*key, *value), *nodes);
            }
            for key in ["zone", "host"].map(|key| world.sym(key)) {
                let values = counted.keys().filter(|(k, _)| *k == key).count();
                assert_eq!(world.snapshot.label_values(key), values);
            }
        }
    }
}
