//! Whether a Job is at its end. The middle of upstream's `syncJob`.

use super::conditions::{condition_like, ensure_condition, new_condition, seconds};
use super::cx::{JobCx, count};
use super::pod_failure_policy::{Verdict, judge};
use super::spec::{is_indexed, is_pod_failed, is_suspended};
use super::{success_policy, util};
use crate::common::{is_deleting, is_pod_ready, pod_phase};
use crate::{Cx, Event, Order, Outcome, Plan};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::JobCondition;
use std::time::Duration;

impl JobCx {
    /// Decides and does what is to be done.
    pub(super) fn reconcile(mut self, cx: &Cx<'_>) -> Plan {
        if self.status.start_time.is_none() && !is_suspended(&self.spec) {
            self.status.start_time = Some(seconds(cx.now));
        }
        self.finished = self.end(cx.now);
        if self.finished.is_some() {
            return self.delete_active_pods(cx);
        }
        match is_deleting(&self.job) {
            true => self.managed(cx, false),
            false => self.manage(cx),
        }
    }

    /// How the Job ends, if it does. The order matters: it may end in several ways at once.
    fn end(&mut self, now: Timestamp) -> Option<JobCondition> {
        if let Some(met) = util::true_condition(&self.job, "SuccessCriteriaMet") {
            return Some(met.clone());
        }
        if let Some(target) = util::true_condition(&self.job, "FailureTarget") {
            return Some(condition_like("Failed", target, now));
        }
        let failure = |reason: &str, message: &str| {
            Some(new_condition("FailureTarget", "True", reason, message, now))
        };
        if let Some(message) = self.fail_job_message() {
            return failure("PodFailurePolicy", &message);
        }
        let limit = self.spec.backoff_limit.unwrap_or(6);
        if self.failed > limit || self.is_past_backoff_limit_on_failure(limit) {
            return failure(
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            );
        }
        if let Some(left) = self.until_deadline(now) {
            if left.is_zero() {
                return failure(
                    "DeadlineExceeded",
                    "Job was active longer than specified deadline",
                );
            }
            self.look_after(left);
        }
        if !is_indexed(&self.spec) {
            return None;
        }
        if let Some((reason, message)) = self.index_failure() {
            return failure(reason, message);
        }
        let message = success_policy::met(&self.spec, &self.succeeded_indexes)?;
        let reason = "SuccessPolicy";
        Some(new_condition(
            "SuccessCriteriaMet",
            "True",
            reason,
            &message,
            now,
        ))
    }

    fn fail_job_message(&self) -> Option<String> {
        let pods = self.pods.iter();
        let mut failed = pods.filter(|pod| is_pod_failed(pod, &self.spec));
        failed.find_map(|pod| match judge(&self.spec, pod) {
            Verdict::FailJob(message) => Some(message),
            Verdict::Count | Verdict::Ignore | Verdict::FailIndex => None,
        })
    }

    /// Whether containers that are restarted in place have been restarted too often.
    fn is_past_backoff_limit_on_failure(&self, limit: i32) -> bool {
        let template = self.spec.template.spec.as_ref();
        let policy = template.and_then(|spec| spec.restart_policy.as_deref());
        if policy != Some("OnFailure") {
            return false;
        }
        let pods = self.pods.iter();
        let running = pods.filter(|pod| matches!(pod_phase(pod), "Running" | "Pending"));
        let statuses = running.filter_map(|pod| pod.status.as_ref());
        let containers = statuses.flat_map(|status| {
            let init = status.init_container_statuses.iter().flatten();
            init.chain(status.container_statuses.iter().flatten())
        });
        let restarts = containers.fold(0_i32, |sum, container| {
            sum.saturating_add(container.restart_count)
        });
        restarts > 0 && restarts >= limit
    }

    /// How long the Job may still be active; `None` if nothing limits it.
    fn until_deadline(&self, now: Timestamp) -> Option<Duration> {
        if is_suspended(&self.spec) {
            return None;
        }
        let limit = SignedDuration::from_secs(self.spec.active_deadline_seconds?);
        let start = self.status.start_time.as_ref()?.0;
        let left = limit - now.duration_since(start);
        Some(Duration::try_from(left).unwrap_or(Duration::ZERO))
    }

    fn index_failure(&self) -> Option<(&'static str, &'static str)> {
        let failed = self.failed_indexes.as_ref()?.total();
        let max = self.spec.max_failed_indexes.map(i64::from);
        if max.is_some_and(|max| failed > max) {
            return Some((
                "MaxFailedIndexesExceeded",
                "Job has exceeded the specified maximal number of failed indexes",
            ));
        }
        let all = super::spec::completions(&self.spec);
        (failed > 0 && failed + self.succeeded_indexes.total() >= all)
            .then_some(("FailedIndexes", "Job has failed indexes"))
    }

    /// At its end, a Job has no active pods. They are held until they are counted.
    fn delete_active_pods(mut self, cx: &Cx<'_>) -> Plan {
        let pods = self.active_pods.clone();
        if pods.is_empty() {
            return self.track(cx);
        }
        let writes = pods.iter().map(|pod| self.delete_pod(pod)).collect();
        let plan = self.stage(Order::Parallel, writes);
        plan.then(move |cx, outcomes| {
            let deleted = pods
                .iter()
                .zip(outcomes)
                .filter(|(_, outcome)| is_good(outcome));
            let ready = deleted.clone().filter(|(pod, _)| is_pod_ready(pod)).count();
            self.forget_active(count(deleted.count()), count(ready));
            if self.active > 0 {
                // Not yet, then.
                self.finished = None;
            }
            self.track(cx)
        })
    }

    /// So many active pods were deleted, of which so many were ready.
    pub(super) fn forget_active(&mut self, deleted: i32, ready: i32) {
        self.active -= deleted;
        self.ready -= ready;
        self.terminating += deleted;
    }

    /// What follows once there are as many pods as there should be, or as could be made.
    pub(super) fn managed(mut self, cx: &Cx<'_>, was_managed: bool) -> Plan {
        let is_complete = match self.spec.completions {
            None => self.succeeded > 0 && self.active == 0,
            Some(completions) => self.succeeded >= completions && self.active == 0,
        };
        if is_complete {
            self.finished = Some(new_condition(
                "SuccessCriteriaMet",
                "True",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                cx.now,
            ));
        } else if was_managed {
            self.update_suspended(cx.now);
        }
        self.track(cx)
    }

    /// The clock of a Job that is suspended stands still, and begins anew when it is resumed.
    fn update_suspended(&mut self, now: Timestamp) {
        let (status, reason, message, word) = match is_suspended(&self.spec) {
            true => ("True", "JobSuspended", "Job suspended", "Suspended"),
            false => ("False", "JobResumed", "Job resumed", "Resumed"),
        };
        let condition = new_condition("Suspended", status, reason, message, now);
        let conditions = self.status.conditions.get_or_insert_default();
        if ensure_condition(conditions, condition) {
            self.needs_flush = true;
            self.events.push(Event::normal(&self.job, word, message));
            self.status.start_time = (!is_suspended(&self.spec)).then(|| seconds(now));
        }
    }
}

/// Whether a write was carried out, or need not be.
pub(super) fn is_good(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Done(_) | Outcome::Tolerated(_))
}
