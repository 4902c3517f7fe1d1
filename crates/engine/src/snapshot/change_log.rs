//! What changed lately, so that kept state can catch up.

use crate::cast::distance;
use crate::model::{Kind, Node, Object, Pod};
use std::collections::VecDeque;
use std::sync::Arc;
use stowplan_base::Sym;

/// One change of the snapshot. Positions are those of the moment of the change.
#[derive(Clone, Debug)]
pub enum Delta {
    /// A pod came to a node or left it.
    Pod {
        /// The node's position.
        at: u32,
        /// Whether it came.
        added: bool,
        /// The node.
        node: Arc<Node>,
        /// The pod.
        pod: Arc<Pod>,
        /// The number of the pod's label group.
        label_group: u32,
        /// All changes of pods of the same label group before this one have lower numbers than this.
        label_group_end: u64,
    },
    /// A node appeared at the end of the list.
    NodeAdded {
        /// The node.
        node: Arc<Node>,
        /// The pods that were there before it.
        pods: Box<[Arc<Pod>]>,
    },
    /// A node changed in place.
    NodeUpdated {
        /// The node's position.
        at: u32,
        /// The node as it is now.
        node: Arc<Node>,
        /// The node as it was.
        old: Arc<Node>,
        /// What it was and what it is, if others may see the difference: labels or taints.
        seen: Option<Box<NodeUpdate>>,
    },
    /// A node went; the last node of the list took its position.
    NodeRemoved {
        /// Its number in the order of arrival.
        arrival: u64,
        /// The node's position.
        at: u32,
        /// The node.
        node: Arc<Node>,
        /// The pods that are left without a node.
        pods: Box<[Arc<Pod>]>,
    },
    /// Another object came, changed or went.
    Object {
        /// Its kind.
        kind: Kind,
        /// Its namespace; empty for cluster-scoped kinds.
        namespace: Sym,
        /// Its name.
        name: Sym,
        /// What it was, if there was one.
        before: Option<Object>,
    },
}

/// A node before and after, with the pods on it.
#[derive(Clone, Debug)]
pub struct NodeUpdate {
    /// Before.
    pub old: Arc<Node>,
    /// After.
    pub new: Arc<Node>,
    /// The pods on it, before and after.
    pub pods: Box<[Arc<Pod>]>,
}

/// A change broken down into facts that came to hold or ceased to.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// There is such a node.
    Node(&'a Node),
    /// There is such a pod on that node, and this is the number of its label group, if that is known: what
    /// is said of one of them for its labels and terms goes for all.
    Pod(&'a Pod, &'a Node, Option<u32>),
}

impl Delta {
    /// Calls `see` with every fact that came to hold (`true`) or ceased to hold (`false`), in an
    /// order in which the pods of a node come after it and go before it.
    pub fn facts<'a>(&'a self, mut see: impl FnMut(Fact<'a>, bool)) {
        match self {
            Self::Pod {
                added,
                node,
                pod,
                label_group,
                ..
            } => see(Fact::Pod(pod, node, Some(*label_group)), *added),
            Self::NodeAdded { node, pods } => come(node, pods, &mut see),
            Self::NodeRemoved { node, pods, .. } => go(node, pods, &mut see),
            Self::NodeUpdated { seen, .. } => {
                if let Some(update) = seen {
                    go(&update.old, &update.pods, &mut see);
                    come(&update.new, &update.pods, &mut see);
                }
            }
            Self::Object { .. } => {}
        }
    }
}

fn come<'a>(node: &'a Node, pods: &'a [Arc<Pod>], see: &mut impl FnMut(Fact<'a>, bool)) {
    see(Fact::Node(node), true);
    for pod in pods {
        see(Fact::Pod(pod, node, None), true);
    }
}

fn go<'a>(node: &'a Node, pods: &'a [Arc<Pod>], see: &mut impl FnMut(Fact<'a>, bool)) {
    for pod in pods {
        see(Fact::Pod(pod, node, None), false);
    }
    see(Fact::Node(node), false);
}

