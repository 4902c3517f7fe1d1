//! What node objects say, node by node.

use crate::cast::{distance, narrow};
use crate::framework::{Cx, NodePart};
use crate::model::{Node, Taint};
use crate::{Delta, NodeInfo};
use stowplan_base::{Lookup, Sym};

/// More different combinations of parts than this are not worth a table.
pub(super) const COMBINATIONS_MAX: usize = 1 << 16;

/// All columns together hold no more numbers than this.
const NUMBERS_MAX: usize = 8 << 20;

/// One column per part of nodes that was asked for, brought up to date from the log of changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
    by_part: Lookup<NodePart, usize>,
    /// The first change of the cluster that is not taken in.
    seen: u64,
}

/// What the nodes say of one thing. Values are numbered as they come up.
#[derive(Clone, Debug)]
pub(super) struct Column {
    part: NodePart,
    numbers: Lookup<Value, u32>,
    /// The number of every node's value, by position.
    pub(super) values: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Value {
    Flag(bool),
    Label(Option<Sym>),
    Taints(Box<[Taint]>),
    Features(Box<[Sym]>),
}

impl Value {
    fn of(part: NodePart, node: &Node) -> Self {
        match part {
            NodePart::Taints => Self::Taints(node.taints.clone()),
            NodePart::Unschedulable => Self::Flag(node.unschedulable),
            NodePart::Features => Self::Features(node.declared_features.clone()),
            NodePart::Label(key) => Self::Label(node.labels.get(key)),
            NodePart::HasLabel(key) => Self::Flag(node.labels.has(key)),
            NodePart::Image(name) => {
                let mut images = node.images.iter();
                Self::Flag(images.any(|image| image.names.contains(&name)))
            }
        }
    }
}

impl Column {
    fn new(part: NodePart, nodes: &[NodeInfo]) -> Self {
        let mut column = Self {
            part,
            numbers: Lookup::new(),
            values: Vec::with_capacity(nodes.len()),
        };
        for info in nodes {
            column.push(&info.node);
        }
        column
    }

    /// How many different values there are, or were.
    pub(super) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// The number of a label's value.
    pub(super) fn number_of(&self, value: Sym) -> Option<u32> {
        self.numbers.get(&Value::Label(Some(value))).copied()
    }

    fn number(&mut self, node: &Node) -> u32 {
        let next = narrow(self.numbers.len());
        let value = Value::of(self.part, node);
        *self.numbers.or_insert_with(value, || next)
    }

    fn push(&mut self, node: &Node) {
        let number = self.number(node);
        self.values.push(number);
    }

    fn take_in(&mut self, delta: &Delta) {
        match delta {
            Delta::NodeAdded { node, .. } => self.push(node),
            Delta::NodeRemoved { at, .. } => {
                self.values.swap_remove(*at as usize);
            }
            Delta::NodeUpdated { at, node, .. } => self.values[*at as usize] = self.number(node),
            Delta::Pod { .. } | Delta::Object { .. } => {}
        }
    }
}

impl Columns {
    /// Brings all columns up to date.
    pub(super) fn catch_up(&mut self, cx: Cx<'_>) {
        let log = cx.cluster.log();
        match log.since(self.seen) {
            Some((a, b)) => {
                for number in log.others_since(self.seen) {
                    let at = distance(number - self.seen);
                    let Some(delta) = a.get(at).or_else(|| b.get(at - a.len())) else {
                        continue;
                    };
                    for column in &mut self.columns {
                        column.take_in(delta);
                    }
                }
                // Values that are gone keep their numbers, but not for ever.
                let most = 2 * cx.cluster.nodes().len() + 64;
                if self.columns.iter().any(|column| column.numbers() > most) {
                    self.forget();
                }
            }
            None => self.forget(),
        }
        self.seen = log.end();
    }

    fn forget(&mut self) {
        self.columns.clear();
        self.by_part = Lookup::new();
    }

    /// Makes sure that there are columns for these parts; they all must be up to date.
    pub(super) fn want(&mut self, cx: Cx<'_>, parts: impl Iterator<Item = NodePart> + Clone) {
        let nodes = cx.cluster.nodes();
        let new = parts.clone().filter(|part| self.get(*part).is_none());
        if (self.columns.len() + new.count()) * nodes.len() > NUMBERS_MAX {
            self.forget();
        }
        for part in parts {
            let at = self.columns.len();
            if *self.by_part.or_insert_with(part, || at) == at {
                self.columns.push(Column::new(part, nodes));
            }
        }
    }

