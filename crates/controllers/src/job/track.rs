//! Counting pods. Upstream's `trackJobStatusAndRemoveFinalizers`.
//!
//! A pod that is over is counted once, though anything may fail at any time, in three steps:
//!
//! 1. its uid is written into `status.uncountedTerminatedPods`;
//! 2. its finalizer is removed, so that it may go;
//! 3. its uid is taken off the list again, and the counter goes up.

use super::claim::remove_finalizer;
use super::conditions::{condition_like, ensure_condition};
use super::cx::{JobCx, count};
use super::end::is_good;
use super::pod_failure_policy::counts;
use super::spec::{
    completion_index, has_succeeded, has_tracking_finalizer, is_indexed, is_pod_failed, valid_index,
};
use crate::common::{is_deleting, uid};
use crate::{Cx, Event, Order, Plan, Write};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many pods are counted in one go. Upstream's `MaxUncountedPods`.
const UNCOUNTED_MAX: usize = 500;

/// Pods that may go, and those that are held.
struct Tracked {
    let_go: Vec<Arc<Pod>>,
    held: BTreeSet<String>,
    /// Whether there may be more.
    is_partial: bool,
}

impl JobCx {
    /// Writes down what is known, lets go of pods, and ends the Job if that is how it is.
    pub(super) fn track(mut self, cx: &Cx<'_>) -> Plan {
        self.set_counts();
        if is_indexed(&self.spec) {
            self.pods.sort_by_key(|pod| completion_index(pod));
        }
        let held = self.pods.iter().filter(|pod| has_tracking_finalizer(pod));
        let held: BTreeSet<String> = held.map(|pod| uid(&**pod).to_owned()).collect();
        self.needs_flush |= count_let_go(&mut self.status, &held);
        let (let_go, is_partial) = self.count_pods();
        self.set_interim_condition(cx);
        let tracked = Tracked {
            let_go,
            held,
            is_partial,
        };
        if !self.needs_flush {
            return self.remove_finalizers(cx, tracked);
        }
        let write = self.write_status();
        let plan = self.stage(Order::Sequence, vec![write]);
        plan.then(move |cx, outcomes| {
            let job = outcomes.first().and_then(|outcome| outcome.object::<Job>());
            let Some(job) = job else {
                return Plan::nothing();
            };
            self.take(&job);
            self.backoffs.set(&self.key, uid(&self.job), &self.backoff);
            self.remove_finalizers(cx, tracked)
        })
    }

    /// Goes on with the Job as the server has it.
    fn take(&mut self, job: &Job) {
        self.job = job.clone();
        self.status = job.status.clone().unwrap_or_default();
        self.needs_flush = false;
    }

    fn set_counts(&mut self) {
        let status = &mut self.status;
        self.needs_flush |= status.active.unwrap_or(0) != self.active
            || status.ready != Some(self.ready)
            || status.terminating != Some(self.terminating);
        status.active = Some(self.active);
        status.ready = Some(self.ready);
        status.terminating = Some(self.terminating);
        status.uncounted_terminated_pods.get_or_insert_default();
    }

    /// Puts pods that are over into the status. Tells which pods may go, and whether there may be more.
    fn count_pods(&mut self) -> (Vec<Arc<Pod>>, bool) {
        let mut uncounted = self.status.uncounted_terminated_pods.clone();
        let uncounted = uncounted.get_or_insert_default();
        let mut succeeded = uncounted.succeeded.take().unwrap_or_default();
        let mut failed = uncounted.failed.take().unwrap_or_default();
        let mut new_indexes = BTreeSet::new();
        let (mut let_go, mut is_partial) = (Vec::new(), false);
        let before = succeeded.len() + failed.len();
        for pod in &self.pods {
            if !has_tracking_finalizer(pod) || !self.may_go(pod) {
                continue;
            }
            let_go.push(pod.clone());
            let id = uid(&**pod).to_owned();
            if has_succeeded(pod) && !self.uncounted_failed.contains(&id) {
                if is_indexed(&self.spec) {
                    // The index is enough to count it once.
                    let index = valid_index(pod, &self.spec);
                    let is_new = |index: &i64| !self.prev_succeeded_indexes.has(*index);
                    new_indexes.extend(index.filter(is_new));
                } else if !self.uncounted_succeeded.contains(&id) {
                    succeeded.push(id);
                }
            } else if self.counts_as_failed(pod) && !self.uncounted_failed.contains(&id) {
                failed.push(id);
            }
            if new_indexes.len() + succeeded.len() + failed.len() >= UNCOUNTED_MAX {
                is_partial = true;
                break;
            }
        }
        self.needs_flush |= succeeded.len() + failed.len() > before || !new_indexes.is_empty();
        self.status.uncounted_terminated_pods = Some(UncountedTerminatedPods {
            succeeded: (!succeeded.is_empty()).then_some(succeeded),
            failed: (!failed.is_empty()).then_some(failed),
        });
        if is_indexed(&self.spec) {
            self.set_indexes(&new_indexes);
        }
        (let_go, is_partial)
    }