/// The latest changes. Changes are numbered from the beginning of time; the oldest are forgotten.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    deltas: VecDeque<Delta>,
    /// The number of the oldest change that is remembered.
    first: u64,
    /// The number of the latest change of every node, by position.
    nodes: Vec<u64>,
    /// By the number of a label group: all changes of its pods have lower numbers than this.
    label_group_ends: Vec<u64>,
    /// The numbers of the changes that are not of pods, of those that are remembered.
    others: VecDeque<u64>,
}

/// Fewer changes than this are never forgotten.
const LEAST: usize = 256;
/// More than this are never remembered.
const MOST: usize = 1 << 17;

impl ChangeLog {
    /// The number that the next change will have.
    pub fn end(&self) -> u64 {
        self.first + self.deltas.len() as u64
    }

    /// The changes from number `from` on, as two runs; `None` if some of them are forgotten.
    pub fn since(&self, from: u64) -> Option<(&[Delta], &[Delta])> {
        let skip = usize::try_from(from.checked_sub(self.first)?).ok()?;
        let (a, b) = self.deltas.as_slices();
        Some(match skip.checked_sub(a.len()) {
            None => (&a[skip..], b),
            Some(skip) => (&[], b.get(skip..)?),
        })
    }

    /// Says of the latest change, which is one of another object, what that was before.
    pub(super) fn was(&mut self, object: Option<&Object>) {
        if let Some(Delta::Object { before, .. }) = self.deltas.back_mut() {
            *before = object.cloned();
        }
    }

    /// The number of the latest change of every node, by position.
    pub(crate) fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// Calls `see` with the number of every change from number `from` on of pods of this label group, the
    /// latest first.
    pub(crate) fn of_label_group(&self, label_group: u32, from: u64, mut see: impl FnMut(u64)) {
        let mut end = self
            .label_group_ends
            .get(label_group as usize)
            .copied()
            .unwrap_or(0);
        while end > from.max(self.first) {
            see(end - 1);
            end = match self.deltas.get(distance(end - 1 - self.first)) {
                Some(Delta::Pod {
                    label_group_end, ..
                }) => *label_group_end,
                _ => 0,
            };
        }
    }

    /// The numbers of the changes from number `from` on that are not of pods.
    pub(crate) fn others_since(&self, from: u64) -> impl Iterator<Item = u64> {
        let start = self.others.partition_point(|number| *number < from);
        self.others.range(start..).copied()
    }

    /// Forgets all changes, and all label groups.
    pub(super) fn forget(&mut self) {
        self.first = self.end() + 1;
        self.deltas.clear();
        self.label_group_ends.clear();
        self.others.clear();
    }

    /// Notes which node, label group or other object the next change is about.
    fn file(&mut self, delta: &mut Delta) {
        let number = self.end();
        match delta {
            Delta::Pod {
                at,
                label_group,
                label_group_end,
                ..
            } => {
                let label_group = *label_group as usize;
                if self.label_group_ends.len() <= label_group {
                    self.label_group_ends.resize(label_group + 1, 0);
                }
                *label_group_end =
                    std::mem::replace(&mut self.label_group_ends[label_group], number + 1);
                self.nodes[*at as usize] = number;
                return;
            }
            Delta::NodeAdded { .. } => self.nodes.push(number),
            Delta::NodeUpdated { at, .. } => self.nodes[*at as usize] = number,
            Delta::NodeRemoved { at, .. } => {
                self.nodes.swap_remove(*at as usize);
                if let Some(moved) = self.nodes.get_mut(*at as usize) {
                    *moved = number;
                }
            }
            Delta::Object { .. } => {}
        }
        self.others.push_back(number);
    }

