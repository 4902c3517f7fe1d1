//! Which pods belong to a Job. Upstream's `getPodsForJob`.

use super::spec::TRACKING_FINALIZER;
use crate::common::{Selector, controller_of, controller_ref, is_deleting, labels, namespace, uid};
use crate::{Cluster, Key, Watches, Write};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;
use std::sync::Arc;

/// Pods that nobody controls, by each of their labels.
const ORPHANS: &str = "job: orphans by label";
/// Jobs, by a label that their selector asks for.
const JOBS: &str = "job: jobs by label";

/// The pods of a Job, and what has to be written so that it has those that it should.
pub(super) struct Claimed {
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) writes: Vec<Write>,
}

pub(super) fn add_indices(watches: &mut Watches) {
    watches.index::<Pod>(ORPHANS, |pod| match controller_of(pod) {
        Some(_) => Vec::new(),
        None => pairs(pod),
    });
    watches.index::<Job>(JOBS, |job| {
        let selector = job.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        selector
            .map(|selector| pair(job, selector))
            .into_iter()
            .collect()
    });
}

/// What a pod may be looked for by: each label, and that it is in its namespace.
fn pairs(pod: &Pod) -> Vec<String> {
    let namespace = namespace(pod);
    let labels = labels(pod).iter();
    let labels = labels.map(|(key, value)| format!("{namespace}/{key}={value}"));
    labels.chain([format!("{namespace}/")]).collect()
}

/// What the pods of a Job are looked for by: a label that all of them have, if the selector names one.
fn pair(job: &Job, selector: &LabelSelector) -> String {
    let namespace = namespace(job);
    let mut labels = selector.match_labels.iter().flatten();
    match labels.next() {
        Some((key, value)) => format!("{namespace}/{key}={value}"),
        None => format!("{namespace}/"),
    }
}

/// The Jobs that select a pod. Upstream's `GetPodJobs`.
pub(super) fn jobs_selecting(cluster: &Cluster, pod: &Pod) -> Vec<Arc<Job>> {
    let store = cluster.of::<Job>();
    let pairs = pairs(pod).into_iter();
    let found = pairs.flat_map(|pair| store.indexed(JOBS, &pair));
    let selects = |job: &Arc<Job>| selector(job).matches(labels(pod));
    found.filter(selects).collect()
}

fn selector(job: &Job) -> Selector {
    let selector = job.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    Selector::new(selector)
}

/// Pods that it controls and selects; adoptions and releases of others.
pub(super) fn claim(cluster: &Cluster, job: &Job) -> Claimed {
    let selector = selector(job);
    let mut claimed = Claimed {
        pods: Vec::new(),
        writes: Vec::new(),
    };
    for pod in cluster.owned::<Pod>(uid(job)) {
        if controller_of(&*pod).is_none_or(|owner| owner.uid != uid(job)) {
            continue;
        }
        if selector.matches(labels(&*pod)) {
            claimed.pods.push(pod);
        } else if !is_deleting(job) {
            claimed.writes.push(release(job, &pod));
        }
    }
    let wanted = job.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    if let Some(wanted) = wanted.filter(|_| !is_deleting(job)) {
        let orphans = cluster.of::<Pod>().indexed(ORPHANS, &pair(job, wanted));
        let adopted = orphans
            .iter()
            .filter(|pod| !is_deleting(&***pod) && selector.matches(labels(&***pod)));
        claimed.writes.extend(adopted.map(|pod| adopt(job, pod)));
    }
    claimed
}

fn adopt(job: &Job, pod: &Pod) -> Write {
    let patch = json!({"metadata": {
        "uid": uid(pod),
        "ownerReferences": [controller_ref(job)],
        "finalizers": [TRACKING_FINALIZER],
    }});
    Write::strategic_merge::<Pod>(&Key::of(pod), "", &patch).tolerating(&[404])
}

/// That the pod is gone, or that somebody else released it, is as good.
fn release(job: &Job, pod: &Pod) -> Write {
    let patch = json!({"metadata": {
        "uid": uid(pod),
        "ownerReferences": [{"$patch": "delete", "uid": uid(job)}],
        "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
    }});
    Write::strategic_merge::<Pod>(&Key::of(pod), "", &patch).tolerating(&[404, 422])
}

/// Lets go of a pod that is counted, or that will not be. That it is gone is as good.
pub(super) fn remove_finalizer(pod: &Pod) -> Write {
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
    }});
    Write::strategic_merge::<Pod>(&Key::of(pod), "", &patch).tolerating(&[404])
}
