//! Jobs.
//!
//! Upstream: `manageJob` in `pkg/controller/job/job_controller.go`.

use super::View;
use super::template::{controlled_by, label, pod};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::{Edit, View as _, meta};

pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The pods that a Job would start now.
pub fn reconcile(view: &View, job: &Value) -> Vec<Value> {
    let spec = job.at("spec");
    if spec.flag("suspend") || is_over(job) {
        return Vec::new();
    }
    let active: Vec<_> = view.pods_of("Job", job).collect();
    let missing = wanted(job, active.len()).saturating_sub(active.len());
    if spec.text("completionMode") == "Indexed" {
        let busy: BTreeSet<u32> = active.iter().filter_map(|pod| pod.index).collect();
        let pending = pending_indices(job, &busy).filter(|index| {
            !view.has_pod(
                meta::namespace(job),
                &format!("{}-{index}", meta::name(job)),
            )
        });
        return pending.take(missing).map(|i| make(job, i, true)).collect();
    }
    let (namespace, name) = (meta::namespace(job), meta::name(job));
    let free = (0..).filter(|number: &u32| !view.has_pod(namespace, &format!("{name}-{number}")));
    free.take(missing).map(|i| make(job, i, false)).collect()
}

fn make(job: &Value, number: u32, indexed: bool) -> Value {
    let (name, uid) = (meta::name(job), meta::uid(job));
    let owner = controlled_by("batch/v1", "Job", job);
    let template = job.at("spec").at("template");
    let mut made = pod(
        template,
        meta::namespace(job),
        &format!("{name}-{number}"),
        owner,
    );
    let labels = [
        ("job-name", name),
        ("batch.kubernetes.io/job-name", name),
        ("controller-uid", uid),
        ("batch.kubernetes.io/controller-uid", uid),
    ];
    label(&mut made, &labels);
    if indexed {
        let text = number.to_string();
        label(&mut made, &[(INDEX, &text)]);
        let metadata = made.at_mut("metadata");
        metadata.at_mut("annotations").set(INDEX, text);
    }
    made
}

/// How many pods should be at work now.
fn wanted(job: &Value, active: usize) -> usize {
    let spec = job.at("spec");
    let succeeded = job.at("status").int("succeeded").unwrap_or(0);
    let parallelism = spec.int("parallelism").unwrap_or(1);
    let completions = match (spec.int("completions"), spec.int("parallelism")) {
        // Without either, one pod is to succeed once.
        (None, None) => Some(1),
        (completions, _) => completions,
    };
    let wanted = match completions {
        Some(completions) => parallelism.min(completions.saturating_sub(succeeded)),
        None if succeeded > 0 => return active,
        None => parallelism,
    };
    usize::try_from(wanted).unwrap_or(0)
}

fn is_over(job: &Value) -> bool {
    let conditions = job.at("status").list("conditions").iter();
    conditions
        .filter(|condition| condition.text("status") == "True")
        .any(|condition| matches!(condition.text("type"), "Complete" | "Failed"))
}

/// The indices that are neither done nor at work, ascending.
fn pending_indices(job: &Value, busy: &BTreeSet<u32>) -> impl Iterator<Item = u32> {
    let completed = job.at("status").text("completedIndexes");
    let ranges: Vec<(u32, u32)> = completed
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        })
        .collect();
    let count = job.at("spec").int("completions").unwrap_or(0);
    let count = u32::try_from(count).unwrap_or(0);
    (0..count).filter(move |index| {
        !busy.contains(index)
            && !ranges
                .iter()
                .any(|(first, last)| (first..=last).contains(&index))
    })
}
