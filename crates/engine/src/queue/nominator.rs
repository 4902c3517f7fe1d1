//! Pods that are promised a node.

use crate::model::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::Sym;

/// Which pending pods are nominated to run on which node, in the order of nomination.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: BTreeMap<Sym, Vec<Arc<Pod>>>,
}

impl Nominator {
    /// The pods nominated to a node.
    pub fn pods_on(&self, node: Sym) -> &[Arc<Pod>] {
        self.by_node.get(&node).map_or(&[], |pods| pods)
    }

    /// Nominates a pod; an earlier nomination of it is dropped.
    pub fn add(&mut self, pod: Arc<Pod>, node: Sym) {
        self.remove(&pod.uid);
        self.by_node.entry(node).or_default().push(pod);
    }

    /// Drops a pod's nomination.
    pub fn remove(&mut self, uid: &str) {
        self.by_node.retain(|_, pods| {
            pods.retain(|pod| *pod.uid != *uid);
            !pods.is_empty()
        });
    }
}
