//! What a Deployment says of its roll-out. Upstream's `progress.go`, and `calculateStatus`.

use super::conditions::{
    AVAILABLE, PROGRESSING, REPLICA_FAILURE, condition, find, is_because, of, reason, remove, set,
};
use super::limits::max_unavailable;
use super::sets::{Sets, available, replica_count, wanted};
use crate::common::name;
use crate::{Cx, Plan, Write};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition,
    ReplicaSetStatus,
};
use std::sync::Arc;
use std::time::Duration;

/// How long a roll-out may stand still, if it may not for ever.
fn progress_deadline(deployment: &Deployment) -> Option<SignedDuration> {
    let deadline = deployment.spec.as_ref()?.progress_deadline_seconds?;
    (deadline != i32::MAX).then(|| SignedDuration::from_secs(i64::from(deadline)))
}

/// Whether a roll-out that stands still is told of. Upstream's `HasProgressDeadline`.
pub(super) fn has_progress_deadline(deployment: &Deployment) -> bool {
    progress_deadline(deployment).is_some()
}

/// Whether all pods that are wanted are new and available, and no others are there, as far as the status
/// says. Upstream's `DeploymentComplete`.
pub(super) fn is_complete(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    is_complete_with(deployment, &status)
}

fn is_complete_with(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = Some(wanted(deployment));
    let counts = [
        status.updated_replicas,
        status.replicas,
        status.available_replicas,
    ];
    let generation = deployment.metadata.generation.unwrap_or(0);
    counts.iter().all(|count| count.or(Some(0)) == wanted)
        && status.observed_generation.unwrap_or(0) >= generation
}

/// Writes the status when the Deployment is scaled, paused or deleted. Upstream's `syncDeploymentStatus`.
pub(super) fn plain_status(cx: &Cx<'_>, deployment: &Deployment, sets: &Sets) -> Plan {
    let status = calculate(deployment, sets, cx.now);
    write(deployment, status).unwrap_or_default()
}

/// Writes the status during a roll-out, with its progress, or looks again when it may have stood still for
/// too long. Upstream's `syncRolloutStatus`.
pub(super) fn rollout(cx: &Cx<'_>, deployment: &Deployment, sets: &Sets) -> Plan {
    let mut status = calculate(deployment, sets, cx.now);
    let mut conditions = status.conditions.take().unwrap_or_default();
    if !has_progress_deadline(deployment) {
        remove(&mut conditions, PROGRESSING);
    }
    let current = of(deployment, PROGRESSING);
    let is_over =
        status.replicas == status.updated_replicas && is_because(current, reason::NEW_AVAILABLE);
    if has_progress_deadline(deployment) && !is_over {
        estimate_progress(cx.now, deployment, sets, &status, &mut conditions);
    }
    match replica_failure(sets) {
        Some(failure) => set(&mut conditions, failure),
        None => remove(&mut conditions, REPLICA_FAILURE),
    }
    status.conditions = Some(conditions).filter(|conditions| !conditions.is_empty());
    let after = stuck_check(cx.now, deployment, &status);
    write(deployment, status).unwrap_or_else(|| match after {
        Some(after) => Plan::nothing().requeue_after(after),
        None => Plan::nothing(),
    })
}

fn estimate_progress(
    now: Timestamp,
    deployment: &Deployment,
    sets: &Sets,
    status: &DeploymentStatus,
    conditions: &mut Vec<DeploymentCondition>,
) {
    let who = match &sets.new {
        Some(new) => format!("ReplicaSet {:?}", name(&**new)),
        None => format!("Deployment {:?}", name(deployment)),
    };
    if is_complete_with(deployment, status) {
        let message = format!("{who} has successfully progressed.");
        let done = condition(PROGRESSING, "True", reason::NEW_AVAILABLE, message, now);
        set(conditions, done);
    } else if is_progressing(deployment, status) {
        let message = format!("{who} is progressing.");
        let reason = reason::REPLICA_SET_UPDATED;
        let mut going = condition(PROGRESSING, "True", reason, message, now);
        // The time of the update tells of the progress, even if nothing else changes.
        if let Some(current) = of(deployment, PROGRESSING) {
            if current.status == "True" {
                going.last_transition_time = current.last_transition_time.clone();
            }
            remove(conditions, PROGRESSING);
        }
        set(conditions, going);
    } else if is_timed_out(deployment, conditions, now) {
        let message = format!("{who} has timed out progressing.");
        let stuck = condition(PROGRESSING, "False", reason::TIMED_OUT, message, now);
        set(conditions, stuck);
    }
}

/// Whether new pods have come, old ones have gone, or some became ready or available. Upstream's
/// `DeploymentProgressing`.
fn is_progressing(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let before = deployment.status.clone().unwrap_or_default();
    let count = |count: Option<i32>| count.unwrap_or(0);
    let old = |status: &DeploymentStatus| count(status.replicas) - count(status.updated_replicas);
    count(status.updated_replicas) > count(before.updated_replicas)
        || old(status) < old(&before)
        || count(status.ready_replicas) > count(before.ready_replicas)
        || count(status.available_replicas) > count(before.available_replicas)
}

