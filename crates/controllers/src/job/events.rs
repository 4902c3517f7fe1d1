//! Which changes matter to which Job, and pods that lost theirs.

use super::claim::{jobs_selecting, remove_finalizer};
use super::spec::{has_tracking_finalizer, is_managed_by_other};
use super::util::is_job_finished;
use crate::common::{controller_of, is_deleting, labels, name, namespace, uid};
use crate::{Cluster, Delta, Key, Keys, Plan};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::sync::Arc;
use std::time::Duration;

/// Changes of pods within this are looked at together. Upstream's `SyncJobBatchPeriod`.
pub(super) const BATCH: Duration = Duration::from_secs(1);

/// Keys of pods begin with this. No name of a Job does.
const POD: &str = "pod:";

/// The name of a pod, if the key is that of one.
pub(super) fn pod_of(key: &Key) -> Option<&str> {
    key.name.strip_prefix(POD)
}

fn add_orphan(pod: &Pod, keys: &mut Keys) {
    keys.add(Key::new(namespace(pod), &format!("{POD}{}", name(pod))));
}

fn job_of(cluster: &Cluster, namespace: &str, owner: &OwnerReference) -> Option<Arc<Job>> {
    if owner.kind != "Job" {
        return None;
    }
    let job = cluster.get::<Job>(namespace, &owner.name)?;
    (uid(&*job) == owner.uid).then_some(job)
}

/// A spec that changed is looked at now, everything else in a moment.
pub(super) fn on_job(cluster: &Cluster, delta: &Delta<'_, Job>, keys: &mut Keys) {
    let job = delta.object();
    match delta {
        Delta::Added(_) => keys.add_object(&**job),
        Delta::Updated(_, _) if is_job_finished(job) => release_pods(cluster, job, keys),
        Delta::Updated(before, _) => match before.metadata.generation == job.metadata.generation {
            true => keys.add_after(Key::of(&**job), BATCH),
            false => keys.add_object(&**job),
        },
        Delta::Deleted(_) => {
            keys.add_object(&**job);
            release_pods(cluster, job, keys);
        }
    }
}

/// Pods of a Job that is over or gone are held by nothing.
fn release_pods(cluster: &Cluster, job: &Job, keys: &mut Keys) {
    for pod in cluster.owned::<Pod>(uid(job)) {
        if has_tracking_finalizer(&pod) {
            add_orphan(&pod, keys);
        }
    }
}

pub(super) fn on_pod(cluster: &Cluster, delta: &Delta<'_, Pod>, keys: &mut Keys) {
    let pod = delta.object();
    let space = namespace(&**pod);
    let is_gone = matches!(delta, Delta::Deleted(_));
    if is_gone || is_deleting(&**pod) {
        on_pod_deleted(cluster, pod, is_gone, keys);
        return;
    }
    let owner = controller_of(&**pod);
    let before = delta.before();
    let owner_before = before.and_then(|before| controller_of(&**before));
    let has_changed = before.is_some() && owner != owner_before;
    if has_changed && let Some(job) = owner_before.and_then(|owner| job_of(cluster, space, owner)) {
        keys.add_after(Key::of(&*job), BATCH);
    }
    if let Some(owner) = owner {
        if let Some(job) = job_of(cluster, space, owner) {
            keys.add_after(Key::of(&*job), BATCH);
        }
        return;
    }
    if has_tracking_finalizer(pod) {
        add_orphan(pod, keys);
    }
    let labels_changed = before.is_none_or(|before| labels(&**before) != labels(&**pod));
    if labels_changed || has_changed {
        for job in jobs_selecting(cluster, pod) {
            keys.add_after(Key::of(&*job), BATCH);
        }
    }
}

fn on_pod_deleted(cluster: &Cluster, pod: &Pod, is_gone: bool, keys: &mut Keys) {
    let owner = controller_of(pod);
    let job = owner.and_then(|owner| job_of(cluster, namespace(pod), owner));
    match job.filter(|job| !is_job_finished(job)) {
        Some(job) => keys.add_after(Key::of(&*job), BATCH),
        None if has_tracking_finalizer(pod) && !is_gone => add_orphan(pod, keys),
        None => {}
    }
}

/// Lets go of a pod that no Job will count any more. Upstream's `handleSingleOrphanPod`.
pub(super) fn sync_orphan(cluster: &Cluster, namespace: &str, pod: &str) -> Plan {
    let Some(pod) = cluster.get::<Pod>(namespace, pod) else {
        return Plan::nothing();
    };
    if !has_tracking_finalizer(&pod) {
        return Plan::nothing();
    }
    if let Some(owner) = controller_of(&*pod) {
        if owner.kind != "Job" || owner.api_version != "batch/v1" {
            return Plan::nothing();
        }
        let job = job_of(cluster, namespace, owner);
        if job.is_some_and(|job| is_managed_by_other(&job) || !is_job_finished(&job)) {
            return Plan::nothing();
        }
    }
    Plan::write(remove_finalizer(&pod))
}