    /// Notes a change. Of a cluster of this many nodes so many changes are remembered that
    /// looking at all nodes anew would cost about as much as following them.
    pub(super) fn push(&mut self, mut delta: Delta, nodes: usize) {
        let most = (8 * nodes).clamp(LEAST, MOST);
        while self.deltas.len() >= most {
            self.deltas.pop_front();
            self.first += 1;
        }
        while self.others.front().is_some_and(|first| *first < self.first) {
            self.others.pop_front();
        }
        self.file(&mut delta);
        self.deltas.push_back(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use stowplan_base::Rng;

    /// What the log has to say of nodes, label groups and others, found by going through all changes.
    fn check(log: &ChangeLog, from: u64) {
        let (a, b) = log.since(0).expect("nothing is forgotten");
        let numbered: Vec<(u64, &Delta)> = (0..).zip(a.iter().chain(b)).collect();
        let mut nodes = Vec::new();
        for (number, delta) in &numbered {
            match delta {
                Delta::NodeAdded { .. } => nodes.push(*number),
                Delta::NodeRemoved { at, .. } => {
                    nodes.swap_remove(*at as usize);
                    if let Some(moved) = nodes.get_mut(*at as usize) {
                        *moved = *number;
                    }
                }
                Delta::Pod { at, .. } | Delta::NodeUpdated { at, .. } => {
                    nodes[*at as usize] = *number;
                }
                Delta::Object { .. } => {}
            }
        }
        assert_eq!(log.nodes(), nodes);
        let label_group_of = |delta: &Delta| match delta {
            Delta::Pod { label_group, .. } => Some(*label_group),
            _ => None,
        };
        let numbers = |label_group: Option<u32>| -> Vec<u64> {
            let changes = numbered.iter().filter(|(number, _)| *number >= from);
            let changes = changes.filter(|(_, delta)| label_group_of(delta) == label_group);
            changes.map(|(number, _)| *number).collect()
        };
        assert!(log.others_since(from).eq(numbers(None)));
        for label_group in 0..5 {
            let mut found = Vec::new();
            log.of_label_group(label_group, from, |number| found.push(number));
            found.reverse();
            assert_eq!(
                found,
                numbers(Some(label_group)),
                "label_group {label_group} from {from}"
            );
        }
    }

    #[test]
    fn changes_are_found_by_node_and_by_label_group() {
        let (mut world, mut rng) = (World::default(), Rng::new(5));
        for step in 0..200 {
            let node = format!("n{}", rng.below(4));
            let pod = format!("ns/p{}", rng.below(8));
            match rng.below(6) {
                0 | 1 => {
                    let zone = format!("z{}", rng.below(2));
                    let node = world.node(&node, &[("zone", &zone)]);
                    world.add_node(node);
                }
                2 => {
                    let name = world.sym(&node);
                    world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
                }
                3 => {
                    let uid = world.pod(&pod, &[]).uid;
                    world.snapshot.remove_pod(&uid);
                }
                _ => {
                    let app = format!("a{}", rng.below(3));
                    let pod = world.pod(&pod, &[("app", &app)]);
                    world.add_pod(pod, &node);
                }
            }
            check(world.snapshot.log(), rng.below(step + 1) as u64);
        }
    }

    fn change(name: Sym) -> Delta {
        Delta::Object {
            kind: Kind::Service,
            namespace: Sym::EMPTY,
            name,
            before: None,
        }
    }

    #[test]
    fn a_heartbeat_is_no_change() {
        let mut world = World::default();
        let mut node = world.node("n", &[("zone", "a")]);
        world.add_node(node.clone());
        let before = world.snapshot.log().end();
        node.annotations = world.labels(&[("seen-at", "12:00")]);
        node.conditions = [(world.sym("Ready"), world.sym("True"))].into();
        world.add_node(node.clone());
        assert_eq!(world.snapshot.log().end(), before);
        let held = &world.snapshot.nodes()[0].node;
        assert_eq!(held.annotations, node.annotations, "who asks sees it");
        node.labels = world.labels(&[("zone", "b")]);
        world.add_node(node);
        assert_eq!(world.snapshot.log().end(), before + 1);
    }

    #[test]
    fn the_oldest_changes_are_forgotten() {
        let mut log = ChangeLog::default();
        for _ in 0..300 {
            log.push(change(Sym::EMPTY), 10);
        }
        assert_eq!(log.end(), 300);
        let count = |from| log.since(from).map(|(a, b)| a.len() + b.len());
        assert_eq!(count(300), Some(0));
        assert_eq!(count(290), Some(10));
        assert_eq!(count(44), Some(256));
        assert_eq!(count(43), None);
        assert_eq!(count(301), None, "that is yet to come");
    }
}
