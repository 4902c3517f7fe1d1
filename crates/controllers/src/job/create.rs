//! Pods of a Job.

use super::cx::{INDEX_FAILURES, INDEX_IGNORED_FAILURES, JobCx, count, number};
use super::pod_failure_policy::counts;
use super::spec::{COMPLETION_INDEX, TRACKING_FINALIZER, has_backoff_limit_per_index, is_indexed};
use crate::common::{name, pod_from_template};
use crate::{Event, EventType, Order, Plan, Write};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod, PodTemplateSpec,
};

/// The variable that tells a container which part it does.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// The longest prefix of a name that the server makes up the rest of.
const PREFIX_MAX: usize = 58;

impl JobCx {
    /// Makes a pod for each index, or so many pods without one.
    pub(super) fn create_pods(mut self, indexes: Vec<Option<i64>>) -> Plan {
        let template = pod_template(&self.spec);
        let pods = indexes.into_iter().map(|index| self.pod(&template, index));
        let writes: Vec<Write> = pods.map(|pod| self.create_pod(&pod)).collect();
        let plan = self.stage(Order::SlowStart, writes);
        plan.then(move |cx, outcomes| {
            let made = outcomes.iter().filter(|outcome| outcome.is_done());
            self.active += count(made.count());
            self.managed(cx, true)
        })
    }

    fn create_pod(&self, pod: &Pod) -> Write {
        let event = Event::normal(&self.job, "SuccessfulCreate", "");
        let write = Write::create(pod).tolerating_terminating();
        write.telling(move |outcome| match outcome.failure() {
            Some(failure) => Some(Event {
                event_type: EventType::Warning,
                reason: "FailedCreate",
                message: format!("Error creating: {}", failure.message),
                ..event
            }),
            None => {
                let pod = outcome.object::<Pod>()?;
                Some(Event {
                    message: format!("Created pod: {}", name(&*pod)),
                    ..event
                })
            }
        })
    }

    fn pod(&self, template: &PodTemplateSpec, index: Option<i64>) -> Pod {
        let mut pod = new_pod(&self.job, template, index);
        if let Some(index) = index
            && has_backoff_limit_per_index(&self.spec)
        {
            let (failures, ignored) = self.index_failure_counts(index);
            let annotations = pod.metadata.annotations.get_or_insert_default();
            annotations.insert(INDEX_FAILURES.to_owned(), failures.to_string());
            if ignored > 0 {
                annotations.insert(INDEX_IGNORED_FAILURES.to_owned(), ignored.to_string());
            }
        }
        pod
    }

    /// How often the pods of an index have failed, the one that is replaced included. Upstream's
    /// `getNewIndexFailureCounts`.
    fn index_failure_counts(&self, index: i64) -> (i32, i32) {
        let Some(replaced) = self.delayed.get(&index) else {
            return (0, 0);
        };
        let failures = number(replaced, INDEX_FAILURES);
        let ignored = number(replaced, INDEX_IGNORED_FAILURES);
        match counts(&self.spec, replaced) {
            true => (failures.saturating_add(1), ignored),
            false => (failures, ignored.saturating_add(1)),
        }
    }
}

/// The template of a Job, with what all its pods have.
pub(crate) fn pod_template(spec: &JobSpec) -> PodTemplateSpec {
    let mut template = spec.template.clone();
    if is_indexed(spec)
        && let Some(spec) = &mut template.spec
    {
        let init = spec.init_containers.iter_mut().flatten();
        init.chain(&mut spec.containers)
            .for_each(add_index_variable);
    }
    let meta = template.metadata.get_or_insert_default();
    let finalizers = meta.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|held| held == TRACKING_FINALIZER) {
        finalizers.push(TRACKING_FINALIZER.to_owned());
    }
    template
}

/// A pod of a Job, for one of its parts if it has numbered parts.
pub(crate) fn new_pod(job: &Job, template: &PodTemplateSpec, index: Option<i64>) -> Pod {
    let mut pod = pod_from_template(template, job);
    let Some(index) = index else {
        return pod;
    };
    let job = name(job);
    let meta = &mut pod.metadata;
    meta.generate_name = Some(prefix_with_index(job, index));
    let labels = meta.labels.get_or_insert_default();
    labels.insert(COMPLETION_INDEX.to_owned(), index.to_string());
    let annotations = meta.annotations.get_or_insert_default();
    annotations.insert(COMPLETION_INDEX.to_owned(), index.to_string());
    if let Some(spec) = &mut pod.spec {
        spec.hostname = Some(format!("{job}-{index}"));
    }
    pod
}

fn add_index_variable(container: &mut Container) {
    let variables = container.env.get_or_insert_default();
    if variables
        .iter()
        .any(|variable| variable.name == INDEX_VARIABLE)
    {
        return;
    }
    variables.push(EnvVar {
        name: INDEX_VARIABLE.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: format!("metadata.labels['{COMPLETION_INDEX}']"),
                api_version: None,
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    });
}

/// What the names of the pods of an index begin with. Upstream's `podGenerateNameWithIndex`.
fn prefix_with_index(job: &str, index: i64) -> String {
    let index = format!("-{index}-");
    let room = PREFIX_MAX.saturating_sub(index.len());
    // Names of Jobs are ASCII.
    let job = job.get(..room).unwrap_or(job);
    format!("{job}{index}")
}
