//! As many pods as there should be. Upstream's `manageJob`.

use super::backoff;
use super::claim::remove_finalizer;
use super::cx::{JobCx, count, index_failures};
use super::end::is_good;
use super::events::BATCH;
use super::indexes::indexes_of;
use super::rank;
use super::spec::{
    completion_index, completions, has_backoff_limit_per_index, has_tracking_finalizer, is_indexed,
    is_suspended, only_replace_failed_pods,
};
use crate::common::{is_pod_ready, is_pod_terminating, name};
use crate::{Cx, Event, EventType, Order, Plan, Write};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// So many pods are made or deleted in one go. Upstream's `MaxPodCreateDeletePerSync`.
const PODS_MAX: usize = 500;

/// How many pods of a Job should be active.
pub(crate) fn wanted(spec: &JobSpec, active: i32, succeeded: i32) -> i32 {
    let parallelism = spec.parallelism.unwrap_or(1);
    match spec.completions {
        // Once a pod has succeeded, those that run may end, and no other begins.
        None if succeeded > 0 => active,
        None => parallelism,
        Some(completions) => (completions - succeeded).min(parallelism).max(0),
    }
}

impl JobCx {
    /// Makes or deletes pods, but not both at once.
    pub(super) fn manage(mut self, cx: &Cx<'_>) -> Plan {
        if is_suspended(&self.spec) {
            let all = self.active_pods.len();
            let pods = self.pods_for_removal(all);
            return self.delete_pods(cx, pods);
        }
        let wanted = wanted(&self.spec, self.active, self.succeeded);
        let surplus = usize::try_from(self.active - wanted).unwrap_or(0);
        let mut pods = self.pods_for_removal(surplus);
        pods.truncate(PODS_MAX);
        if !pods.is_empty() {
            return self.delete_pods(cx, pods);
        }
        let terminating = match only_replace_failed_pods(&self.spec) {
            true => self.terminating,
            false => 0,
        };
        let missing = usize::try_from(wanted - terminating - self.active).unwrap_or(0);
        if missing == 0 {
            return self.managed(cx, true);
        }
        let pause = match has_backoff_limit_per_index(&self.spec) {
            true => Duration::ZERO,
            false => self.backoff.remaining(cx.now),
        };
        if !pause.is_zero() {
            self.look_after(pause.max(BATCH));
            return self.managed(cx, true);
        }
        let missing = missing.min(PODS_MAX);
        if !is_indexed(&self.spec) {
            return self.create_pods(vec![None; missing]);
        }
        let (indexes, pause) = self.indexes_to_add(missing, cx.now);
        if indexes.is_empty() {
            if let Some(pause) = pause {
                self.look_after(pause.max(BATCH));
            }
            return self.managed(cx, true);
        }
        self.create_pods(indexes.into_iter().map(Some).collect())
    }

    /// The first indices that no pod has done or does, of those that need not wait; if all have to, how long
    /// the first has to.
    fn indexes_to_add(&self, count: usize, now: Timestamp) -> (Vec<i64>, Option<Duration>) {
        let mut taken = self.succeeded_indexes.with(&indexes_of(&self.active_pods));
        if only_replace_failed_pods(&self.spec) {
            let terminating = self.pods.iter().filter(|pod| is_pod_terminating(pod));
            taken = taken.with(&indexes_of(terminating));
        }
        if let Some(failed) = &self.failed_indexes {
            taken = taken.merge(failed);
        }
        let free = taken.missing(count, completions(&self.spec));
        let pause = |index: &i64| match self.delayed.get(index) {
            None => Duration::ZERO,
            Some(pod) => {
                let failures = index_failures(pod).saturating_add(1);
                backoff::remaining(failures, backoff::finished_at(pod), now)
            }
        };
        let (ready, waiting): (Vec<_>, Vec<_>) =
            free.into_iter().partition(|index| pause(index).is_zero());
        (ready, waiting.iter().map(pause).min())
    }

    /// Upstream's `activePodsForRemoval`: pods that do a part that another one does or that is none, and then
    /// those that are missed least.
    fn pods_for_removal(&self, at_least: usize) -> Vec<Arc<Pod>> {
        let mut left = self.active_pods.clone();
        let mut removed = Vec::new();
        if is_indexed(&self.spec) {
            let mut by_index: BTreeMap<i64, Vec<Arc<Pod>>> = BTreeMap::new();
            for pod in left.drain(..) {
                match completion_index(&pod).filter(|index| *index < completions(&self.spec)) {
                    Some(index) => by_index.entry(index).or_default().push(pod),
                    None => removed.push(pod),
                }
            }
            for mut alike in by_index.into_values() {
                rank::sort(&mut alike);
                left.extend(alike.pop());
                removed.append(&mut alike);
            }
        }
        if removed.len() < at_least {
            rank::sort(&mut left);
            left.truncate(at_least - removed.len());
            removed.append(&mut left);
        }
        removed
    }

    /// Deletes pods that are not to be counted: nothing holds them.
    fn delete_pods(mut self, cx: &Cx<'_>, pods: Vec<Arc<Pod>>) -> Plan {
        if pods.is_empty() {
            return self.managed(cx, true);
        }
        let (held, free): (Vec<_>, Vec<_>) = pods
            .into_iter()
            .partition(|pod| has_tracking_finalizer(pod));
        let writes = held.iter().map(|pod| remove_finalizer(pod)).collect();
        let plan = self.stage(Order::Parallel, writes);
        plan.then(move |_, outcomes| {
            let held = held.into_iter().zip(outcomes);
            let let_go = held.filter(|(_, outcome)| is_good(outcome));
            let mut pods = free;
            pods.extend(let_go.map(|(pod, _)| pod));
            self.delete_free_pods(pods)
        })
    }

    fn delete_free_pods(mut self, pods: Vec<Arc<Pod>>) -> Plan {
        let writes = pods.iter().map(|pod| self.delete_pod(pod)).collect();
        let plan = self.stage(Order::Parallel, writes);
        plan.then(move |cx, outcomes| {
            let deleted = pods
                .iter()
                .zip(outcomes)
                .filter(|(_, outcome)| is_good(outcome));
            let ready = deleted.clone().filter(|(pod, _)| is_pod_ready(pod)).count();
            self.forget_active(count(deleted.count()), count(ready));
            self.managed(cx, true)
        })
    }

    pub(super) fn delete_pod(&self, pod: &Pod) -> Write {
        let message = format!("Deleted pod: {}", name(pod));
        let event = Event::normal(&self.job, "SuccessfulDelete", message);
        Write::delete(pod).telling(move |outcome| match outcome.failure() {
            Some(failure) => Some(Event {
                event_type: EventType::Warning,
                reason: "FailedDelete",
                message: format!("Error deleting: {}", failure.message),
                ..event
            }),
            None => outcome.is_done().then_some(event),
        })
    }
}
