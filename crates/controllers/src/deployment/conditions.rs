//! Conditions of Deployments.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Whether the roll-out goes on.
pub(super) const PROGRESSING: &str = "Progressing";
/// Whether there are as many pods as there have to be.
pub(super) const AVAILABLE: &str = "Available";
/// Pods cannot be made or deleted.
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Reasons, with upstream's words.
pub(super) mod reason {
    pub(in super::super) const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    pub(in super::super) const FAILED_CREATE: &str = "ReplicaSetCreateError";
    pub(in super::super) const NEW_REPLICA_SET: &str = "NewReplicaSetCreated";
    pub(in super::super) const FOUND_NEW: &str = "FoundNewReplicaSet";
    pub(in super::super) const NEW_AVAILABLE: &str = "NewReplicaSetAvailable";
    pub(in super::super) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    pub(in super::super) const PAUSED: &str = "DeploymentPaused";
    pub(in super::super) const RESUMED: &str = "DeploymentResumed";
    pub(in super::super) const MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
    pub(in super::super) const MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
}

/// A condition since now.
pub(super) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: impl Into<String>,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
        last_update_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// The condition of a type.
pub(super) fn find<'a>(
    conditions: &'a [DeploymentCondition],
    type_: &str,
) -> Option<&'a DeploymentCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The condition of a type that a Deployment has.
pub(super) fn of<'a>(deployment: &'a Deployment, type_: &str) -> Option<&'a DeploymentCondition> {
    let conditions = deployment.status.as_ref()?.conditions.as_deref()?;
    find(conditions, type_)
}

/// Whether the reason of a condition is this one.
pub(super) fn is_because(condition: Option<&DeploymentCondition>, reason: &str) -> bool {
    condition.is_some_and(|condition| condition.reason.as_deref() == Some(reason))
}

/// Sets a condition, unless one of the same type has the same status and reason. The time of transition is
/// that of the last change of status. Upstream's `SetDeploymentCondition`.
pub(super) fn set(conditions: &mut Vec<DeploymentCondition>, mut new: DeploymentCondition) {
    if let Some(old) = find(conditions, &new.type_)
        && old.status == new.status
    {
        if old.reason == new.reason {
            return;
        }
        new.last_transition_time = old.last_transition_time.clone();
    }
    remove(conditions, &new.type_);
    conditions.push(new);
}

/// Removes the condition of a type.
pub(super) fn remove(conditions: &mut Vec<DeploymentCondition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// The Deployment with one more condition.
pub(super) fn with(deployment: &Deployment, new: DeploymentCondition) -> Deployment {
    let mut deployment = deployment.clone();
    let status = deployment.status.get_or_insert_default();
    set(status.conditions.get_or_insert_default(), new);
    deployment
}
