//! The pods that would have to go.

use super::term::IncomingTerm;
use crate::Snapshot;
use crate::model::{AffinityTerm, Pod};
use crate::plugins::blocking_pods::{BlockingPods, BlockingPodsByDomain, Domain};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::Sym;

/// The pods that keep `pod` out of a domain by required anti-affinity, its own or theirs. All of
/// them have to go.
pub(crate) fn blocking_pods(cluster: &Snapshot, pod: &Pod) -> BlockingPodsByDomain {
    let names = &cluster.names;
    let namespace_labels = cluster.namespace_labels(pod.namespace);
    let own = pod.required_anti_affinity().iter();
    let own: Vec<_> = own.map(|term| IncomingTerm::new(term, cluster)).collect();
    let mut pods: BTreeMap<Domain, Vec<Arc<Pod>>> = BTreeMap::new();
    for info in cluster.nodes() {
        let mut add = |key: Sym, other: &Arc<Pod>| {
            if let Some(value) = info.node.labels.get(key) {
                pods.entry((key, value)).or_default().push(other.clone());
            }
        };
        for other in &info.pods_with_required_anti_affinity {
            let means = |term: &&AffinityTerm| term.matches(pod, namespace_labels, names);
            for term in other.required_anti_affinity().iter().filter(means) {
                add(term.topology_key, other);
            }
        }
        let met = |other| own.iter().filter(move |term| term.matches(other, names));
        for other in info.pods.iter().filter(|_| !own.is_empty()) {
            met(other).for_each(|term| add(term.topology_key, other));
        }
    }
    let all = |pods: Vec<_>| BlockingPods::new(pods, usize::MAX);
    let blocking_pods = pods.into_iter();
    blocking_pods
        .map(|(domain, pods)| (domain, all(pods)))
        .collect()
}
