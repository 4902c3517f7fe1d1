//! The status of a CronJob while it is looked at.

use super::history;
use crate::common::{name, namespace, uid};
use crate::job::util::{finished_condition, is_job_finished};
use crate::{Event, Plan, Write};
use jiff::Timestamp;
use k8s_openapi::Resource;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A CronJob, its Jobs, and what has come of looking at them so far.
pub(super) struct Work {
    /// As it will be.
    pub(super) cron_job: CronJob,
    pub(super) jobs: Vec<Arc<Job>>,
    pub(super) events: Vec<Event>,
    before: CronJobStatus,
}

impl Work {
    pub(super) fn new(cron_job: &CronJob, jobs: Vec<Arc<Job>>) -> Self {
        Self {
            cron_job: cron_job.clone(),
            jobs,
            events: Vec::new(),
            before: cron_job.status.clone().unwrap_or_default(),
        }
    }

    pub(super) fn spec(&self) -> &CronJobSpec {
        &self.cron_job.spec
    }

    pub(super) fn status(&mut self) -> &mut CronJobStatus {
        self.cron_job.status.get_or_insert_default()
    }

    fn active(&self) -> &[ObjectReference] {
        let status = self.cron_job.status.as_ref();
        let active = status.and_then(|status| status.active.as_deref());
        active.unwrap_or_default()
    }

    pub(super) fn has_active(&self) -> bool {
        !self.active().is_empty()
    }

    pub(super) fn is_active(&self, uid: &str) -> bool {
        let mut active = self.active().iter();
        active.any(|job| job.uid.as_deref() == Some(uid))
    }

    pub(super) fn warn(&mut self, reason: &'static str, message: impl Into<String>) {
        let event = Event::warning(&self.cron_job, reason, message);
        self.events.push(event);
    }

    fn tell(&mut self, reason: &'static str, message: String) {
        let event = Event::normal(&self.cron_job, reason, message);
        self.events.push(event);
    }

    /// The Jobs of the active list that there are.
    pub(super) fn active_jobs(&self) -> Vec<Arc<Job>> {
        let jobs = self.jobs.iter();
        jobs.filter(|job| self.is_active(uid(&***job)))
            .cloned()
            .collect()
    }

    pub(super) fn add_active(&mut self, job: &Job) {
        let reference = ObjectReference {
            kind: Some(Job::KIND.to_owned()),
            api_version: Some(Job::API_VERSION.to_owned()),
            namespace: Some(namespace(job).to_owned()),
            name: Some(name(job).to_owned()),
            uid: Some(uid(job).to_owned()),
            resource_version: job.metadata.resource_version.clone(),
            field_path: None,
        };
        self.status().active.get_or_insert_default().push(reference);
    }

    pub(super) fn remove_active(&mut self, uid: &str) {
        let active = &mut self.status().active;
        if let Some(jobs) = active {
            jobs.retain(|job| job.uid.as_deref() != Some(uid));
        }
        active.take_if(|jobs| jobs.is_empty());
    }

    /// Takes Jobs that are over or gone off the active list.
    pub(super) fn update_active(&mut self) {
        for job in self.jobs.clone() {
            let is_active = self.is_active(uid(&*job));
            match finished_condition(&job) {
                None if !is_active => {
                    let message = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        name(&*job)
                    );
                    self.warn("UnexpectedJob", message);
                }
                Some(condition) if is_active => {
                    let message = format!(
                        "Saw completed job: {}, condition: {}",
                        name(&*job),
                        condition.type_
                    );
                    self.remove_active(uid(&*job));
                    self.tell("SawCompletedJob", message);
                }
                None | Some(_) => {}
            }
        }
        let known: BTreeMap<&str, ()> = self.jobs.iter().map(|job| (uid(&**job), ())).collect();
        let uid_of = |job: &ObjectReference| job.uid.clone().unwrap_or_default();
        let active = self.active().iter();
        let gone = active.filter(|job| !known.contains_key(uid_of(job).as_str()));
        let gone: Vec<_> = gone.map(|job| (uid_of(job), job.name.clone())).collect();
        for (uid, name) in gone {
            let name = name.unwrap_or_default();
            self.tell("MissingJob", format!("Active job went missing: {name}"));
            self.remove_active(&uid);
        }
    }

    /// A Job does not have to be on the active list for its success to count.
    pub(super) fn update_last_successful_time(&mut self) {
        let succeeded = |job: &&Arc<Job>| {
            finished_condition(job).is_some_and(|condition| condition.type_ == "Complete")
        };
        let jobs = self.jobs.iter().filter(succeeded);
        let times = jobs.filter_map(|job| job.status.as_ref()?.completion_time.clone());
        if let Some(last) = times.max_by_key(|at| at.0) {
            let known = &mut self.status().last_successful_time;
            if known.as_ref().is_none_or(|known| known.0 < last.0) {
                *known = Some(last);
            }
        }
    }

    /// Whether the Job of this time is active, or was the last to be launched.
    pub(super) fn is_processed(&self, due: Timestamp) -> bool {
        let status = self.cron_job.status.as_ref();
        let last = status.and_then(|status| status.last_schedule_time.as_ref());
        let name = super::launch::job_name(&self.cron_job, due);
        let mut active = self.active().iter();
        last.is_some_and(|last| last.0 == due)
            || active.any(|job| job.name.as_deref() == Some(name.as_str()))
    }

    /// Jobs that are over and not kept: those that succeeded, then those that failed. Upstream's
    /// `cleanupFinishedJobs`.
    pub(super) fn old_jobs(&self) -> Vec<Arc<Job>> {
        let limits = [
            ("Complete", self.spec().successful_jobs_history_limit),
            ("Failed", self.spec().failed_jobs_history_limit),
        ];
        let limits = limits.into_iter();
        let old = limits.filter_map(|(condition, limit)| {
            limit.map(|limit| history::oldest(&self.jobs, condition, limit))
        });
        old.flatten().collect()
    }

    /// Writes the status if it changed.
    pub(super) fn update_status(self) -> Plan {
        self.update_status_and_return(None)
    }

    /// The same, and looks again after a while.
    pub(super) fn update_status_and_return(self, again: Option<Duration>) -> Plan {
        let mut writes = Vec::new();
        if self.cron_job.status.clone().unwrap_or_default() != self.before {
            writes.push(Write::update_status(&self.cron_job));
        }
        let plan = Plan::sequence(writes).events(self.events);
        match again {
            Some(again) => plan.requeue_after(again),
            None => plan,
        }
    }

    /// Whether a Job is over.
    pub(super) fn is_over(job: &Job) -> bool {
        is_job_finished(job)
    }
}
