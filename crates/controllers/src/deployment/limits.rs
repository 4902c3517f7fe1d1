//! How many pods there may be, and how few.

use super::annotations::{MAX_REPLICAS, count_in};
use super::sets::{replica_count, replicas, wanted};
use crate::common::scaled_value;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, RollingUpdateDeployment};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::sync::Arc;

/// The strategy.
pub(super) enum Strategy<'a> {
    /// All old pods go before new ones come.
    Recreate,
    /// New pods take the place of old ones step by step.
    RollingUpdate(Option<&'a RollingUpdateDeployment>),
    /// Something else.
    Unknown(&'a str),
}

/// The strategy of a Deployment.
pub(super) fn strategy(deployment: &Deployment) -> Strategy<'_> {
    let spec = deployment.spec.as_ref();
    let strategy = spec.and_then(|spec| spec.strategy.as_ref());
    let type_ = strategy.and_then(|strategy| strategy.type_.as_deref());
    match type_.unwrap_or_default() {
        "Recreate" => Strategy::Recreate,
        "RollingUpdate" => {
            Strategy::RollingUpdate(strategy.and_then(|strategy| strategy.rolling_update.as_ref()))
        }
        other => Strategy::Unknown(other),
    }
}

/// Whether new pods take the place of old ones step by step.
pub(super) fn is_rolling_update(deployment: &Deployment) -> bool {
    matches!(strategy(deployment), Strategy::RollingUpdate(_))
}

/// `maxSurge` and `maxUnavailable` as numbers. If both come to 0, one pod may be unavailable: surge might
/// not work due to quota. Upstream's `ResolveFenceposts`.
fn resolve_fenceposts(
    max_surge: Option<&IntOrString>,
    max_unavailable: Option<&IntOrString>,
    desired: i32,
) -> Option<(i32, i32)> {
    let none = IntOrString::Int(0);
    let surge = scaled_value(max_surge.unwrap_or(&none), desired, true)?;
    let unavailable = scaled_value(max_unavailable.unwrap_or(&none), desired, false)?;
    match (surge, unavailable) {
        (0, 0) => Some((0, 1)),
        both => Some(both),
    }
}

/// Numbers that make no sense do not pass validation; they count as none.
fn fenceposts(deployment: &Deployment) -> (i32, i32) {
    let Strategy::RollingUpdate(limits) = strategy(deployment) else {
        return (0, 0);
    };
    let surge = limits.and_then(|limits| limits.max_surge.as_ref());
    let unavailable = limits.and_then(|limits| limits.max_unavailable.as_ref());
    resolve_fenceposts(surge, unavailable, wanted(deployment)).unwrap_or((0, 0))
}

/// How many pods more than wanted there may be. Upstream's `MaxSurge`.
pub(super) fn max_surge(deployment: &Deployment) -> i32 {
    fenceposts(deployment).0
}

/// How many pods less than wanted may be available. Upstream's `MaxUnavailable`.
pub(super) fn max_unavailable(deployment: &Deployment) -> i32 {
    match wanted(deployment) {
        0 => 0,
        wanted => fenceposts(deployment).1.min(wanted),
    }
}

/// How many pods the new set should have, of which it has `present`. Upstream's `NewRSNewReplicas`.
pub(super) fn new_replicas<'a>(
    deployment: &Deployment,
    all: impl IntoIterator<Item = &'a Arc<ReplicaSet>>,
    present: i32,
) -> i32 {
    let wanted = wanted(deployment);
    if !is_rolling_update(deployment) {
        return wanted;
    }
    let allowed = wanted.saturating_add(max_surge(deployment));
    match allowed.saturating_sub(replica_count(all)) {
        ..=0 => present,
        more => present + more.min(wanted - present),
    }
}

/// By how much a set grows or shrinks when `to_add` pods in all are to be added, of which `added` have
/// been. Upstream's `GetReplicaSetProportion`.
pub(super) fn proportion(
    set: &ReplicaSet,
    deployment: &Deployment,
    to_add: i32,
    added: i32,
) -> i32 {
    if replicas(set) == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let allowed = to_add - added;
    match to_add > 0 {
        true => fraction(set, deployment).min(allowed),
        false => fraction(set, deployment).max(allowed),
    }
}

/// By how much a set grows or shrinks in proportion to its Deployment. Upstream's `getReplicaSetFraction`.
fn fraction(set: &ReplicaSet, deployment: &Deployment) -> i32 {
    let size = replicas(set);
    let wanted = wanted(deployment);
    if wanted == 0 {
        return -size;
    }
    let max = f64::from(wanted) + f64::from(max_surge(deployment));
    // Without the annotation what there is has to do.
    let status = deployment.status.as_ref();
    let present = status.and_then(|status| status.replicas);
    let noted = count_in(set, MAX_REPLICAS).filter(|max| *max != 0);
    match noted.or(present).filter(|max| *max != 0) {
        None => 0,
        Some(max_before) => rounded(f64::from(size) * max / f64::from(max_before)) - size,
    }
}

/// Half is rounded away from zero.
fn rounded(number: f64) -> i32 {
    // A number that is too large becomes the largest.
    #[allow(clippy::cast_possible_truncation)]
    {
        number.round() as i32
    }
}

#[cfg(test)]
mod tests;
