//! Jobs run pods until enough of them have succeeded. Upstream: `pkg/controller/job`.
//!
//! ```text
//! claim ─▶ JobCx::new: what has ended ─▶ end: is it over? ─┬─▶ delete active pods ─┐
//!                                                          └─▶ manage: make, delete ┴─▶ track
//! ```
//!
//! Pods are held by a finalizer until they are counted: see `track.rs`.

mod backoff;
mod claim;
mod conditions;
mod create;
mod cx;
mod end;
mod events;
mod indexes;
mod manage;
mod pod_failure_policy;
mod rank;
mod spec;
mod success_policy;
#[cfg(test)]
mod tests;
mod track;
pub(crate) mod util;

pub(crate) use create::{new_pod, pod_template};
pub(crate) use indexes::Intervals;
pub(crate) use manage::wanted;
pub(crate) use spec::{COMPLETION_INDEX, completions, is_indexed, is_suspended};

use crate::common::is_as_seen;
use crate::{Controller, Cx, Event, Key, Outcome, Plan, Watches, Write};
use backoff::Backoffs;
use cx::JobCx;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;
use std::time::Duration;

/// `job-controller`.
#[derive(Default)]
pub struct Jobs {
    backoffs: Arc<Backoffs>,
}

impl Controller for Jobs {
    fn watch(&self, watches: &mut Watches) {
        claim::add_indices(watches);
        watches.on::<Job>(events::on_job);
        watches.on::<Pod>(events::on_pod);
    }

    /// Upstream's `DefaultJobApiBackOff` and `MaxJobApiBackOff`.
    fn pauses(&self) -> Option<(Duration, Duration)> {
        Some((Duration::from_secs(1), Duration::from_secs(60)))
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        if let Some(pod) = events::pod_of(key) {
            return events::sync_orphan(cx.cluster, &key.namespace, pod);
        }
        let Some(job) = cx.cluster.get::<Job>(&key.namespace, &key.name) else {
            self.backoffs.remove(key);
            return Plan::nothing();
        };
        if spec::is_managed_by_other(&job) {
            return Plan::nothing();
        }
        if util::is_job_finished(&job) {
            self.backoffs.remove(key);
            return Plan::nothing();
        }
        let mode = job
            .spec
            .as_ref()
            .and_then(|spec| spec.completion_mode.as_deref());
        if !matches!(mode, None | Some("NonIndexed" | "Indexed")) {
            let message = "Skipped Job sync because completion mode is unknown";
            let event = Event::warning(&*job, "UnknownCompletionMode", message);
            return Plan::nothing().event(event);
        }
        let claimed = claim::claim(cx.cluster, &job);
        if !claimed.writes.is_empty() {
            return adopt(&job, claimed.writes);
        }
        JobCx::new(key, &job, claimed.pods, &self.backoffs).reconcile(cx)
    }
}

/// Adopts and releases pods. With those that it has then, the Job is looked at again.
fn adopt(job: &Job, writes: Vec<Write>) -> Plan {
    let is_any_left =
        |outcomes: &[Outcome]| outcomes.iter().any(|outcome| outcome.failure().is_some());
    Plan::write(is_as_seen(job)).then(move |_, outcomes| {
        if is_any_left(outcomes) {
            return Plan::nothing();
        }
        Plan::parallel(writes).then(move |_, outcomes| match is_any_left(outcomes) {
            true => Plan::nothing(),
            false => Plan::nothing().requeue_after(Duration::ZERO),
        })
    })
}
