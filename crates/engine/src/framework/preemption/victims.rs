//! The victims on one node. Upstream's `SelectVictimsOnNode`.

use crate::framework::{DryRun, DryRunOp, PluginStatus, Status};
use crate::model::{Pod, PodDisruptionBudget};
use crate::{NodeInfo, Snapshot};
use std::cmp::Reverse;
use std::sync::Arc;
use stowplan_base::{Names, Time};

/// The pods that have to leave `node` so that `pod` fits, the most important first, and how many
/// of them a budget protects; or why that would not help.
///
/// All pods of lower priority are taken away; then as many as possible come back, those protected
/// by a budget first, the more important before the less.
pub(super) fn select_victims(
    dry_run: &mut DryRun<'_>,
    cluster: &Snapshot,
    pod: &Pod,
    node: &NodeInfo,
    budgets: &[&PodDisruptionBudget],
) -> Result<(Vec<Arc<Pod>>, usize), PluginStatus> {
    let mut potential: Vec<Arc<Pod>> = node
        .pods
        .iter()
        .filter(|other| other.priority < pod.priority)
        .cloned()
        .collect();
    if potential.is_empty() {
        return Err(no_victims());
    }
    dry_run.enter(node);
    for victim in &potential {
        dry_run.try_pod(victim, DryRunOp::Remove);
    }
    dry_run.fits()?;

    potential.sort_by_key(|victim| importance(victim));
    let (violating, others) = split_by_budget(potential, budgets, &cluster.names);
    let mut reprieve = |victim: &Arc<Pod>| {
        dry_run.try_pod(victim, DryRunOp::Add);
        let fits = dry_run.fits().is_ok();
        if !fits {
            dry_run.try_pod(victim, DryRunOp::Remove);
        }
        fits
    };
    let mut victims: Vec<_> = violating.into_iter().filter(|v| !reprieve(v)).collect();
    let pdb_violations = victims.len();
    victims.extend(others.into_iter().filter(|v| !reprieve(v)));
    victims.sort_by_key(|victim| importance(victim));
    if victims.is_empty() {
        return Err(PluginStatus {
            plugin: "",
            status: Status::error(format!(
                "expected at least one victim pod on node {:?}",
                cluster.names.text(node.node.name)
            )),
        });
    }
    Ok((victims, pdb_violations))
}

/// The verdict on nodes without any pod of lower priority.
pub(super) fn no_victims() -> PluginStatus {
    PluginStatus {
        plugin: "",
        status: Status::unresolvable("No preemption victims found for incoming pod"),
    }
}

/// Sorts the more important first: higher priority, then started earlier. Upstream's
/// `MoreImportantPod`.
fn importance(pod: &Pod) -> (Reverse<i32>, Time) {
    (Reverse(pod.priority), start_time(pod))
}

/// A pod that has not started starts later than all others.
pub(super) fn start_time(pod: &Pod) -> Time {
    pod.start_time.unwrap_or(Time::MAX)
}

/// Pods whose eviction would overdraw a budget, and the others; the order is kept.
///
/// Every pod draws on all budgets that select it, evicted in the end or not.
fn split_by_budget(
    pods: Vec<Arc<Pod>>,
    budgets: &[&PodDisruptionBudget],
    names: &Names,
) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let mut allowed: Vec<i64> = budgets
        .iter()
        .map(|budget| i64::from(budget.disruptions_allowed))
        .collect();
    pods.into_iter().partition(|pod| {
        let mut violates = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            if protects(budget, pod, names) {
                *allowed -= 1;
                violates |= *allowed < 0;
            }
        }
        violates
    })
}

/// Whether the pod's eviction counts against the budget. An empty selector selects nothing here,
/// a pod without labels is never selected, and evictions under way are already counted.
fn protects(budget: &PodDisruptionBudget, pod: &Pod, names: &Names) -> bool {
    budget.namespace == pod.namespace
        && !pod.labels.is_empty()
        && !budget.selector.is_empty()
        && budget.selector.matches(&pod.labels, names)
        && !budget.disrupted_pods.contains(&pod.name)
}
