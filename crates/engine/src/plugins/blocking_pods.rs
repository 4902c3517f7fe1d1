//! Pods in the way of another, domain by domain.

use crate::model::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::Sym;

/// A topology key and a value: the nodes that bear it.
pub(crate) type Domain = (Sym, Sym);

/// The domains in which pods are in the way.
pub(crate) type BlockingPodsByDomain = BTreeMap<Domain, BlockingPods>;

/// Pods in a domain of which some have to go before another may come.
#[derive(Clone, Debug)]
pub(crate) struct BlockingPods {
    /// The pods, those of the least priority first.
    pub(crate) pods: Vec<Arc<Pod>>,
    /// How many of them have to go; never more than there are.
    pub(crate) surplus: usize,
}

impl BlockingPods {
    /// So many of these pods, among which one may be found twice, have to go.
    pub(super) fn new(mut pods: Vec<Arc<Pod>>, surplus: usize) -> Self {
        pods.sort_by(|a, b| (a.priority, &a.uid).cmp(&(b.priority, &b.uid)));
        pods.dedup_by(|a, b| a.uid == b.uid);
        let surplus = surplus.min(pods.len());
        Self { pods, surplus }
    }

    /// Whether all of the other pods are here, and all have to go.
    pub(crate) fn takes_all(&self, other: &Self) -> bool {
        let is_here = |pod: &Arc<Pod>| {
            let order =
                |known: &Arc<Pod>| (known.priority, &known.uid).cmp(&(pod.priority, &pod.uid));
            self.pods.binary_search_by(order).is_ok()
        };
        self.surplus == self.pods.len()
            && self.pods.len() >= other.pods.len()
            && other.pods.iter().all(is_here)
    }
}
