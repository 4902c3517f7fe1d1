//! The pods that would have to go, and the domain that a node could join.

use super::HardConstraints;
use super::constraint::Constraint;
use super::filtering::HardConstraint;
use crate::Snapshot;
use crate::model::{Node, Pod, UnsatisfiableAction};
use crate::plugins::blocking_pods::{BlockingPods, BlockingPodsByDomain, Domain};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

impl HardConstraints {
    /// The constraints that the pod names itself, and how its like are spread.
    pub(crate) fn named_by(cluster: &Snapshot, pod: &Pod) -> Self {
        let named = pod.spread_constraints.iter();
        let hard = named.filter(|c| c.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule);
        let constraints = hard.map(|c| Constraint::own(c, &pod.labels)).collect();
        Self::count_label_group(cluster, pod, constraints)
    }

    /// The domains that are too full for the pod.
    pub(crate) fn blocking_pods(&self, cluster: &Snapshot, pod: &Pod) -> BlockingPodsByDomain {
        let names = &cluster.names;
        let mut blocking_pods: BTreeMap<Domain, (Vec<Arc<Pod>>, usize)> = BTreeMap::new();
        for info in cluster.nodes() {
            if !self.has_all_keys(&info.node) {
                continue;
            }
            for hard in &self.0 {
                let constraint = &hard.constraint;
                let key = constraint.topology_key;
                let Some(value) = info.node.labels.get(key) else {
                    continue;
                };
                let pods = hard.domains.id(value).map_or(0, |id| hard.domains.pods(id));
                let surplus = hard.surplus(pods);
                if surplus <= 0 || !constraint.includes(pod, &info.node, names) {
                    continue;
                }
                let blocking = blocking_pods.entry((key, value)).or_default();
                let counted = info.pods.iter();
                let counted = counted.filter(|p| constraint.counts(p, pod.namespace, names));
                blocking.0.extend(counted.cloned());
                blocking.1 = usize::try_from(surplus).unwrap_or(usize::MAX);
            }
        }
        let blocking_pods = blocking_pods.into_iter();
        blocking_pods
            .map(|(domain, (pods, surplus))| (domain, BlockingPods::new(pods, surplus)))
            .collect()
    }

    /// The label that a node lacks to belong to a domain, if it is only one, with the value of the
    /// emptiest domain.
    pub(crate) fn missing_label(&self, node: &Node) -> Option<Domain> {
        let is_missing = |hard: &&HardConstraint| !node.labels.has(hard.constraint.topology_key);
        let mut missing = self.0.iter().filter(is_missing);
        let (Some(only), None) = (missing.next(), missing.next()) else {
            return None;
        };
        let key = only.constraint.topology_key;
        let value = match key {
            sym::HOSTNAME => node.name,
            _ => only.domains.emptiest().unwrap_or(Sym::EMPTY),
        };
        Some((key, value))
    }
}
