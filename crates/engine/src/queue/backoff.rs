//! How long a pod that failed has to wait. Upstream's `backoff_queue.go`.

use super::{Profiles, QueueConfig, QueuedPod};
use crate::framework::Cx;
use std::cmp::Ordering;
use stowplan_base::{Duration, Time};

impl QueueConfig {
    /// When the pod's backoff ends, cut to the second; `None` if it has none.
    ///
    /// Pods of one second are ordered by QueueSort, and the queue is flushed every whole second.
    pub fn backoff_expiry(&self, pod: &QueuedPod) -> Option<Time> {
        let failures = match pod.consecutive_errors {
            0 => pod.unschedulable_count,
            errors => errors,
        };
        if failures == 0 || self.max_backoff == Duration::ZERO {
            return None;
        }
        Some((pod.timestamp + self.backoff_duration(failures)).truncate_to_second())
    }

    /// Whether the pod's backoff lasts: also during the whole second in which it ends.
    pub fn is_backing_off(&self, pod: &QueuedPod, now: Time) -> bool {
        self.backoff_expiry(pod)
            .is_some_and(|expiry| expiry >= now.truncate_to_second())
    }

    /// The order of backoff: by the second of expiry, then QueueSort.
    pub(super) fn less_backoff(
        self,
        profiles: &Profiles,
        cx: Cx<'_>,
    ) -> impl Fn(&QueuedPod, &QueuedPod) -> bool {
        move |a, b| {
            let by_expiry = self.backoff_expiry(a).cmp(&self.backoff_expiry(b));
            by_expiry.then_with(|| profiles.order(cx, a, b)) == Ordering::Less
        }
    }

    /// The order of error backoff: by the second of expiry.
    pub(super) fn less_error_backoff(self) -> impl Fn(&QueuedPod, &QueuedPod) -> bool {
        move |a, b| self.backoff_expiry(a) < self.backoff_expiry(b)
    }

    /// Doubles with every failure, up to the maximum.
    fn backoff_duration(&self, failures: u32) -> Duration {
        let (initial, max) = (self.initial_backoff.as_nanos(), self.max_backoff.as_nanos());
        let shift = failures - 1;
        if initial > max.checked_shr(shift).unwrap_or(0) {
            self.max_backoff
        } else {
            Duration::from_nanos(initial.checked_shl(shift).unwrap_or(0))
        }
    }
}
