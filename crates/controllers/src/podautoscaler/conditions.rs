//! Conditions of an autoscaler.

use crate::common::time;
use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus,
};

/// Whether the target can be scaled at all.
pub(super) const ABLE: &str = "AbleToScale";
/// Whether metrics say how many replicas there should be.
pub(super) const ACTIVE: &str = "ScalingActive";
/// Whether there would be more or fewer replicas if there were no limits.
pub(super) const LIMITED: &str = "ScalingLimited";
/// Only with a feature that is off; taken away if another controller left it.
pub(super) const SCALED_TO_ZERO: &str = "ScaledToZero";

/// What a condition says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub(super) is_true: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Said {
    pub(super) fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_true: true,
            reason,
            message: message.into(),
        }
    }

    pub(super) fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_true: false,
            ..Self::yes(reason, message)
        }
    }
}

/// Upstream's `setCondition`.
pub(super) fn set(
    status: &mut HorizontalPodAutoscalerStatus,
    type_: &str,
    said: Said,
    now: Timestamp,
) {
    let wanted = if said.is_true { "True" } else { "False" };
    let conditions = status.conditions.get_or_insert_default();
    let at = conditions
        .iter()
        .position(|condition| condition.type_ == type_);
    let at = at.unwrap_or_else(|| {
        conditions.push(HorizontalPodAutoscalerCondition {
            type_: type_.to_owned(),
            ..HorizontalPodAutoscalerCondition::default()
        });
        conditions.len() - 1
    });
    let condition = &mut conditions[at];
    if condition.status != wanted {
        condition.last_transition_time = Some(time(now));
    }
    wanted.clone_into(&mut condition.status);
    condition.reason = Some(said.reason.to_owned());
    condition.message = Some(said.message);
}

/// Upstream's `removeCondition`.
pub(super) fn remove(status: &mut HorizontalPodAutoscalerStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != type_);
    }
}
