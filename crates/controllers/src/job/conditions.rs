//! Conditions of Jobs.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A time as the API keeps it: without fractions of seconds.
pub(super) fn seconds(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

/// Upstream's `newCondition`.
pub(super) fn new_condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> JobCondition {
    JobCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        message: (!message.is_empty()).then(|| message.to_owned()),
        last_probe_time: Some(seconds(now)),
        last_transition_time: Some(seconds(now)),
    }
}

/// The same, of another type, with the reason of another one.
pub(super) fn condition_like(type_: &str, other: &JobCondition, now: Timestamp) -> JobCondition {
    let reason = other.reason.as_deref().unwrap_or_default();
    let message = other.message.as_deref().unwrap_or_default();
    new_condition(type_, "True", reason, message, now)
}

/// Adds or changes a condition; one that is false is not added. Tells whether something changed. Upstream's
/// `ensureJobConditionStatus`.
pub(super) fn ensure_condition(list: &mut Vec<JobCondition>, new: JobCondition) -> bool {
    match list.iter_mut().find(|known| known.type_ == new.type_) {
        Some(known) => {
            let same = known.status == new.status
                && known.reason == new.reason
                && known.message == new.message;
            if !same {
                *known = new;
            }
            !same
        }
        None if new.status == "False" => false,
        None => {
            list.push(new);
            true
        }
    }
}
