//! What changed lately, so that whoever keeps something can catch up.

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
        /// The number of the pod's kin.
        kin: u32,
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
    /// There is such a pod on that node.
    Pod(&'a Pod, &'a Node),
}

impl Delta {
    /// Calls `see` with every fact that came to hold (`true`) or ceased to hold (`false`), in an
    /// order in which the pods of a node come after it and go before it.
    pub fn facts<'a>(&'a self, mut see: impl FnMut(Fact<'a>, bool)) {
        match self {
            Self::Pod {
                added, node, pod, ..
            } => see(Fact::Pod(pod, node), *added),
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
        see(Fact::Pod(pod, node), true);
    }
}

fn go<'a>(node: &'a Node, pods: &'a [Arc<Pod>], see: &mut impl FnMut(Fact<'a>, bool)) {
    for pod in pods {
        see(Fact::Pod(pod, node), false);
    }
    see(Fact::Node(node), false);
}

/// The latest changes. Changes are numbered from the beginning of time; the oldest are forgotten.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    deltas: VecDeque<Delta>,
    /// The number of the oldest change that is remembered.
    first: u64,
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

    /// Forgets all changes.
    pub(super) fn forget(&mut self) {
        self.first = self.end() + 1;
        self.deltas.clear();
    }

    /// Notes a change. Of a cluster of this many nodes so many changes are remembered that
    /// looking at all nodes anew would cost about as much as following them.
    pub(super) fn push(&mut self, delta: Delta, nodes: usize) {
        let most = (8 * nodes).clamp(LEAST, MOST);
        while self.deltas.len() >= most {
            self.deltas.pop_front();
            self.first += 1;
        }
        self.deltas.push_back(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: Sym) -> Delta {
        Delta::Object {
            kind: Kind::Service,
            namespace: Sym::EMPTY,
            name,
            before: None,
        }
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
