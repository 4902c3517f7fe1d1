//! When pods become available.

use super::pod_ready_since;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use std::time::Duration;

/// How long until the next of these pods has been ready for so many seconds. Upstream's
/// `FindMinNextPodAvailabilityCheck`.
pub fn next_availability<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_s: i32,
    now: Timestamp,
) -> Option<Duration> {
    if min_ready_s <= 0 {
        return None;
    }
    let span = SignedDuration::from_secs(i64::from(min_ready_s));
    let left = pods.into_iter().filter_map(|pod| {
        let at = pod_ready_since(pod)?.checked_add(span).ok()?;
        let left = at.duration_since(now);
        (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
    });
    left.min()
}