    /// Whether a pod may go: it is over, or the Job is. Upstream's `canRemoveFinalizer`.
    fn may_go(&self, pod: &Pod) -> bool {
        if is_deleting(&self.job) || self.finished.is_some() || has_succeeded(pod) {
            return true;
        }
        let index = completion_index(pod);
        let delayed = index.and_then(|index| self.delayed.get(&index));
        is_pod_failed(pod, &self.spec) && delayed.is_none_or(|delayed| uid(&**delayed) != uid(pod))
    }

    /// When a Job has failed, so have all pods that have not ended.
    fn counts_as_failed(&self, pod: &Pod) -> bool {
        let has_job_failed = self.finished.as_ref();
        let has_job_failed = has_job_failed.is_some_and(|end| end.type_ != "SuccessCriteriaMet");
        let is_part = !is_indexed(&self.spec) || valid_index(pod, &self.spec).is_some();
        (is_pod_failed(pod, &self.spec) || has_job_failed) && is_part && counts(&self.spec, pod)
    }

    fn set_indexes(&mut self, new: &BTreeSet<i64>) {
        let succeeded = self.succeeded_indexes.with(new);
        let text = Some(succeeded.to_string()).filter(|text| !text.is_empty());
        self.needs_flush |= text.as_deref().unwrap_or_default()
            != self.status.completed_indexes.as_deref().unwrap_or_default();
        self.status.completed_indexes = text;
        self.status.succeeded = Some(i32::try_from(succeeded.total()).unwrap_or(i32::MAX));
        self.succeeded_indexes = succeeded;
        let failed = self.failed_indexes.as_ref().map(ToString::to_string);
        self.needs_flush |= self.status.failed_indexes != failed;
        self.status.failed_indexes = failed;
    }

    /// How a Job ends is written down before pods go, and that it has ended when they are gone.
    fn set_interim_condition(&mut self, cx: &Cx<'_>) {
        let Some(end) = self.finished.take() else {
            return;
        };
        let last = match end.type_.as_str() {
            "FailureTarget" => "Failed",
            "SuccessCriteriaMet" => "Complete",
            _ => {
                self.finished = Some(end);
                return;
            }
        };
        self.finished = Some(condition_like(last, &end, cx.now));
        let conditions = self.status.conditions.get_or_insert_default();
        let is_known = |known: &JobCondition| known.type_ == end.type_ && known.status == "True";
        if !conditions.iter().any(is_known) {
            conditions.push(end);
            self.needs_flush = true;
        }
    }

    fn remove_finalizers(mut self, cx: &Cx<'_>, mut tracked: Tracked) -> Plan {
        if tracked.let_go.is_empty() {
            return self.finish(cx, &tracked, false);
        }
        let writes = tracked.let_go.iter().map(|pod| remove_finalizer(pod));
        let plan = self.stage(Order::Parallel, writes.collect());
        plan.then(move |cx, outcomes| {
            let mut is_any_left = false;
            for (pod, outcome) in tracked.let_go.iter().zip(outcomes) {
                match is_good(outcome) {
                    true => drop(tracked.held.remove(uid(&**pod))),
                    false => is_any_left = true,
                }
            }
            self.finish(cx, &tracked, is_any_left)
        })
    }

