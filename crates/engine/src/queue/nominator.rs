//! Pods that are promised a node. Upstream's `backend/queue/nominator.go`.

use crate::Snapshot;
use crate::framework::Nomination;
use crate::model::Pod;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stowplan_base::{Lookup, Sym};

/// Which pending pods are nominated to run on which node, in the order of nomination.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: BTreeMap<Sym, Vec<Arc<Pod>>>,
    /// The node of each nominated pod, by uid.
    nodes: Lookup<Arc<str>, Sym>,
    /// The nodes of the latest changes.
    changes: VecDeque<Sym>,
    /// How many changes there were before those.
    forgotten: u64,
}

/// How many changes are remembered.
const CHANGES: usize = 4096;

impl Nominator {
    /// Whether no pod is nominated.
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// The number that the next change will have.
    pub(crate) fn changes_end(&self) -> u64 {
        self.forgotten + self.changes.len() as u64
    }

    /// The nodes of the changes from number `from` on; `None` if some of them are forgotten.
    pub(crate) fn changes_since(&self, from: u64) -> Option<impl Iterator<Item = &Sym>> {
        let skip = usize::try_from(from.checked_sub(self.forgotten)?).ok()?;
        (skip <= self.changes.len()).then(|| self.changes.range(skip..))
    }

    fn note(&mut self, node: Sym) {
        if self.changes.len() == CHANGES {
            self.changes.pop_front();
            self.forgotten += 1;
        }
        self.changes.push_back(node);
    }

    /// The pods nominated to a node.
    pub fn pods_on(&self, node: Sym) -> &[Arc<Pod>] {
        self.by_node.get(&node).map_or(&[], |pods| pods)
    }

    /// All nodes that pods are nominated to, with those pods.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, &[Arc<Pod>])> {
        self.by_node.iter().map(|(node, pods)| (*node, &pods[..]))
    }

    /// The node that a pod is nominated to.
    pub fn node_of(&self, uid: &str) -> Option<Sym> {
        self.nodes.get(uid).copied()
    }

    /// Nominates a pod; an earlier nomination of it is dropped.
    pub fn add(&mut self, pod: Arc<Pod>, node: Sym) {
        self.remove(&pod.uid);
        self.nodes.insert(pod.uid.clone(), node);
        self.note(node);
        self.by_node.entry(node).or_default().push(pod);
    }

    /// Drops a pod's nomination.
    pub fn remove(&mut self, uid: &str) {
        if self.is_empty() {
            return;
        }
        let Some(node) = self.nodes.remove(uid) else {
            return;
        };
        self.note(node);
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.retain(|pod| *pod.uid != *uid);
            if pods.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// Nominates a pod to the given node, or to the one that its status says.
    ///
    /// A pod that the API does not have or that is on a node loses its nomination.
    pub fn nominate(&mut self, pod: &Arc<Pod>, nomination: Nomination, cluster: &Snapshot) {
        self.remove(&pod.uid);
        let node = match nomination {
            Nomination::Keep => pod.nominated_node_name,
            Nomination::Set(node) => node,
        };
        let is_pending = || {
            let listed = cluster.listed_pod(pod.namespace, pod.name);
            listed.is_some_and(|listed| !listed.is_assigned())
        };
        if let Some(node) = node.filter(|_| is_pending()) {
            self.add(pod.clone(), node);
        }
    }

    /// Follows a change of a pending pod.
    ///
    /// A nomination that the status never mentioned stays; otherwise the status decides.
    pub fn update(&mut self, old: &Pod, new: &Arc<Pod>, cluster: &Snapshot) {
        let unmentioned = old.nominated_node_name.is_none() && new.nominated_node_name.is_none();
        let nomination = match self.node_of(&old.uid) {
            Some(node) if unmentioned => Nomination::Set(Some(node)),
            _ => Nomination::Keep,
        };
        self.remove(&old.uid);
        self.nominate(new, nomination, cluster);
    }
}
