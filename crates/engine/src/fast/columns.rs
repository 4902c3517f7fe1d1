//! The values of node labels, node by node.

use crate::framework::Cx;
use crate::model::Labels;
use crate::{Delta, NodeInfo};
use stowplan_base::{Lookup, Sym};

/// One column per label that was asked for, brought up to date from the log of changes.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelColumns {
    columns: Vec<Column>,
    /// The first change of the cluster that is not taken in.
    seen: u64,
}

/// What the nodes say of one label. Values are numbered as they come up.
#[derive(Clone, Debug)]
pub(super) struct Column {
    key: Sym,
    numbers: Lookup<Option<Sym>, u32>,
    /// The number of every node's value, by position.
    pub(super) values: Vec<u32>,
}

impl Column {
    fn new(key: Sym, nodes: &[NodeInfo]) -> Self {
        let mut column = Self {
            key,
            numbers: Lookup::new(),
            values: Vec::with_capacity(nodes.len()),
        };
        for node in nodes {
            column.push(&node.node.labels);
        }
        column
    }

    /// How many different values there are, or were.
    pub(super) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// The number of a value.
    pub(super) fn number_of(&self, value: Sym) -> Option<u32> {
        self.numbers.get(&Some(value)).copied()
    }

    fn number(&mut self, labels: &Labels) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.or_insert_with(labels.get(self.key), || next)
    }

    fn push(&mut self, labels: &Labels) {
        let number = self.number(labels);
        self.values.push(number);
    }

    fn take_in(&mut self, delta: &Delta) {
        match delta {
            Delta::NodeAdded { node, .. } => self.push(&node.labels),
            Delta::NodeRemoved { at, .. } => {
                self.values.swap_remove(*at as usize);
            }
            Delta::NodeUpdated {
                at,
                seen: Some(update),
            } => self.values[*at as usize] = self.number(&update.new.labels),
            Delta::NodeUpdated { seen: None, .. } | Delta::Pod { .. } | Delta::Object { .. } => {}
        }
    }
}

impl LabelColumns {
    /// Brings all columns up to date.
    pub(super) fn catch_up(&mut self, cx: Cx<'_>) {
        let log = cx.cluster.log();
        match log.since(self.seen) {
            Some((a, b)) => {
                for delta in a.iter().chain(b) {
                    for column in &mut self.columns {
                        column.take_in(delta);
                    }
                }
                // Values that are gone keep their numbers, but not for ever.
                let most = 2 * cx.cluster.nodes().len() + 64;
                self.columns.retain(|column| column.numbers() <= most);
            }
            None => self.columns.clear(),
        }
        self.seen = log.end();
    }

    /// Makes sure that there is a column for the label; they all must be up to date.
    pub(super) fn want(&mut self, cx: Cx<'_>, key: Sym) {
        if self.get(key).is_none() {
            self.columns.push(Column::new(key, cx.cluster.nodes()));
        }
    }

    /// The column of a label.
    pub(super) fn get(&self, key: Sym) -> Option<&Column> {
        self.columns.iter().find(|column| column.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Object};
    use crate::testing::World;
    use std::sync::Arc;
    use stowplan_base::Rng;

    #[test]
    fn columns_follow_the_nodes() {
        let (mut world, mut rng) = (World::default(), Rng::new(3));
        let mut columns = LabelColumns::default();
        let keys = [world.sym("zone"), world.sym("host")];
        for step in 0..3000 {
            let name = format!("n{}", rng.below(40));
            if rng.below(3) == 0 {
                let name = world.sym(&name);
                world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
            } else {
                let zone = format!("z{}", rng.below(3));
                let host = format!("{name}-{}", rng.below(50));
                let labels = [("zone", zone.as_str()), ("host", host.as_str())];
                let node = world.node(&name, &labels[rng.below(2)..]);
                world.snapshot.upsert(Object::Node(Arc::new(node)));
            }
            // Now and then so late that the log has forgotten.
            if rng.below(20) == 0 || step % 1000 < 400 {
                continue;
            }
            columns.catch_up(world.cx());
            for key in keys {
                columns.want(world.cx(), key);
                let column = columns.get(key).expect("it was wanted");
                let nodes = world.snapshot.nodes();
                assert_eq!(column.values.len(), nodes.len());
                for (node, number) in nodes.iter().zip(&column.values) {
                    let value = node.node.labels.get(key);
                    assert_eq!(column.numbers.get(&value), Some(number), "step {step}");
                }
                assert!(column.numbers() <= 2 * nodes.len() + 65);
            }
        }
    }
}
