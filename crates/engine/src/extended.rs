//! Attempts in which extenders have a say: services of others that filter, score and preempt.
//! Upstream's `findNodesThatPassExtenders`, `prioritizeNodes` and `callExtenders`.

use crate::Snapshot;
use crate::framework::Candidate;
use crate::framework::{Cx, Framework, Nomination, PluginStatus, Status};
use crate::model::Pod;
use crate::schedule::{
    Attempt, Coverage, Feasibility, Placement, best_of, find_feasible, run_post_filters, score,
};

/// What stands for all extenders where plugins are named.
pub const EXTENDER: &str = "Extender";

/// Those who are asked. How they are reached, and what becomes of those that can be ignored, is
/// theirs to know.
pub trait Extenders {
    /// Whether any of them wants to be asked about the pod.
    fn concerns(&self, cluster: &Snapshot, pod: &Pod) -> bool;

    /// Which of the nodes at these positions they leave, and why not the others.
    fn filter(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        nodes: &[usize],
    ) -> Result<Filtered, String>;

    /// What they add to the totals of the nodes at these positions, in their order.
    fn prioritize(&mut self, cluster: &Snapshot, pod: &Pod, nodes: &[usize]) -> Vec<i64>;

    /// Which candidates of a preemption they leave, with whom they want to go.
    fn preempt(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, String>;
}

/// What extenders left.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// The nodes that are left, ascending.
    pub nodes: Vec<usize>,
    /// Why others are not.
    pub failed: Vec<(usize, Status)>,
}

/// There are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtenders;

impl Extenders for NoExtenders {
    fn concerns(&self, _cluster: &Snapshot, _pod: &Pod) -> bool {
        false
    }

    fn filter(
        &mut self,
        _cluster: &Snapshot,
        _pod: &Pod,
        nodes: &[usize],
    ) -> Result<Filtered, String> {
        Ok(Filtered {
            nodes: nodes.to_vec(),
            failed: Vec::new(),
        })
    }

    fn prioritize(&mut self, _cluster: &Snapshot, _pod: &Pod, nodes: &[usize]) -> Vec<i64> {
        vec![0; nodes.len()]
    }

    fn preempt(
        &mut self,
        _cluster: &Snapshot,
        _pod: &Pod,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, String> {
        Ok(candidates)
    }
}

/// One whole attempt. There must be at least one node.
pub fn schedule_extended(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    extenders: &mut dyn Extenders,
) -> Attempt {
    let found = match find_passing(framework, cx, pod, extenders) {
        Ok(found) => found,
        Err(error) => return Attempt::Error(error),
    };
    match found.feasible[..] {
        [] => fits_nowhere(framework, cx, found, pod, extenders),
        [only] => Attempt::Placed(Placement {
            cycle: found.cycle,
            best: vec![only],
        }),
        _ => place(framework, cx, found, pod, extenders),
    }
}

/// The nodes that pass the filters and the extenders.
fn find_passing(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    extenders: &mut dyn Extenders,
) -> Result<Feasibility, PluginStatus> {
    let mut found = find_feasible(framework, cx, pod, Coverage::Decision)?;
    if found.nominated.is_some() {
        // An error here is no verdict: all nodes are asked then.
        let left = extenders.filter(cx.cluster, pod, &found.feasible);
        if left.is_ok_and(|left| !left.nodes.is_empty()) {
            return Ok(found);
        }
        found = find_feasible(framework, cx, pod, Coverage::Everything)?;
    }
    if found.feasible.is_empty() {
        return Ok(found);
    }
    let left = extenders
        .filter(cx.cluster, pod, &found.feasible)
        .map_err(broken)?;
    for (at, status) in left.failed {
        found.diagnosis.statuses.set(at, nobodys(status));
    }
    if left.nodes.len() != found.feasible.len() {
        found.diagnosis.unschedulable_plugins.insert(EXTENDER);
    }
    found.feasible = left.nodes;
    Ok(found)
}

fn place(
    framework: &Framework,
    cx: Cx<'_>,
    mut found: Feasibility,
    pod: &Pod,
    extenders: &mut dyn Extenders,
) -> Attempt {
    let mut table = match score(framework, cx, &mut found.cycle, pod, &found.feasible) {
        Ok(table) => table,
        Err(error) => return Attempt::Error(error),
    };
    let more = extenders.prioritize(cx.cluster, pod, &found.feasible);
    for (total, more) in table.totals.iter_mut().zip(more) {
        *total = total.saturating_add(more);
    }
    Attempt::Placed(Placement {
        best: best_of(&found.feasible, &table),
        cycle: found.cycle,
    })
}

fn fits_nowhere(
    framework: &Framework,
    cx: Cx<'_>,
    mut found: Feasibility,
    pod: &Pod,
    extenders: &mut dyn Extenders,
) -> Attempt {
    let mut result = run_post_filters(framework, cx, &mut found, pod);
    let candidates = result
        .as_mut()
        .and_then(|result| result.preemption.as_mut())
        .map(|report| std::mem::take(&mut report.candidates))
        .filter(|candidates| !candidates.is_empty());
    if let (Some(result), Some(candidates)) = (&mut result, candidates) {
        let left = extenders.preempt(cx.cluster, pod, candidates);
        result.extended(cx, left);
        found.diagnosis.post_filter_message = match &result.status {
            Ok(()) => String::new(),
            Err(status) => status.message(cx.cluster),
        };
    }
    let (nomination, preemption) = match result {
        Some(result) => (result.nomination, result.preemption),
        None => (Nomination::Set(None), None),
    };
    Attempt::Unschedulable {
        diagnosis: found.diagnosis,
        nomination,
        preemption,
    }
}

fn broken(error: String) -> PluginStatus {
    nobodys(Status::error(error))
}

/// A verdict that no plugin of the profile answers for.
fn nobodys(status: Status) -> PluginStatus {
    PluginStatus { plugin: "", status }
}
