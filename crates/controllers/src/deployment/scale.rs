//! How large each ReplicaSet should be while the Deployment itself is scaled.

use super::annotations::{DESIRED_REPLICAS, count_in, set_replicas};
use super::limits::{is_rolling_update, max_surge, proportion};
use super::sets::{Sets, available, by_creation, replica_count, replicas, wanted};
use crate::common::{annotation, name};
use crate::{Event, Write};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use std::sync::Arc;

/// Scales a set, if it is of another size. Upstream's `scaleReplicaSet`.
pub(super) fn resize(deployment: &Arc<Deployment>, set: &ReplicaSet, to: i32) -> Option<Write> {
    (replicas(set) != to).then(|| resized(deployment, set, to))
}

/// Scales a set, if it is of another size or does not know how many pods the Deployment wants and allows.
fn resize_and_note(deployment: &Arc<Deployment>, set: &ReplicaSet, to: i32) -> Option<Write> {
    let mut noted = set.metadata.annotations.clone().unwrap_or_default();
    let is_needed = replicas(set) != to || set_replicas(&mut noted, deployment);
    is_needed.then(|| resized(deployment, set, to))
}

fn resized(deployment: &Arc<Deployment>, set: &ReplicaSet, to: i32) -> Write {
    let from = replicas(set);
    let mut changed = set.clone();
    changed.spec.get_or_insert_default().replicas = Some(to);
    set_replicas(
        changed.metadata.annotations.get_or_insert_default(),
        deployment,
    );
    let (about, set) = (deployment.clone(), name(set).to_owned());
    Write::update(&changed).telling(move |outcome| {
        let direction = if from < to { "up" } else { "down" };
        let message = format!("Scaled {direction} replica set {set} from {from} to {to}");
        let is_news = outcome.is_done() && from != to;
        is_news.then(|| Event::normal(&*about, "ScalingReplicaSet", message))
    })
}

/// Whether the Deployment wants another number of pods than when its sets were scaled last. Upstream's
/// `isScalingEvent`.
pub(super) fn is_scaling_event(deployment: &Deployment, sets: &Sets) -> bool {
    let wanted = wanted(deployment);
    let is_other = |set: &Arc<ReplicaSet>| {
        count_in(set, DESIRED_REPLICAS).is_some_and(|desired| desired != wanted)
    };
    sets.active().any(is_other)
}

/// Scales sets in proportion, so that scaling does not hasten a roll-out that might go wrong. Upstream's
/// `scale`.
pub(super) fn scale(deployment: &Arc<Deployment>, sets: &Sets) -> Vec<Write> {
    let wanted = wanted(deployment);
    let active: Vec<&Arc<ReplicaSet>> = sets.active().collect();
    // The only one that has pods, or the latest, has all of them.
    if let [] | [_] = active.as_slice() {
        let latest = sets.new.as_ref().or(sets.old.last());
        let only = active.first().copied().or(latest);
        let write = only.and_then(|set| resize(deployment, set, wanted));
        return write.into_iter().collect();
    }
    // Sets that were adopted when the roll-out was over have to go.
    if sets
        .new
        .as_ref()
        .is_some_and(|new| is_saturated(deployment, new))
    {
        let old = active.iter().filter(|set| !is_new(sets, set));
        return old.filter_map(|set| resize(deployment, set, 0)).collect();
    }
    if !is_rolling_update(deployment) {
        return Vec::new();
    }
    scale_in_proportion(deployment, active)
}

fn is_new(sets: &Sets, set: &Arc<ReplicaSet>) -> bool {
    sets.new.as_ref().is_some_and(|new| Arc::ptr_eq(new, set))
}

fn scale_in_proportion(
    deployment: &Arc<Deployment>,
    mut sets: Vec<&Arc<ReplicaSet>>,
) -> Vec<Write> {
    let allowed = match wanted(deployment) {
        0 => 0,
        wanted => wanted.saturating_add(max_surge(deployment)),
    };
    let to_add = allowed - replica_count(sets.iter().copied());
    // The largest first. Of those of the same size newer ones grow first, and older ones shrink first.
    sets.sort_by(|one, two| {
        let by_age = match to_add > 0 {
            true => by_creation(two, one),
            false => by_creation(one, two),
        };
        replicas(two).cmp(&replicas(one)).then(by_age)
    });
    let mut added = 0;
    let mut sizes = Vec::new();
    for set in &sets {
        let share = proportion(set, deployment, to_add, added);
        added += share;
        sizes.push(replicas(set) + share);
    }
    // What is left over goes to the largest.
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    let writes = sets.into_iter().zip(sizes);
    writes
        .filter_map(|(set, size)| resize_and_note(deployment, set, size))
        .collect()
}

/// Whether the new set has all the pods that the Deployment wants, and all of them are available.
/// Upstream's `IsSaturated`.
fn is_saturated(deployment: &Deployment, new: &ReplicaSet) -> bool {
    let wanted = wanted(deployment);
    let desired = annotation(new, DESIRED_REPLICAS).and_then(|text| text.parse::<i32>().ok());
    desired == Some(wanted) && replicas(new) == wanted && available(new) == wanted
}

#[cfg(test)]
mod tests;
