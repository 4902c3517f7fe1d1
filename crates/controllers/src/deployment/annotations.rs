//! What ReplicaSets say about the roll-out.

use super::limits::max_surge;
use super::sets::{REVISION, wanted};
use crate::common::{annotation, annotations};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use std::collections::BTreeMap;

/// Revisions that a ReplicaSet was before.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// How many pods the Deployment wanted when the set was scaled last.
pub(super) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// How many pods the Deployment allowed when the set was scaled last.
pub(super) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Which revision to go back to.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long the history of revisions may become.
const HISTORY_MAX_CHARS: usize = 2000;

/// Annotations by name.
pub(super) type Annotations = BTreeMap<String, String>;

/// Whether an annotation belongs to one object only.
pub(super) fn is_own(key: &str) -> bool {
    [
        LAST_APPLIED,
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        ROLLBACK_TO,
    ]
    .contains(&key)
}

/// A count in an annotation; nothing if it is none.
pub(super) fn count_in(set: &ReplicaSet, key: &str) -> Option<i32> {
    let text = annotation(set, key)?;
    let is_count = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| text.parse().ok())?
}

/// Notes how many pods the Deployment wants and allows. Returns whether that is news.
pub(super) fn set_replicas(noted: &mut Annotations, deployment: &Deployment) -> bool {
    let wanted = wanted(deployment);
    let max = i64::from(wanted) + i64::from(max_surge(deployment));
    let desired = set(noted, DESIRED_REPLICAS, &wanted.to_string());
    set(noted, MAX_REPLICAS, &max.to_string()) || desired
}

/// Makes the annotations of the new set what they should be. Returns whether that has changed them.
/// Upstream's `SetNewReplicaSetAnnotations`.
pub(super) fn set_for_new(
    noted: &mut Annotations,
    deployment: &Deployment,
    revision: i64,
    is_made: bool,
) -> bool {
    let mut changed = false;
    for (key, value) in annotations(deployment) {
        changed |= !is_own(key) && set(noted, key, value);
    }
    let old = noted.get(REVISION).cloned();
    let before: i64 = match old.as_deref().unwrap_or_default() {
        "" => 0,
        text => match text.parse() {
            Ok(before) => before,
            // As upstream: nothing is written as long as it makes no sense.
            Err(_) => return false,
        },
    };
    if before < revision {
        noted.insert(REVISION.to_owned(), revision.to_string());
        changed = true;
        if let Some(old) = old {
            remember(noted, old);
        }
    }
    if !is_made {
        changed |= set_replicas(noted, deployment);
    }
    changed
}

/// A set that becomes the new one again has served before. The oldest revisions are forgotten first.
fn remember(noted: &mut Annotations, revision: String) {
    let history = noted.get(REVISION_HISTORY).cloned().unwrap_or_default();
    if history.split(',').next().is_none_or(str::is_empty) {
        noted.insert(REVISION_HISTORY.to_owned(), revision);
        return;
    }
    let mut length = history.len() + revision.len() + 1;
    let mut kept: Vec<&str> = Vec::new();
    for entry in history.split(',') {
        match length > HISTORY_MAX_CHARS {
            true => length = length.saturating_sub(entry.len() + 1),
            false => kept.push(entry),
        }
    }
    if length <= HISTORY_MAX_CHARS {
        kept.push(&revision);
        noted.insert(REVISION_HISTORY.to_owned(), kept.join(","));
    }
}

/// Returns whether that is news.
pub(super) fn set(noted: &mut Annotations, key: &str, value: &str) -> bool {
    if noted.get(key).is_some_and(|known| known == value) {
        return false;
    }
    noted.insert(key.to_owned(), value.to_owned());
    true
}

#[cfg(test)]
mod tests;