    /// Counts the pods that were let go, and ends the Job if nothing is left of it.
    fn finish(mut self, cx: &Cx<'_>, tracked: &Tracked, is_any_left: bool) -> Plan {
        self.needs_flush |= count_let_go(&mut self.status, &tracked.held);
        let end = match is_any_left || tracked.is_partial {
            true => None,
            false => self.enact_end(cx),
        };
        self.needs_flush |= end.is_some();
        if !self.needs_flush {
            return self.stage(Order::Sequence, Vec::new());
        }
        let write = self.write_status();
        let plan = self.stage(Order::Sequence, vec![write]);
        let Some(end) = end else {
            return plan;
        };
        plan.then(move |_, outcomes| match outcomes.first() {
            Some(outcome) if outcome.is_done() => {
                self.backoffs.remove(&self.key);
                Plan::nothing().events(self.last_words(&end))
            }
            _ => Plan::nothing(),
        })
    }

    /// Adds `Complete` or `Failed` if all pods are counted and gone. Upstream's `enactJobFinished`.
    fn enact_end(&mut self, cx: &Cx<'_>) -> Option<JobCondition> {
        let end = self.finished.clone()?;
        let uncounted = self.status.uncounted_terminated_pods.as_ref();
        let is_left = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|l| !l.is_empty());
        if uncounted.is_some_and(|pods| is_left(&pods.succeeded) || is_left(&pods.failed)) {
            return None;
        }
        if self.terminating > 0 {
            return None;
        }
        let condition = condition_like(&end.type_, &end, cx.now);
        if end.type_ == "Complete" {
            self.status.completion_time = condition.last_transition_time.clone();
        }
        ensure_condition(self.status.conditions.get_or_insert_default(), condition);
        Some(end)
    }

    /// Upstream's `recordJobFinished`.
    fn last_words(&self, end: &JobCondition) -> Vec<Event> {
        let mut events = Vec::new();
        let message = end.message.clone().unwrap_or_default();
        if end.type_ != "Complete" {
            let reason = end.reason.as_deref().unwrap_or_default();
            events.push(Event::warning(&self.job, failure_reason(reason), message));
            return events;
        }
        let succeeded = self.status.succeeded.unwrap_or(0);
        if self
            .spec
            .completions
            .is_some_and(|wanted| succeeded > wanted)
        {
            events.push(Event::warning(
                &self.job,
                "TooManySucceededPods",
                "Too many succeeded pods running after completion count reached",
            ));
        }
        events.push(Event::normal(&self.job, "Completed", "Job completed"));
        events
    }

    /// As Go writes it, zeros are left out.
    fn write_status(&self) -> Write {
        let mut status = self.status.clone();
        for counter in [
            &mut status.active,
            &mut status.succeeded,
            &mut status.failed,
        ] {
            counter.take_if(|count| *count == 0);
        }
        status
            .conditions
            .take_if(|conditions| conditions.is_empty());
        Write::update_status(&Job {
            status: Some(status),
            ..self.job.clone()
        })
    }
}

/// Reasons of events are known words; another one may have been written by somebody else.
fn failure_reason(reason: &str) -> &'static str {
    const KNOWN: [&str; 5] = [
        "PodFailurePolicy",
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "MaxFailedIndexesExceeded",
        "FailedIndexes",
    ];
    let known = KNOWN.into_iter().find(|known| *known == reason);
    known.unwrap_or("Failed")
}

/// Counts pods of the list that nothing holds any more, and takes them off it. Tells whether there were any.
/// Upstream's `cleanUncountedPodsWithoutFinalizers`.
fn count_let_go(status: &mut JobStatus, held: &BTreeSet<String>) -> bool {
    let Some(uncounted) = &mut status.uncounted_terminated_pods else {
        return false;
    };
    let clean = |list: &mut Option<Vec<String>>, counter: &mut Option<i32>| {
        let Some(uids) = list else { return false };
        let before = uids.len();
        uids.retain(|uid| held.contains(uid));
        let gone = before - uids.len();
        *counter = Some(counter.unwrap_or(0).saturating_add(count(gone)));
        list.take_if(|uids| uids.is_empty());
        gone > 0
    };
    let succeeded = clean(&mut uncounted.succeeded, &mut status.succeeded);
    clean(&mut uncounted.failed, &mut status.failed) || succeeded
}
