//! How long to wait before pods are made again. Upstream: `backoff_utils.go`.

use crate::Key;
use crate::common::{created_at, pod_condition};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The first pause.
const PAUSE_S: i64 = 10;
/// No pause is longer.
const PAUSE_MAX_S: i64 = 600;

/// Failures of a Job since its last success.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Record {
    pub(super) failures: i32,
    pub(super) last_failure: Option<Timestamp>,
}

/// Failures by Job. They are not written down: a process that begins knows of none, as upstream.
#[derive(Default)]
pub(super) struct Backoffs(Mutex<BTreeMap<Key, (String, Record)>>);

impl Backoffs {
    /// What is known of a Job.
    pub(super) fn get(&self, key: &Key, uid: &str) -> Record {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let record = known.get(key).filter(|(of, _)| of == uid);
        record.map(|(_, record)| record.clone()).unwrap_or_default()
    }

    /// Keeps what is known. To know nothing takes no room.
    pub(super) fn set(&self, key: &Key, uid: &str, record: &Record) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match record.failures {
            0 => drop(known.remove(key)),
            _ => drop(known.insert(key.clone(), (uid.to_owned(), record.clone()))),
        }
    }

    pub(super) fn remove(&self, key: &Key) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(key);
    }
}

impl Record {
    /// With what has ended since. Upstream's `newBackoffRecord`.
    pub(super) fn after(&self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
        let times = |pods: &[Arc<Pod>]| -> Vec<Timestamp> {
            pods.iter().map(|pod| finished_at(pod)).collect()
        };
        let failed = times(failed);
        let Some(last_success) = times(succeeded).into_iter().max() else {
            return match failed.iter().max() {
                None => self.clone(),
                Some(last) => Self {
                    failures: self.failures.saturating_add(count(failed.len())),
                    last_failure: Some(*last),
                },
            };
        };
        let later = failed.iter().filter(|at| **at > last_success);
        Self {
            failures: count(later.clone().count()),
            last_failure: later.max().copied(),
        }
    }

    /// How long to wait.
    pub(super) fn remaining(&self, now: Timestamp) -> Duration {
        match self.last_failure {
            Some(last) => remaining(self.failures, last, now),
            None => Duration::ZERO,
        }
    }
}

fn count(of: usize) -> i32 {
    i32::try_from(of).unwrap_or(i32::MAX)
}

/// How long to wait after so many failures, the last of which was then.
pub(super) fn remaining(failures: i32, last: Timestamp, now: Timestamp) -> Duration {
    let Some(doublings) = u32::try_from(failures).ok().and_then(|n| n.checked_sub(1)) else {
        return Duration::ZERO;
    };
    let factor = 1_i64.checked_shl(doublings.min(32)).unwrap_or(i64::MAX);
    let pause = PAUSE_S.saturating_mul(factor).min(PAUSE_MAX_S);
    let left = SignedDuration::from_secs(pause) - now.duration_since(last);
    Duration::try_from(left).unwrap_or(Duration::ZERO)
}

/// When a pod ended: its last container; or when it was not ready any more; or when it was deleted; or, if
/// nothing says, when it was made. Upstream's `getFinishedTime`.
pub(super) fn finished_at(pod: &Pod) -> Timestamp {
    let not_ready = || {
        let ready = pod_condition(pod, "Ready").filter(|ready| ready.status == "False")?;
        ready.last_transition_time.as_ref().map(|at| at.0)
    };
    let deleted = || {
        let at = pod.metadata.deletion_timestamp.as_ref()?.0;
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        at.checked_sub(SignedDuration::from_secs(grace)).ok()
    };
    containers_finished_at(pod)
        .or_else(not_ready)
        .or_else(deleted)
        .or_else(|| created_at(pod))
        .unwrap_or(Timestamp::MIN)
}

/// When the last container ended, sidecars included, if all have.
fn containers_finished_at(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    let init = pod.spec.iter().flat_map(|spec| spec.init_containers.iter());
    let sidecars = init
        .flatten()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let sidecars: BTreeSet<&str> = sidecars.map(|container| container.name.as_str()).collect();
    let containers = status.container_statuses.iter().flatten();
    let init = status.init_container_statuses.iter().flatten();
    let init = init.filter(|status| sidecars.contains(status.name.as_str()));
    let mut last = None;
    for container in containers.chain(init) {
        last = last.max(Some(container_finished_at(container)?));
    }
    last
}

fn container_finished_at(container: &ContainerStatus) -> Option<Timestamp> {
    let terminated = container.state.as_ref()?.terminated.as_ref()?;
    terminated.finished_at.as_ref().map(|at| at.0)
}
