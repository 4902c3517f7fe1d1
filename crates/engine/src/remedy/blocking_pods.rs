//! Pods that are in the way in a whole domain.

use super::candidates::{Candidate, Rejected};
use super::{Case, Place, TRIALS_MAX};
use crate::Snapshot;
use crate::model::Pod;
use crate::plugins::blocking_pods::{BlockingPodsByDomain, Domain};
use crate::plugins::pod_topology_spread::HardConstraints;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::Sym;

/// Nobody moves more pods than this to make room for one.
const PODS_MAX: usize = 64;

/// Pods that leave the domains of a node, and labels that give it a domain. Constraints that the
/// profile adds to pods without any are not looked at.
pub(super) fn spread(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let cluster = case.cx.cluster;
    let constraints = HardConstraints::named_by(cluster, case.pod);
    let mut out = gone(case, &constraints.blocking_pods(cluster, case.pod), nodes);
    for Rejected { at, .. } in nodes.iter().filter(|rejected| rejected.unresolvable) {
        let node = &case.node(*at).node;
        let label = constraints.missing_label(node);
        out.extend(label.map(|label| Candidate::label(node, label, *at)));
    }
    out
}

/// Pods that leave the domains of a node. Nodes where it is the same domains that count are taken
/// together, and only where the least pods have to go is it worked out which.
pub(super) fn gone(
    case: Case<'_>,
    blocking_pods: &BlockingPodsByDomain,
    nodes: &[Rejected],
) -> Vec<Candidate> {
    let keys: BTreeSet<Sym> = blocking_pods.keys().map(|(key, _)| *key).collect();
    let mut together: BTreeMap<Vec<Domain>, (Vec<Domain>, usize)> = BTreeMap::new();
    for Rejected { at, .. } in nodes.iter().filter(|rejected| !rejected.unresolvable) {
        let labels = &case.node(*at).node.labels;
        let domains = keys
            .iter()
            .filter_map(|key| Some((*key, labels.get(*key)?)));
        let domains = domains.filter(|domain| blocking_pods.contains_key(domain));
        let domains: Vec<Domain> = domains.collect();
        if let counting @ [_, ..] = &that_count(blocking_pods, &domains)[..] {
            let first = together.entry(counting.to_vec());
            first.or_insert((domains, *at));
        }
    }
    let at_most = |domains: &[Domain]| -> usize {
        let blocking_pods = domains.iter().map(|domain| &blocking_pods[domain]);
        blocking_pods.map(|blocking| blocking.surplus).sum()
    };
    let mut together: Vec<_> = together.into_iter().collect();
    together.retain(|(counting, _)| at_most(counting) <= PODS_MAX);
    together.sort_by_key(|(counting, (_, at))| (at_most(counting), *at));
    together.truncate(TRIALS_MAX);
    let mut known: BTreeSet<Vec<Arc<str>>> = BTreeSet::new();
    let mut out = Vec::new();
    for (counting, (domains, at)) in together {
        let pods = who_goes(blocking_pods, &counting);
        if known.insert(pods.iter().map(|pod| pod.uid.clone()).collect()) {
            let from = place(case.cx.cluster, &domains, case.node(at).node.name);
            out.push(Candidate::evict(from, pods, at));
        }
    }
    out
}

/// The domains without those whose pods all go from another one anyway.
fn that_count(blocking_pods: &BlockingPodsByDomain, domains: &[Domain]) -> Vec<Domain> {
    let mut out = domains.to_vec();
    for domain in domains {
        let covers = |other: &Domain| {
            other != domain && blocking_pods[other].takes_all(&blocking_pods[domain])
        };
        if out.iter().any(covers) {
            out.retain(|kept| kept != domain);
        }
    }
    out
}

/// As many as have to go from each of the domains, those of the least priority first. Whoever goes
/// from a small domain most often goes from the large one around it, too.
fn who_goes(blocking_pods: &BlockingPodsByDomain, domains: &[Domain]) -> Vec<Arc<Pod>> {
    let mut blocking_pods: Vec<_> = domains
        .iter()
        .map(|domain| &blocking_pods[domain])
        .collect();
    blocking_pods.sort_by_key(|blocking| blocking.pods.len());
    let mut gone: BTreeMap<(i32, &str), Arc<Pod>> = BTreeMap::new();
    for blocking in blocking_pods {
        let key = |pod: &&Arc<Pod>| !gone.contains_key(&(pod.priority, &*pod.uid));
        let stay: Vec<_> = blocking.pods.iter().filter(key).collect();
        let already = blocking.pods.len() - stay.len();
        let more = stay.iter().take(blocking.surplus.saturating_sub(already));
        gone.extend(more.map(|pod| ((pod.priority, &*pod.uid), Arc::clone(pod))));
    }
    gone.into_values().collect()
}

/// Where pods must not be that are in the way in these domains of a node. Whoever leaves the others
/// leaves those that are but this node.
fn place(cluster: &Snapshot, domains: &[Domain], node: Sym) -> Place {
    let is_wide = |(key, value): &&Domain| cluster.label_counts(*key, *value) > 1;
    let mut wide = domains.iter().filter(is_wide);
    match (wide.next(), wide.next()) {
        (None, _) => Place::Node(node),
        (Some((key, value)), None) => Place::Domain {
            key: *key,
            value: *value,
        },
        // To leave one of them may lead into the other.
        _ => Place::Anywhere,
    }
}
