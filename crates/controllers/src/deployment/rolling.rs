//! New pods take the place of old ones step by step. Upstream's `rolling.go`.

use super::cleanup::clean_up;
use super::limits::{max_unavailable, new_replicas};
use super::new_set::create;
use super::scale::resize;
use super::sets::{Sets, available, replica_count, replicas, wanted};
use super::status::{is_complete, rollout};
use super::{Finish, carry_out};
use crate::{Cx, Outcome, Plan, Write};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use std::sync::Arc;

/// The next step of a roll-out.
pub(super) fn roll_out(cx: &Cx<'_>, deployment: &Arc<Deployment>, sets: &Sets) -> Plan {
    let Some(new) = &sets.new else {
        return create(deployment, sets);
    };
    // Scale up if we can, else scale down if we can.
    if let Some(write) = reconcile_new(deployment, sets, new) {
        return carry_out(deployment, vec![write], Finish::Rollout);
    }
    if let Some(plan) = reconcile_old(deployment, sets, new) {
        return plan;
    }
    let writes = match is_complete(deployment) {
        true => clean_up(deployment, &sets.old),
        false => Vec::new(),
    };
    match writes.is_empty() {
        true => rollout(cx, deployment, sets),
        false => carry_out(deployment, writes, Finish::Rollout),
    }
}

fn reconcile_new(deployment: &Arc<Deployment>, sets: &Sets, new: &ReplicaSet) -> Option<Write> {
    let (size, wanted) = (replicas(new), wanted(deployment));
    let to = match size < wanted {
        true => new_replicas(deployment, sets.all(), size),
        false => wanted,
    };
    resize(deployment, new, to)
}

/// Takes pods of old sets away, if that may be: those that are not available, and then others. A set that
/// has both is scaled twice, so that events tell of both, as upstream's do.
fn reconcile_old(deployment: &Arc<Deployment>, sets: &Sets, new: &ReplicaSet) -> Option<Plan> {
    let unhealthy = unhealthy(deployment, sets, new)?;
    if unhealthy.is_empty() {
        let writes = surplus(deployment, sets, new);
        return (!writes.is_empty()).then(|| carry_out(deployment, writes, Finish::Rollout));
    }
    let deployment = deployment.clone();
    let plan = Plan::sequence(unhealthy).then(move |cx, outcomes| {
        if !outcomes.iter().all(Outcome::is_done) {
            return Plan::nothing();
        }
        let sets = Sets::known(cx.cluster, &deployment);
        let new = sets.new.as_ref();
        let writes = new.map_or_else(Vec::new, |new| surplus(&deployment, &sets, new));
        match writes.is_empty() {
            true => rollout(cx, &deployment, &sets),
            false => carry_out(&deployment, writes, Finish::Rollout),
        }
    });
    Some(plan)
}

/// The old sets that have, or ought to have, pods.
fn shrinking(sets: &Sets) -> Vec<Shrinking<'_>> {
    let mut old: Vec<Shrinking<'_>> = sets.old.iter().map(Shrinking::new).collect();
    old.retain(|set| set.size > 0);
    old
}

/// How many pods have to be available.
fn min_available(deployment: &Deployment) -> i32 {
    wanted(deployment) - max_unavailable(deployment)
}

/// Takes away pods of old sets that are not available. Nothing if no old pods may go.
fn unhealthy(deployment: &Arc<Deployment>, sets: &Sets, new: &ReplicaSet) -> Option<Vec<Write>> {
    let mut old = shrinking(sets);
    if old.is_empty() {
        return None;
    }
    // Pods of the new set that are not available do not count, so that they do not take old ones down.
    let new_unavailable = replicas(new) - available(new);
    let allowed = replica_count(sets.all()) - min_available(deployment) - new_unavailable;
    let may_go = allowed > 0 && clean_up_unhealthy(&mut old, allowed);
    may_go.then(|| resized(deployment, &old))
}

/// Takes away pods of old sets that need not be available.
fn surplus(deployment: &Arc<Deployment>, sets: &Sets, new: &ReplicaSet) -> Vec<Write> {
    let mut old = shrinking(sets);
    let of_old: i32 = old.iter().map(|old| available(old.set)).sum();
    scale_down(
        &mut old,
        of_old + available(new) - min_available(deployment),
    );
    resized(deployment, &old)
}

fn resized(deployment: &Arc<Deployment>, old: &[Shrinking<'_>]) -> Vec<Write> {
    let smaller = old.iter();
    smaller
        .filter_map(|old| resize(deployment, old.set, old.size))
        .collect()
}

/// An old set and the size that it comes down to.
struct Shrinking<'a> {
    set: &'a Arc<ReplicaSet>,
    size: i32,
}

impl<'a> Shrinking<'a> {
    fn new(set: &'a Arc<ReplicaSet>) -> Self {
        let size = replicas(set);
        Self { set, size }
    }
}

/// Takes pods that are not available away first: they would be in the way, and nobody misses them. Returns
/// whether to go on: not if a set has more pods available than it wants, because it has just been scaled.
fn clean_up_unhealthy(old: &mut [Shrinking<'_>], allowed: i32) -> bool {
    let mut gone = 0;
    for old in old {
        let unhealthy = old.size - available(old.set);
        if gone >= allowed {
            break;
        }
        if unhealthy < 0 {
            return false;
        }
        let fewer = unhealthy.min(allowed - gone);
        old.size -= fewer;
        gone += fewer;
    }
    true
}

/// Takes so many pods away, from the oldest sets first.
fn scale_down(old: &mut [Shrinking<'_>], mut excess: i32) {
    for old in old {
        let fewer = old.size.min(excess).max(0);
        old.size -= fewer;
        excess -= fewer;
    }
}

#[cfg(test)]
mod tests;
