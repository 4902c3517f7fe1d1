//! A Job while it is looked at. Upstream's `syncJobCtx`.

use super::backoff::{Backoffs, Record, finished_at};
use super::indexes::{Intervals, indexes_of};
use super::pod_failure_policy::{Verdict, counts, judge};
use super::spec::{
    completions, has_backoff_limit_per_index, has_succeeded, has_tracking_finalizer, is_indexed,
    is_pod_failed, valid_index,
};
use crate::common::{annotation, is_pod_active, is_pod_ready, is_pod_terminating, uid};
use crate::{Event, Key, Order, Plan, Write};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How often the pods of an index have failed.
pub(super) const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How often they have failed without that it counted.
pub(super) const INDEX_IGNORED_FAILURES: &str =
    "batch.kubernetes.io/job-index-ignored-failure-count";

/// A Job, its pods, and what has come of looking at them so far.
pub(super) struct JobCx {
    pub(super) key: Key,
    /// As the server has it.
    pub(super) job: Job,
    pub(super) spec: JobSpec,
    /// As it will be.
    pub(super) status: JobStatus,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) active_pods: Vec<Arc<Pod>>,
    pub(super) active: i32,
    pub(super) ready: i32,
    pub(super) terminating: i32,
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    pub(super) uncounted_succeeded: BTreeSet<String>,
    pub(super) uncounted_failed: BTreeSet<String>,
    pub(super) prev_succeeded_indexes: Intervals,
    pub(super) succeeded_indexes: Intervals,
    pub(super) failed_indexes: Option<Intervals>,
    /// Failed pods that are kept until others take their places, since they say how often an index failed.
    pub(super) delayed: BTreeMap<i64, Arc<Pod>>,
    /// How it ends, if it does.
    pub(super) finished: Option<JobCondition>,
    pub(super) backoff: Record,
    pub(super) backoffs: Arc<Backoffs>,
    pub(super) events: Vec<Event>,
    /// Whether the status has to be written.
    pub(super) needs_flush: bool,
    /// When to look again.
    pub(super) again: Option<Duration>,
}

pub(super) fn count(of: usize) -> i32 {
    i32::try_from(of).unwrap_or(i32::MAX)
}

impl JobCx {
    pub(super) fn new(key: &Key, job: &Job, pods: Vec<Arc<Pod>>, backoffs: &Arc<Backoffs>) -> Self {
        let spec = job.spec.clone().unwrap_or_default();
        let status = job.status.clone().unwrap_or_default();
        let uncounted = status.uncounted_terminated_pods.clone();
        let uncounted = uncounted.unwrap_or_default();
        let active = pods.iter().filter(|pod| is_pod_active(pod));
        let active_pods: Vec<_> = active.cloned().collect();
        let ready = active_pods.iter().filter(|pod| is_pod_ready(pod)).count();
        let terminating = pods.iter().filter(|pod| is_pod_terminating(pod)).count();
        let mut cx = Self {
            key: key.clone(),
            job: job.clone(),
            active: count(active_pods.len()),
            ready: count(ready),
            terminating: count(terminating),
            succeeded: 0,
            failed: 0,
            uncounted_succeeded: uncounted.succeeded.into_iter().flatten().collect(),
            uncounted_failed: uncounted.failed.into_iter().flatten().collect(),
            prev_succeeded_indexes: Intervals::default(),
            succeeded_indexes: Intervals::default(),
            failed_indexes: None,
            delayed: BTreeMap::new(),
            finished: None,
            backoff: backoffs.get(key, uid(job)),
            backoffs: backoffs.clone(),
            events: Vec::new(),
            needs_flush: false,
            again: None,
            spec,
            status,
            pods,
            active_pods,
        };
        cx.count_finished_pods();
        if is_indexed(&cx.spec) {
            cx.count_indexes();
        }
        cx
    }

    /// Pods that are over and not in the status yet.
    fn count_finished_pods(&mut self) {
        let succeeded = self.valid_pods(&self.uncounted_succeeded, has_succeeded);
        let failed = self.valid_pods(&self.uncounted_failed, |pod| is_pod_failed(pod, &self.spec));
        let counted = failed.iter().filter(|pod| counts(&self.spec, pod)).count();
        self.succeeded = self.status.succeeded.unwrap_or(0)
            + count(succeeded.len())
            + count(self.uncounted_succeeded.len());
        self.failed =
            self.status.failed.unwrap_or(0) + count(counted) + count(self.uncounted_failed.len());
        self.backoff = self.backoff.after(&succeeded, &failed);
    }

