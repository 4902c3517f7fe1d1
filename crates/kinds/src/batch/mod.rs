//! Kinds that run pods to their end.
//!
//! Upstream: `pkg/apis/batch`, `pkg/registry/batch`.

mod cron_job;
mod indexes;
mod job;
mod job_status;
mod job_update;
mod policies;
mod spec;
mod time_zone;

pub(crate) use cron_job::CRON_JOB;
pub(crate) use job::JOB;

#[cfg(test)]
mod tests;
