//! The state of a pod.

use super::is_deleting;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

/// The phase; `Pending` as long as nobody has said.
pub fn pod_phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or("Pending")
}

/// The condition of a type.
pub fn pod_condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether it has succeeded or failed.
pub fn is_pod_finished(pod: &Pod) -> bool {
    matches!(pod_phase(pod), "Succeeded" | "Failed")
}

/// Whether it has been deleted and is not finished. Upstream's `IsPodTerminating`.
pub fn is_pod_terminating(pod: &Pod) -> bool {
    !is_pod_finished(pod) && is_deleting(pod)
}

/// Whether it is neither finished nor deleted. Upstream's `IsPodActive`.
pub fn is_pod_active(pod: &Pod) -> bool {
    !is_pod_finished(pod) && !is_deleting(pod)
}

/// Whether its condition `Ready` is true.
pub fn is_pod_ready(pod: &Pod) -> bool {
    pod_condition(pod, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Since when it has been ready, if it is and says so.
pub fn pod_ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = pod_condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    ready.last_transition_time.as_ref().map(|at| at.0)
}

/// Whether it has been ready for so many seconds. Upstream's `IsPodAvailable`.
pub fn is_pod_available(pod: &Pod, min_ready_s: i32, now: Timestamp) -> bool {
    if !is_pod_ready(pod) {
        return false;
    }
    let span = SignedDuration::from_secs(i64::from(min_ready_s));
    let since = pod_ready_since(pod);
    min_ready_s == 0 || since.is_some_and(|since| since.checked_add(span).is_ok_and(|at| at <= now))
}

/// A time as objects have it: without fractions of seconds.
pub fn time(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

/// The condition by which a pod says that it is about to be disrupted, and why.
pub fn disruption_target(pod: &Pod, reason: &str, message: &str, now: Timestamp) -> Value {
    let before = pod_condition(pod, "DisruptionTarget").filter(|before| before.status == "True");
    let since = before.and_then(|before| before.last_transition_time.clone());
    json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| time(now)),
        "observedGeneration": pod.metadata.generation,
    })
}
