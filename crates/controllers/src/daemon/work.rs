//! One look at a set, step by step. Upstream's `updateDaemonSet`.

use super::manage::manage;
use super::revisions::{HASH_LABEL, clean_up};
use super::rolling_update::rolling_update;
use super::status::{is_news, status};
use super::{Again, Backoff, fit, is_any_failed, mean_for, pod_spec, selector, target_node};
use crate::common::{
    annotation, candidates, claim, created_at, is_deleting, is_pod_finished, label, name,
    next_availability, pod_from_template,
};
use crate::{Cx, Event, Outcome, Plan, Write};
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, RollingUpdateDaemonSet};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, PodTemplateSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How many pods are made or deleted at most in one go.
const BURST: usize = 250;

/// The annotation of a set and the label of its pods that count templates, from before there were revisions.
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";
const GENERATION_LABEL: &str = "pod-template-generation";

/// The pods of each node, or that are meant for it.
pub(super) type ByNode = BTreeMap<String, Vec<Arc<Pod>>>;

/// What one look at a set is about.
pub(super) struct Work {
    pub(super) set: Arc<DaemonSet>,
    /// The hash of the present template.
    pub(super) hash: String,
    pub(super) backoff: Arc<Backoff>,
    pub(super) min_ready_s: i32,
    /// The spec of its pods, with what daemons tolerate.
    pod_spec: PodSpec,
    old: Vec<Arc<ControllerRevision>>,
}

/// What has to be done about pods.
#[derive(Default)]
pub(super) struct Changes {
    /// Nodes that get a pod.
    pub(super) create: Vec<String>,
    /// Pods that go.
    pub(super) delete: Vec<Arc<Pod>>,
    pub(super) events: Vec<Event>,
    /// When to look again.
    pub(super) wait: Option<Duration>,
    /// Why it cannot be said what has to be done.
    pub(super) error: Option<String>,
}

impl Work {
    /// Begins: nodes get what they lack and lose what they have too much.
    pub(super) fn start(
        cx: &Cx<'_>,
        set: Arc<DaemonSet>,
        hash: String,
        old: Vec<Arc<ControllerRevision>>,
        again: Again,
    ) -> Plan {
        let spec = set.spec.as_ref();
        let work = Arc::new(Self {
            pod_spec: pod_spec(&set),
            min_ready_s: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
            backoff: again.backoff,
            set,
            hash,
            old,
        });
        let changes = manage(cx, &work);
        let is_done = changes.create.is_empty() && changes.delete.is_empty();
        work.carry_out(cx, changes, move |work, cx| match is_done {
            true => work.roll(cx),
            false => work.finish(cx, true),
        })
    }

    /// Replaces pods of other revisions.
    fn roll(self: Arc<Self>, cx: &Cx<'_>) -> Plan {
        let changes = rolling_update(cx, &self);
        self.carry_out(cx, changes, |work, cx| work.finish(cx, true))
    }

    /// Makes and deletes pods, and goes on if nothing fails.
    fn carry_out(
        self: Arc<Self>,
        cx: &Cx<'_>,
        changes: Changes,
        next: impl FnOnce(Arc<Self>, &Cx<'_>) -> Plan + Send + 'static,
    ) -> Plan {
        let template = self.template();
        let nodes = changes.create.iter().take(BURST);
        let creates: Vec<Write> = nodes.map(|node| self.create(&template, node)).collect();
        let doomed = changes.delete.iter().take(BURST);
        let deletes: Vec<Write> = doomed.map(|pod| self.delete(pod)).collect();
        let is_error = changes.error.is_some();
        let then = move |cx: &Cx<'_>, is_failed: bool| match is_failed || is_error {
            true => self.finish(cx, false),
            false => next(self, cx),
        };
        let mut plan = if creates.is_empty() && deletes.is_empty() {
            then(cx, false)
        } else {
            Plan::slow_start(creates).then(move |_, made| {
                let is_failed = is_any_failed(made);
                let delete = Plan::parallel(deletes);
                delete.then(move |cx, gone| then(cx, is_failed || is_any_failed(gone)))
            })
        };
        plan.error = plan.error.or(changes.error);
        plan.events.splice(0..0, changes.events);
        match changes.wait {
            Some(wait) => plan.requeue_after(wait),
            None => plan,
        }
    }

    /// Writes the status as it is now; deletes revisions that nobody needs if all went well.
    fn finish(&self, cx: &Cx<'_>, is_well: bool) -> Plan {
        let by_node = self.by_node(cx);
        let mut writes = Vec::new();
        let status = status(cx, self, &by_node);
        if is_news(self.set.status.as_ref(), &status) {
            let mut set = DaemonSet::clone(&self.set);
            set.status = Some(status);
            writes.push(Write::update_status(&set));
        }
        if is_well {
            writes.extend(clean_up(cx, &self.set, &self.old));
        }
        let pods = by_node.values().flatten().map(|pod| &**pod);
        let plan = Plan::parallel(writes);
        match next_availability(pods, self.min_ready_s, cx.now) {
            Some(wait) => plan.requeue_after(wait),
            None => plan,
        }
    }

