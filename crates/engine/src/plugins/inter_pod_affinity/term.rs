//! The affinity terms of the pod that is being scheduled.

use crate::Snapshot;
use crate::model::{AffinityTerm, Labels, Pod, Selector};
use stowplan_base::{Names, Sym};

/// A term of the incoming pod, its `namespaceSelector` looked up once.
#[derive(Clone, Debug)]
pub(super) struct IncomingTerm {
    pub(super) topology_key: Sym,
    selector: Selector,
    /// Sorted.
    namespaces: Box<[Sym]>,
    /// The `namespaceSelector` accepts a namespace without labels. It is then taken to accept
    /// every namespace: upstream leaves it in place after the lookup and asks it about no labels.
    any_namespace: bool,
}

impl IncomingTerm {
    /// The term, with all namespaces that its selector selects now.
    pub(super) fn new(term: &AffinityTerm, cluster: &Snapshot) -> Self {
        let names = &cluster.names;
        let mut namespaces = term.namespaces.to_vec();
        if !term.namespace_selector.is_empty() {
            let selected = cluster
                .namespaces
                .iter()
                .filter(|ns| term.namespace_selector.matches(&ns.labels, names))
                .map(|ns| ns.name);
            namespaces.extend(selected);
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        Self {
            topology_key: term.topology_key,
            selector: term.selector.clone(),
            namespaces: namespaces.into(),
            any_namespace: term.namespace_selector.matches(&Labels::default(), names),
        }
    }

    /// Which pods it selects, in its namespaces.
    pub(super) fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Whether the term means `pod`.
    pub(super) fn matches(&self, pod: &Pod, names: &Names) -> bool {
        (self.any_namespace || self.namespaces.binary_search(&pod.namespace).is_ok())
            && self.selector.matches(&pod.labels, names)
    }
}

/// Whether `pod` is meant by every term; by no terms nobody is meant.
pub(super) fn matches_all(terms: &[IncomingTerm], pod: &Pod, names: &Names) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, names))
}
