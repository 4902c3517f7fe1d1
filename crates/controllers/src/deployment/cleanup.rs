//! Old ReplicaSets that are not kept for history any more. Upstream's `cleanupDeployment`.

use super::sets::{by_creation, replicas, revision};
use crate::Write;
use crate::common::{is_deleting, sorted, uid};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use serde_json::json;
use std::sync::Arc;

/// Deletes old sets beyond `revisionHistoryLimit`, those of the lowest revision first. Those that have
/// pods stay, and so do those that change in between.
pub(super) fn clean_up(deployment: &Deployment, old: &[Arc<ReplicaSet>]) -> Vec<Write> {
    let spec = deployment.spec.as_ref();
    let limit = spec.and_then(|spec| spec.revision_history_limit);
    let Some(limit) = limit.filter(|limit| *limit != i32::MAX) else {
        return Vec::new();
    };
    let alive = old.iter().filter(|set| !is_deleting(&***set));
    let alive: Vec<&Arc<ReplicaSet>> = alive.collect();
    let excess = alive
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or(0));
    let oldest = sorted(alive, &|one, two| is_before(one, two)).into_iter();
    oldest
        .take(excess)
        .filter(|set| is_without_pods(set))
        .map(|set| delete(set))
        .collect()
}

/// Upstream's `ReplicaSetsByRevision`.
fn is_before(one: &ReplicaSet, two: &ReplicaSet) -> bool {
    match (revision(one), revision(two)) {
        (Some(first), Some(second)) if first != second => first < second,
        _ => by_creation(one, two).is_lt(),
    }
}

fn is_without_pods(set: &ReplicaSet) -> bool {
    let status = set.status.clone().unwrap_or_default();
    let is_observed =
        status.observed_generation.unwrap_or(0) >= set.metadata.generation.unwrap_or(0);
    status.replicas == 0 && replicas(set) == 0 && is_observed
}

fn delete(set: &ReplicaSet) -> Write {
    let version = set.metadata.resource_version.as_deref();
    let preconditions = json!({"uid": uid(set), "resourceVersion": version});
    Write::delete_with(set, &json!({ "preconditions": preconditions }))
}

#[cfg(test)]
mod tests;
