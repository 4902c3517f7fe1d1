//! How a pod's like are spread now, told domain by domain.

use super::constraint::Constraint;
use super::filtering::{HardConstraint, HardConstraints};
use crate::Snapshot;
use crate::model::{Pod, SpreadConstraint, Taint, UnsatisfiableAction, find_untolerated_taint};
use stowplan_base::Sym;

/// One constraint of a pod, and the domains as it sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// The constraint, as the pod has it.
    pub constraint: SpreadConstraint,
    /// The pod is one of those that are counted.
    pub self_match: bool,
    /// The number that every domain is compared with: the least number of pods in a domain that
    /// counts, or 0 while fewer than `minDomains` count.
    pub minimum: i64,
    /// How many domains count.
    pub counted: usize,
    /// Every value of the topology key.
    pub domains: Vec<DomainAccount>,
}

/// One domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainAccount {
    /// The value of the topology key.
    pub value: Sym,
    /// Pods that are counted there.
    pub pods: i64,
    /// Nodes that bear the value.
    pub nodes: usize,
    /// Whether one of them counts, so that the domain does.
    pub is_counted: bool,
    /// How much above the minimum the domain would be with this pod in it.
    pub skew: i64,
    /// Where no node will take the pod because of its taints: one of those taints.
    pub taint: Option<Taint>,
}

/// How the pods that a pod's own constraints mean are spread, its hard constraints first. Constraints
/// that a profile has for all pods are not told.
pub fn accounts(cluster: &Snapshot, pod: &Pod) -> Vec<Account> {
    use UnsatisfiableAction::{DoNotSchedule, ScheduleAnyway};
    let mut all = Vec::new();
    for action in [DoNotSchedule, ScheduleAnyway] {
        let given = pod.spread_constraints.iter();
        let given: Vec<_> = given.filter(|c| c.when_unsatisfiable == action).collect();
        let own = given.iter().map(|c| Constraint::own(c, &pod.labels));
        let counted = HardConstraints::count(cluster, pod, own.collect());
        let pairs = given.into_iter().zip(&counted.0);
        all.extend(pairs.map(|(given, counted)| account(cluster, pod, given, counted)));
    }
    all
}

fn account(
    cluster: &Snapshot,
    pod: &Pod,
    given: &SpreadConstraint,
    counted: &HardConstraint,
) -> Account {
    let minimum = counted.domains.global_minimum(given.min_domains);
    let own = i64::from(counted.self_match);
    let domains = counted.domains.all().map(|(value, pods, is_counted)| {
        let (nodes, taint) = nodes_of(cluster, pod, given.topology_key, value);
        DomainAccount {
            value,
            pods,
            nodes,
            is_counted,
            skew: pods + own - minimum,
            taint,
        }
    });
    let domains: Vec<DomainAccount> = domains.collect();
    Account {
        constraint: given.clone(),
        self_match: counted.self_match,
        minimum,
        counted: domains.iter().filter(|domain| domain.is_counted).count(),
        domains,
    }
}

/// How many nodes are in a domain, and a taint if each of them has one that keeps the pod away.
fn nodes_of(cluster: &Snapshot, pod: &Pod, key: Sym, value: Sym) -> (usize, Option<Taint>) {
    let nodes = cluster.nodes().iter().map(|info| &info.node);
    let taints: Vec<Option<Taint>> = nodes
        .filter(|node| node.labels.get(key) == Some(value))
        .map(|node| {
            let rejects = |taint: &Taint| taint.effect.rejects();
            find_untolerated_taint(&node.taints, &pod.tolerations, rejects).copied()
        })
        .collect();
    let all = taints.iter().all(Option::is_some);
    (
        taints.len(),
        taints.first().copied().flatten().filter(|_| all),
    )
}