    /// The pods of the set by node, without those that are finished and deleted. Upstream's
    /// `getNodesToDaemonPods`.
    pub(super) fn by_node(&self, cx: &Cx<'_>) -> ByNode {
        let candidates = candidates::<Pod, DaemonSet>(cx.cluster, &self.set);
        let pods = claim(&*self.set, &selector(&self.set), candidates, |_| true).owned;
        let mut by_node = ByNode::new();
        for pod in pods {
            let is_over = is_pod_finished(&pod) && is_deleting(&*pod);
            if let Some(node) = target_node(&pod).filter(|_| !is_over) {
                by_node.entry(node.to_owned()).or_default().push(pod);
            }
        }
        by_node
    }

    /// Whether a node should have a pod.
    pub(super) fn fit(&self, node: &Node) -> super::Fit {
        fit(&self.pod_spec, node)
    }

    /// Whether a pod is of the present revision. Upstream's `IsPodUpdated`.
    pub(super) fn is_updated(&self, pod: &Pod) -> bool {
        let hash = label(pod, HASH_LABEL).unwrap_or_default();
        let generation = self.generation();
        (!hash.is_empty() && hash == self.hash)
            || (generation.is_some() && label(pod, GENERATION_LABEL) == generation.as_deref())
    }

    fn generation(&self) -> Option<String> {
        let text = annotation(&*self.set, GENERATION_ANNOTATION)?;
        let number: i64 = text.parse().ok()?;
        Some(number.to_string())
    }

    /// How pods are replaced, if they are without being deleted by somebody.
    pub(super) fn rolling(&self) -> Option<&RollingUpdateDaemonSet> {
        let strategy = self.set.spec.as_ref()?.update_strategy.as_ref()?;
        let is_rolling = strategy.type_.as_deref() == Some("RollingUpdate");
        strategy.rolling_update.as_ref().filter(|_| is_rolling)
    }

    /// Upstream's `CreatePodTemplate`.
    fn template(&self) -> PodTemplateSpec {
        let spec = self.set.spec.as_ref();
        let mut template = spec.map(|spec| spec.template.clone()).unwrap_or_default();
        template.spec = Some(self.pod_spec.clone());
        let metadata = template.metadata.get_or_insert_default();
        let labels = metadata.labels.get_or_insert_default();
        if let Some(generation) = self.generation() {
            labels.insert(GENERATION_LABEL.to_owned(), generation);
        }
        labels.insert(HASH_LABEL.to_owned(), self.hash.clone());
        template
    }

    fn create(&self, template: &PodTemplateSpec, node: &str) -> Write {
        let mut pod = pod_from_template(template, &*self.set);
        mean_for(pod.spec.get_or_insert_default(), node);
        let set = self.set.clone();
        let write = Write::create(&pod).tolerating_terminating();
        write.telling(move |outcome| match outcome {
            Outcome::Done(_) => {
                let made = outcome.object::<Pod>()?;
                let what = format!("Created pod: {}", name(&*made));
                Some(Event::normal(&*set, "SuccessfulCreate", what))
            }
            Outcome::Failed(failure) => {
                let what = format!("Error creating: {}", failure.message);
                Some(Event::warning(&*set, "FailedCreate", what))
            }
            _ => None,
        })
    }

    fn delete(&self, pod: &Arc<Pod>) -> Write {
        let (set, pod_name) = (self.set.clone(), name(&**pod).to_owned());
        Write::delete(&**pod).telling(move |outcome| match outcome {
            Outcome::Done(_) => {
                let what = format!("Deleted pod: {pod_name}");
                Some(Event::normal(&*set, "SuccessfulDelete", what))
            }
            Outcome::Failed(failure) => {
                let what = format!("Error deleting: {}", failure.message);
                Some(Event::warning(&*set, "FailedDelete", what))
            }
            _ => None,
        })
    }
}

/// Those that have a node first, then the oldest. Upstream's `podByCreationTimestampAndPhase`.
pub(super) fn sort_pods(pods: &mut [Arc<Pod>]) {
    pods.sort_by(|a, b| {
        let key = |pod: &Pod| {
            let spec = pod.spec.as_ref();
            let node = spec.and_then(|spec| spec.node_name.as_deref());
            (node.unwrap_or_default().is_empty(), created_at(pod))
        };
        key(a).cmp(&key(b)).then_with(|| name(&**a).cmp(name(&**b)))
    });
}
