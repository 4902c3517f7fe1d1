//! Jobs that are over go after a while. Upstream: `pkg/controller/ttlafterfinished`.

#[cfg(test)]
mod tests;

use crate::common::{is_deleting, name, namespace, uid};
use crate::job::util::finished_condition;
use crate::{Controller, Cx, Delta, Key, Plan, Watches, Write};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use serde_json::json;
use std::time::Duration;

/// `ttl-after-finished-controller`.
#[derive(Default)]
pub struct TtlAfterFinished;

impl Controller for TtlAfterFinished {
    fn watch(&self, watches: &mut Watches) {
        watches.on::<Job>(|_, delta, keys| {
            let job = delta.object();
            if !matches!(delta, Delta::Deleted(_)) && ttl(job).is_some() {
                keys.add_object(&**job);
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(job) = cx.cluster.get::<Job>(&key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let Some(ttl) = ttl(&job) else {
            return Plan::nothing();
        };
        let Some(finished_at) = finished_at(&job) else {
            return Plan::retry(format!(
                "unable to find the time when the Job {}/{} finished",
                namespace(&*job),
                name(&*job)
            ));
        };
        let left = ttl - cx.now.duration_since(finished_at);
        match Duration::try_from(left) {
            Ok(left) if !left.is_zero() => Plan::nothing().requeue_after(left),
            _ => Plan::write(delete(&job)),
        }
    }
}

/// How long a Job stays, if it is over and says so.
fn ttl(job: &Job) -> Option<SignedDuration> {
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let is_over = !is_deleting(job) && finished_condition(job).is_some();
    is_over.then(|| SignedDuration::from_secs(i64::from(seconds)))
}

fn finished_at(job: &Job) -> Option<Timestamp> {
    let condition = finished_condition(job)?;
    condition.last_transition_time.as_ref().map(|at| at.0)
}

/// Deletes a Job after its pods, unless it has changed: then it may be meant to stay. Upstream looks at it
/// again before.
fn delete(job: &Job) -> Write {
    let options = json!({
        "propagationPolicy": "Foreground",
        "preconditions": {
            "uid": uid(job),
            "resourceVersion": job.metadata.resource_version,
        },
    });
    Write::delete_with(job, &options).tolerating(&[404])
}
