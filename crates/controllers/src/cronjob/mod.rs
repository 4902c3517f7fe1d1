//! CronJobs launch Jobs. Upstream: `pkg/controller/cronjob`.
//!
//! A launch is named by its CronJob and the minute that it was due: `<name>-<minutes since the epoch>`. That
//! name is what makes launches happen once, however often a sync is repeated.
//!
//! Beyond upstream, by annotation:
//!
//! | annotation | values | without it |
//! |---|---|---|
//! | `stowplan.dev/schedule` | a schedule that may contain `H` | `spec.schedule` |
//! | `stowplan.dev/catch-up` | `skip`, `latest`, `all` | `latest` |
//! | `stowplan.dev/dst` | `once`, `twice`, `skip` | `twice` |

mod history;
mod launch;
mod options;
mod status;
#[cfg(test)]
mod tests;
mod ticks;

use crate::common::{controller_of, is_controlled_by, is_deleting, uid};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Plan, Watches};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use options::{CatchUp, Options};
use status::Work;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use ticks::{Missed, Ticks};

/// `cronjob-controller`.
#[derive(Clone, Default)]
pub struct CronJobs {
    schedules: Arc<Mutex<BTreeMap<Key, Seen>>>,
}

/// The schedule that a CronJob had when it was last looked at.
struct Seen {
    uid: String,
    schedule: String,
    /// When it changed while we looked on. What would have been due before is not launched.
    since: Option<Timestamp>,
}

impl Controller for CronJobs {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<CronJob>();
        watches.on::<Job>(enqueue_owner);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(cron_job) = cx.cluster.get::<CronJob>(&key.namespace, &key.name) else {
            self.schedules().remove(key);
            return Plan::nothing();
        };
        let owned = cx.cluster.owned::<Job>(uid(&*cron_job));
        let owned = owned.into_iter();
        let jobs = owned.filter(|job| is_controlled_by(&**job, &*cron_job));
        let mut work = Work::new(&cron_job, jobs.collect());
        let old = work.old_jobs();
        if old.is_empty() {
            return self.look(cx, key, work);
        }
        // Old Jobs go first: one that is not kept at all is not seen to complete.
        let delete = |job: &Arc<Job>| history::delete(&work.cron_job, job);
        let plan = Plan::sequence(old.iter().map(delete).collect());
        let (controller, key) = (self.clone(), key.clone());
        plan.then(move |cx, outcomes| {
            for (job, outcome) in old.iter().zip(outcomes) {
                if outcome.is_done() {
                    work.remove_active(uid(&**job));
                }
            }
            controller.look(cx, &key, work)
        })
    }
}

/// A Job that changed matters to the CronJob that controls it, or did.
fn enqueue_owner(cluster: &Cluster, delta: &Delta<'_, Job>, keys: &mut Keys) {
    for job in [Some(delta.object()), delta.before()].into_iter().flatten() {
        let Some(owner) = controller_of(&**job).filter(|owner| owner.kind == "CronJob") else {
            continue;
        };
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        let known = cluster.get::<CronJob>(namespace, &owner.name);
        if known.is_some_and(|known| uid(&*known) == owner.uid) {
            keys.add(Key::new(namespace, &owner.name));
        }
    }
}

impl CronJobs {
    fn schedules(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Seen>> {
        let schedules = self.schedules.lock();
        schedules.unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when the schedule is what it is, if it changed while we looked on.
    fn since(&self, cx: &Cx<'_>, key: &Key, work: &Work, schedule: String) -> Option<Timestamp> {
        let uid = uid(&work.cron_job);
        let mut schedules = self.schedules();
        if let Some(seen) = schedules.get_mut(key).filter(|seen| seen.uid == uid) {
            if seen.schedule != schedule {
                seen.schedule = schedule;
                seen.since = Some(cx.now);
            }
            return seen.since;
        }
        let seen = Seen {
            uid: uid.to_owned(),
            schedule,
            since: None,
        };
        schedules.insert(key.clone(), seen);
        None
    }

    /// Sees what came of Jobs, and launches what is due. Upstream's `syncCronJob`.
    fn look(&self, cx: &Cx<'_>, key: &Key, mut work: Work) -> Plan {
        work.update_active();
        work.update_last_successful_time();
        match is_deleting(&work.cron_job) {
            true => work.update_status(),
            false => self.start(cx, key, work),
        }
    }

    /// Launches what is due, if anything is. The second half of upstream's `syncCronJob`.
    fn start(&self, cx: &Cx<'_>, key: &Key, mut work: Work) -> Plan {
        let options = match Options::of(&work.cron_job) {
            Ok(options) => options,
            Err(fault) => {
                work.warn(fault.reason, fault.message);
                return work.update_status();
            }
        };
        if work.spec().suspend == Some(true) {
            // What is due from now on is due by the schedule of then.
            self.since(cx, key, &work, options.fingerprint());
            return work.update_status();
        }
        if options.names_zone {
            let text = options::quoted(&options.text);
            work.warn("UnsupportedSchedule", format!("CRON_TZ or TZ used in schedule {text} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"));
        }
        let since = self.since(cx, key, &work, options.fingerprint());
        let ticks = Ticks::new(&work.cron_job, &options, since, cx.now);
        let due = match ticks.due() {
            Ok(due) => due,
            Err(fault) => {
                let message = format!("invalid schedule: {} : {fault}", options.text);
                work.warn("InvalidSchedule", message);
                return work.update_status();
            }
        };
        let again = ticks.until_next();
        let Some((due, missed)) = due else {
            return work.update_status_and_return(again);
        };
        if missed == Missed::Many && options.catch_up != CatchUp::All {
            work.warn("TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
        }
        if ticks.is_too_late(due) {
            let at = due.strftime("%a, %d %b %Y %H:%M:%S +0000");
            work.warn(
                "MissSchedule",
                format!("Missed scheduled time to start a job: {at}"),
            );
            return work.update_status_and_return(again);
        }
        if work.is_processed(due) {
            return work.update_status_and_return(again);
        }
        let policy = work.spec().concurrency_policy.as_deref();
        if policy == Some("Forbid") && work.has_active() {
            let event = Event::normal(
                &work.cron_job,
                "JobAlreadyActive",
                "Not starting job because prior execution is running and concurrency policy is Forbid",
            );
            work.events.push(event);
            return work.update_status_and_return(again);
        }
        launch::launch(cx, work, &options, due)
    }
}