    /// Pods that are held, not among those that the status names, and do a part of the Job. Upstream's
    /// `getValidPodsWithFilter`.
    fn valid_pods(
        &self,
        named: &BTreeSet<String>,
        is_meant: impl Fn(&Pod) -> bool,
    ) -> Vec<Arc<Pod>> {
        let is_valid = |pod: &&Arc<Pod>| {
            has_tracking_finalizer(pod)
                && !named.contains(uid(&***pod))
                && (!is_indexed(&self.spec) || valid_index(pod, &self.spec).is_some())
                && is_meant(pod)
        };
        self.pods.iter().filter(is_valid).cloned().collect()
    }

    /// Which indices have succeeded and which have failed, by the status and by pods that are still held.
    fn count_indexes(&mut self) {
        let all = completions(&self.spec);
        let held = |is_meant: &dyn Fn(&Pod) -> bool| -> BTreeSet<i64> {
            let pods = self.pods.iter();
            let pods = pods.filter(|pod| has_tracking_finalizer(pod) && is_meant(pod));
            pods.filter_map(|pod| valid_index(pod, &self.spec))
                .collect()
        };
        let text = self.status.completed_indexes.as_deref();
        let before = Intervals::parse(text.unwrap_or_default(), all);
        let succeeded = before.with(&held(&has_succeeded));
        self.succeeded = i32::try_from(succeeded.total()).unwrap_or(i32::MAX);
        let mut failed = None;
        if has_backoff_limit_per_index(&self.spec) {
            let text = self.status.failed_indexes.as_deref();
            let before = Intervals::parse(text.unwrap_or_default(), all);
            failed = Some(before.with(&held(&|pod| is_index_failed(&self.spec, pod))));
        }
        self.prev_succeeded_indexes = before;
        self.succeeded_indexes = succeeded;
        self.failed_indexes = failed;
        if has_backoff_limit_per_index(&self.spec) {
            self.delayed = self.delayed_pods();
        }
    }

    /// Upstream's `getPodsWithDelayedDeletionPerIndex`.
    fn delayed_pods(&self) -> BTreeMap<i64, Arc<Pod>> {
        let active = indexes_of(&self.active_pods);
        let mut delayed: BTreeMap<i64, Arc<Pod>> = BTreeMap::new();
        for pod in self.valid_pods(&BTreeSet::new(), |pod| is_pod_failed(pod, &self.spec)) {
            let Some(index) = valid_index(&pod, &self.spec) else {
                continue;
            };
            let has_failed = self
                .failed_indexes
                .as_ref()
                .is_some_and(|all| all.has(index));
            if self.succeeded_indexes.has(index) || has_failed || active.contains(&index) {
                continue;
            }
            let rank = |pod: &Pod| (index_failures(pod), finished_at(pod));
            let is_later = |known: &Arc<Pod>| {
                let (known, new) = (rank(known), rank(&pod));
                known.0 <= new.0 && known.1 <= new.1
            };
            if delayed.get(&index).is_none_or(is_later) {
                delayed.insert(index, pod);
            }
        }
        delayed
    }

    /// A stage of a plan, with what was to be told and when to look again.
    pub(super) fn stage(&mut self, order: Order, writes: Vec<Write>) -> Plan {
        let plan = Plan {
            order,
            ..Plan::sequence(writes)
        };
        let plan = plan.events(std::mem::take(&mut self.events));
        match self.again.take() {
            Some(again) => plan.requeue_after(again),
            None => plan,
        }
    }

    /// Looks again after this long, or before.
    pub(super) fn look_after(&mut self, span: Duration) {
        self.again = Some(self.again.map_or(span, |other| other.min(span)));
    }
}

fn is_index_failed(spec: &JobSpec, pod: &Pod) -> bool {
    if !is_pod_failed(pod, spec) {
        return false;
    }
    let limit = spec.backoff_limit_per_index.unwrap_or(i32::MAX);
    match judge(spec, pod) {
        Verdict::FailIndex => true,
        Verdict::Ignore => false,
        Verdict::Count | Verdict::FailJob(_) => number(pod, INDEX_FAILURES) >= limit,
    }
}

/// A number that an annotation of a pod has; zero if it makes no sense.
pub(super) fn number(pod: &Pod, key: &str) -> i32 {
    let value = annotation(pod, key).and_then(|text| text.parse().ok());
    value.filter(|value| *value >= 0).unwrap_or(0)
}

/// How often the pods of an index had failed before this one, whether it counted or not.
pub(super) fn index_failures(pod: &Pod) -> i32 {
    number(pod, INDEX_FAILURES).saturating_add(number(pod, INDEX_IGNORED_FAILURES))
}