    /// The column of a part.
    pub(super) fn get(&self, part: NodePart) -> Option<&Column> {
        self.by_part.get(&part).map(|at| &self.columns[*at])
    }

    /// Tells nodes apart that had the same number if one of these parts, which were wanted, differs.
    /// Numbers are below `most`; returns what they are below then, `None` if they would be too many.
    pub(super) fn tell_apart(
        &self,
        parts: &[NodePart],
        numbers: &mut [u32],
        most: usize,
    ) -> Option<usize> {
        let mut most = most;
        for part in parts {
            let column = self.get(*part)?;
            let values = column.numbers();
            if values <= 1 {
                continue;
            }
            most = most.checked_mul(values)?;
            if most > COMBINATIONS_MAX {
                return None;
            }
            for (number, value) in numbers.iter_mut().zip(&column.values) {
                *number = *number * narrow(values) + *value;
            }
        }
        Some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Kind, NodeImage, Object};
    use crate::testing::World;
    use std::sync::Arc;
    use stowplan_base::Rng;

    fn node(world: &mut World, name: &str, rng: &mut Rng) -> Node {
        let zone = format!("z{}", rng.below(3));
        let host = format!("{name}-{}", rng.below(50));
        let labels = [("zone", zone.as_str()), ("host", host.as_str())];
        let mut node = world.node(name, &labels[rng.below(2)..]);
        node.unschedulable = rng.below(2) == 0;
        if rng.below(2) == 0 {
            node.taints = [Taint {
                key: world.sym("taint"),
                value: Sym::EMPTY,
                effect: Effect::NoSchedule,
            }]
            .into();
        }
        if rng.below(2) == 0 {
            node.declared_features = [world.sym("feature")].into();
        }
        if rng.below(2) == 0 {
            node.images = [NodeImage {
                names: [world.sym("image")].into(),
                size_bytes: 1,
            }]
            .into();
        }
        node
    }

    #[test]
    fn columns_follow_the_nodes() {
        let (mut world, mut rng) = (World::default(), Rng::new(3));
        let mut columns = Columns::default();
        let parts = [
            NodePart::Taints,
            NodePart::Unschedulable,
            NodePart::Features,
            NodePart::Label(world.sym("zone")),
            NodePart::Label(world.sym("host")),
            NodePart::HasLabel(world.sym("zone")),
            NodePart::Image(world.sym("image")),
        ];
        for step in 0..3000 {
            let name = format!("n{}", rng.below(40));
            if rng.below(3) == 0 {
                let name = world.sym(&name);
                world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
            } else {
                let node = node(&mut world, &name, &mut rng);
                world.snapshot.upsert(Object::Node(Arc::new(node)));
            }
            // Now and then so late that the log has forgotten.
            if rng.below(20) == 0 || step % 1000 < 400 {
                continue;
            }
            columns.catch_up(world.cx());
            columns.want(world.cx(), parts.into_iter());
            let nodes = world.snapshot.nodes();
            for part in parts {
                let column = columns.get(part).expect("it was wanted");
                assert_eq!(column.values.len(), nodes.len());
                for (info, number) in nodes.iter().zip(&column.values) {
                    let value = Value::of(part, &info.node);
                    assert_eq!(column.numbers.get(&value), Some(number), "step {step}");
                }
                assert!(column.numbers() <= 2 * nodes.len() + 65);
            }
            let mut numbers = vec![0; nodes.len()];
            let told_apart = columns.tell_apart(&parts[..4], &mut numbers, 1);
            let most = told_apart.expect("these are few");
            let says = |at: usize| -> Vec<Value> {
                let parts = parts[..4].iter();
                parts
                    .map(|part| Value::of(*part, &nodes[at].node))
                    .collect()
            };
            for (a, b) in (0..nodes.len()).zip(1..nodes.len()) {
                assert!((numbers[a] as usize) < most);
                assert_eq!(numbers[a] == numbers[b], says(a) == says(b), "step {step}");
            }
        }
    }
}
