//! Jobs.

use super::View;
use super::template::{as_json, copies, named, typed};
use crate::common::{name, namespace};
use crate::job::util::is_job_finished;
use crate::job::{Intervals, completions, is_indexed, is_suspended, new_pod, pod_template, wanted};
use k8s_openapi::api::batch::v1::Job;
use serde_json::Value;
use std::collections::BTreeSet;

/// The pods that a Job would start now.
pub fn reconcile(view: &View, given: &Value) -> Vec<Value> {
    let Some(job) = typed::<Job>(given) else {
        return Vec::new();
    };
    let spec = job.spec.clone().unwrap_or_default();
    if is_suspended(&spec) || is_job_finished(&job) {
        return Vec::new();
    }
    let status = job.status.clone().unwrap_or_default();
    let active = view.pods_of("Job", given).count();
    let active = i32::try_from(active).unwrap_or(i32::MAX);
    let wanted = wanted(&spec, active, status.succeeded.unwrap_or(0));
    let missing = usize::try_from(wanted.saturating_sub(active)).unwrap_or(0);
    let template = pod_template(&spec);
    if !is_indexed(&spec) {
        let names = (0..).map(|number: usize| format!("{}-{number}", name(&job)));
        let free = names.filter(|name| !view.has_pod(namespace(&job), name));
        return copies(&as_json(new_pod(&job, &template, None)), free.take(missing));
    }
    let end = completions(&spec);
    let given_indexes = |text: Option<String>| Intervals::parse(&text.unwrap_or_default(), end);
    let busy: BTreeSet<i64> = view
        .pods_of("Job", given)
        .filter_map(|pod| pod.index)
        .collect();
    let taken = given_indexes(status.completed_indexes)
        .merge(&given_indexes(status.failed_indexes))
        .with(&busy);
    let free = free_indexes(view, &job, taken, missing, end);
    free.into_iter()
        .map(|index| {
            let mut pod = new_pod(&job, &template, Some(index));
            // What the network knows it by means nothing here.
            pod.spec.get_or_insert_default().hostname = None;
            named(pod, format!("{}-{index}", name(&job)))
        })
        .collect()
}

/// The first indices below `end` that are neither taken nor the number of a pod with such a name.
fn free_indexes(view: &View, job: &Job, taken: Intervals, count: usize, end: i64) -> Vec<i64> {
    let (mut taken, mut free) = (taken, Vec::new());
    while free.len() < count {
        let next = taken.missing(count - free.len(), end);
        if next.is_empty() {
            break;
        }
        taken = taken.with(&next.iter().copied().collect());
        let is_free =
            |index: &i64| !view.has_pod(namespace(job), &format!("{}-{index}", name(job)));
        free.extend(next.into_iter().filter(is_free));
    }
    free
}