/// Whether the roll-out has stood still for too long. Upstream's `DeploymentTimedOut`.
fn is_timed_out(
    deployment: &Deployment,
    conditions: &[DeploymentCondition],
    now: Timestamp,
) -> bool {
    let Some((deadline, current)) =
        progress_deadline(deployment).zip(find(conditions, PROGRESSING))
    else {
        return false;
    };
    if is_because(Some(current), reason::NEW_AVAILABLE) {
        return false;
    }
    is_because(Some(current), reason::TIMED_OUT) || deadline_at(current, deadline) < now
}

fn deadline_at(current: &DeploymentCondition, deadline: SignedDuration) -> Timestamp {
    let updated = current.last_update_time.as_ref();
    let from = updated.map_or(Timestamp::MIN, |at| at.0);
    from.checked_add(deadline).unwrap_or(Timestamp::MAX)
}

/// When to look whether the roll-out has stood still for too long; a second late, because times have no
/// fractions. Upstream's `requeueStuckDeployment`. A roll-out that is over cannot time out.
fn stuck_check(
    now: Timestamp,
    deployment: &Deployment,
    status: &DeploymentStatus,
) -> Option<Duration> {
    let deadline = progress_deadline(deployment)?;
    let current = of(deployment, PROGRESSING)?;
    let is_settled = is_because(Some(current), reason::TIMED_OUT)
        || is_because(Some(current), reason::NEW_AVAILABLE)
        || is_complete_with(deployment, status);
    if is_settled {
        return None;
    }
    let left = deadline_at(current, deadline).duration_since(now);
    let left = Duration::try_from(left).unwrap_or_default();
    Some(left + Duration::from_secs(1))
}

/// What a ReplicaSet cannot do; the new one's failure counts more.
fn replica_failure(sets: &Sets) -> Option<DeploymentCondition> {
    let failure = |set: &Arc<ReplicaSet>| {
        let conditions = set.status.as_ref()?.conditions.as_ref()?;
        let mut conditions = conditions.iter();
        let failure = conditions.find(|condition| condition.type_ == REPLICA_FAILURE)?;
        Some(of_deployment(failure))
    };
    let of_new = sets.new.as_ref().and_then(failure);
    of_new.or_else(|| sets.old.iter().find_map(failure))
}

fn of_deployment(condition: &ReplicaSetCondition) -> DeploymentCondition {
    DeploymentCondition {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_transition_time: condition.last_transition_time.clone(),
        last_update_time: condition.last_transition_time.clone(),
    }
}

/// Upstream's `calculateStatus`.
fn calculate(deployment: &Deployment, sets: &Sets, now: Timestamp) -> DeploymentStatus {
    let count = |counted: fn(&ReplicaSetStatus) -> i32| {
        let statuses = sets.all().filter_map(|set| set.status.as_ref());
        statuses.map(counted).sum::<i32>()
    };
    let available: i32 = sets.all().map(|set| available(set)).sum();
    let old = deployment.status.clone().unwrap_or_default();
    let mut conditions = old.conditions.unwrap_or_default();
    let is_available = available >= wanted(deployment) - max_unavailable(deployment);
    let (status, why, message) = match is_available {
        true => (
            "True",
            reason::MINIMUM_AVAILABLE,
            "Deployment has minimum availability.",
        ),
        false => (
            "False",
            reason::MINIMUM_UNAVAILABLE,
            "Deployment does not have minimum availability.",
        ),
    };
    set(
        &mut conditions,
        condition(AVAILABLE, status, why, message, now),
    );
    let updated = sets.new.as_ref().and_then(|new| new.status.as_ref());
    plain(DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: Some(count(|status| status.replicas)),
        updated_replicas: Some(updated.map_or(0, |status| status.replicas)),
        ready_replicas: Some(count(|status| status.ready_replicas.unwrap_or(0))),
        available_replicas: Some(available),
        unavailable_replicas: Some((replica_count(sets.all()) - available).max(0)),
        terminating_replicas: terminating(sets),
        collision_count: old.collision_count,
        conditions: Some(conditions),
    })
}

/// How many pods are terminating; unknown if a set that has been looked at does not say.
fn terminating(sets: &Sets) -> Option<i32> {
    let mut total = 0;
    for set in sets.all() {
        let status = set.status.as_ref();
        let is_looked_at = status
            .and_then(|status| status.observed_generation)
            .unwrap_or(0)
            != 0;
        match status.and_then(|status| status.terminating_replicas) {
            Some(count) => total += count,
            None if is_looked_at => return None,
            None => {}
        }
    }
    Some(total)
}

/// As the API has it: what is zero or empty is absent, but for counts that may be unknown.
fn plain(status: DeploymentStatus) -> DeploymentStatus {
    let counted = |count: Option<i32>| count.filter(|count| *count != 0);
    DeploymentStatus {
        observed_generation: status.observed_generation.filter(|seen| *seen != 0),
        replicas: counted(status.replicas),
        updated_replicas: counted(status.updated_replicas),
        ready_replicas: counted(status.ready_replicas),
        available_replicas: counted(status.available_replicas),
        unavailable_replicas: counted(status.unavailable_replicas),
        conditions: status
            .conditions
            .filter(|conditions| !conditions.is_empty()),
        ..status
    }
}

/// Writes a status, if it is another one.
fn write(deployment: &Deployment, status: DeploymentStatus) -> Option<Plan> {
    if plain(deployment.status.clone().unwrap_or_default()) == status {
        return None;
    }
    let mut changed = deployment.clone();
    changed.status = Some(status);
    Some(Plan::write(Write::update_status(&changed)))
}

#[cfg(test)]
mod tests;
