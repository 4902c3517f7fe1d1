//! Jobs.
//!
//! Upstream: `manageJob` in `pkg/controller/job/job_controller.go`.

use super::template::label;
use super::{World, controlled_by, template};
use crate::load::{Kind, Source};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The pods that a Job would start now.
pub(super) fn expand(world: &mut World<'_>, at: &Source, job: &Job) {
    let Some(spec) = &job.spec else { return };
    if spec.suspend == Some(true) || is_over(job) {
        return;
    }
    let active = world.pods_of(Kind::Job, &job.metadata);
    let missing = wanted(job, spec, active.len()).saturating_sub(active.len());
    let indexed = spec.completion_mode.as_deref() == Some("Indexed");
    let busy: BTreeSet<u32> = active.iter().filter_map(|pod| index_of(pod)).collect();
    let mut indices = pending_indices(job, spec, busy);
    let mut number = 0;
    for _ in 0..missing {
        if indexed {
            let Some(index) = indices.next() else { return };
            make(world, at, job, spec, index, true);
        } else {
            while !make(world, at, job, spec, number, false) {
                number += 1;
            }
            number += 1;
        }
    }
}

fn make(
    world: &mut World<'_>,
    at: &Source,
    job: &Job,
    spec: &JobSpec,
    number: u32,
    indexed: bool,
) -> bool {
    let owner = controlled_by("batch/v1", "Job", &job.metadata);
    let (job_name, uid) = (owner.name.clone(), owner.uid.clone());
    let name = format!("{job_name}-{number}");
    let mut pod = template::pod(
        &spec.template,
        job.metadata.namespace.as_deref(),
        &name,
        owner,
    );
    let labels = [
        ("job-name", &*job_name),
        ("batch.kubernetes.io/job-name", &*job_name),
        ("controller-uid", &*uid),
        ("batch.kubernetes.io/controller-uid", &*uid),
    ];
    label(&mut pod.metadata, &labels);
    if indexed {
        let text = number.to_string();
        label(&mut pod.metadata, &[(INDEX, &text)]);
        pod.metadata
            .annotations
            .get_or_insert_default()
            .insert(INDEX.to_owned(), text);
    }
    world.make(at, pod)
}

/// How many pods should be at work now.
fn wanted(job: &Job, spec: &JobSpec, active: usize) -> usize {
    let status = job.status.as_ref();
    let succeeded = status.and_then(|status| status.succeeded).unwrap_or(0);
    let parallelism = spec.parallelism.unwrap_or(1);
    let completions = match (spec.completions, spec.parallelism) {
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

fn is_over(job: &Job) -> bool {
    let conditions = job
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.status == "True")
        .any(|condition| matches!(&*condition.type_, "Complete" | "Failed"))
}

fn index_of(pod: &Pod) -> Option<u32> {
    pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok()
}

/// The indices that are neither done nor at work, ascending.
fn pending_indices(job: &Job, spec: &JobSpec, busy: BTreeSet<u32>) -> impl Iterator<Item = u32> {
    let completed = job
        .status
        .as_ref()
        .and_then(|status| status.completed_indexes.clone());
    let ranges: Vec<(u32, u32)> = completed
        .unwrap_or_default()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        })
        .collect();
    let count = u32::try_from(spec.completions.unwrap_or(0)).unwrap_or(0);
    (0..count).filter(move |index| {
        !busy.contains(index)
            && !ranges
                .iter()
                .any(|(first, last)| (first..=last).contains(&index))
    })
}
