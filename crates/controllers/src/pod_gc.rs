//! Pods that nobody else deletes. Upstream: `pkg/controller/podgc`.
//!
//! | pods | when |
//! |---|---|
//! | that have finished | there are more than so many; evicted and old ones first |
//! | that are being deleted, on a node that is out of service | at once |
//! | that are being deleted and never had a node | at once |
//! | on a node that does not exist | 40 seconds after that was seen |

use crate::common::{created_at, is_deleting, is_pod_finished, name, pod_phase, uid};
use crate::{Controller, Cx, Delta, Key, Outcome, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How often all pods are looked at.
const PERIOD: Duration = Duration::from_secs(20);
/// How long a node has to be missing: its pods may be heard of first.
const QUARANTINE: Duration = Duration::from_secs(40);

/// An index of the pods that may have to go.
const INDEX: &str = "pod-gc";
const FINISHED: &str = "finished";
const DELETING: &str = "deleting";
/// What an entry of a node begins with.
const NODE: &str = "node/";

/// Deletes pods that nobody else deletes. Its keys are nodes that are missing, and the empty key for all else.
pub struct PodGc {
    finished_max: usize,
}

impl PodGc {
    /// Keeps so many finished pods; all if it is not above 0.
    pub fn new(finished_max: i32) -> Self {
        Self {
            finished_max: usize::try_from(finished_max).unwrap_or_default(),
        }
    }
}

impl Controller for PodGc {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(INDEX, |pod| {
            let mut values = Vec::new();
            if !matches!(pod_phase(pod), "Pending" | "Running" | "Unknown") {
                values.push(FINISHED.to_owned());
            }
            if is_deleting(pod) {
                values.push(DELETING.to_owned());
            }
            values.extend(node_of(pod).map(|node| format!("{NODE}{node}")));
            values
        });
        watches.on::<Pod>(|cluster, delta, keys| {
            let node = match delta {
                Delta::Added(pod) => node_of(pod),
                Delta::Updated(before, pod) => {
                    node_of(pod).filter(|node| node_of(before) != Some(node))
                }
                Delta::Deleted(_) => None,
            };
            if let Some(node) = node
                && cluster.get::<Node>("", node).is_none()
            {
                keys.add_after(Key::new("", node), QUARANTINE);
            }
        });
        watches.on::<Node>(|_, delta, keys| {
            if matches!(delta, Delta::Deleted(_)) {
                keys.add_after(Key::of(&**delta.object()), QUARANTINE);
            }
        });
        watches.at_start(Key::default());
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        match key.name.is_empty() {
            true => self.sweep(cx),
            false => orphaned(cx, &key.name),
        }
    }

    fn workers(&self) -> usize {
        1
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|node| !node.is_empty())
}

impl PodGc {
    fn sweep(&self, cx: &Cx<'_>) -> Plan {
        let pods = cx.cluster.of::<Pod>();
        let mut doomed = Vec::new();
        let mut finished = pods.indexed(INDEX, FINISHED);
        if self.finished_max > 0 && finished.len() > self.finished_max {
            finished.sort_by_cached_key(|pod| {
                (
                    !is_evicted(pod),
                    created_at(&**pod),
                    name(&**pod).to_owned(),
                )
            });
            finished.truncate(finished.len() - self.finished_max);
            doomed.append(&mut finished);
        }
        for pod in pods.indexed(INDEX, DELETING) {
            let is_lost = match node_of(&pod) {
                None => true,
                Some(node) => {
                    let node = cx.cluster.get::<Node>("", node);
                    node.is_some_and(|node| is_out_of_service(&node))
                }
            };
            if is_lost && !doomed.iter().any(|other| uid(&**other) == uid(&*pod)) {
                doomed.push(pod);
            }
        }
        delete(doomed, None).requeue_after(PERIOD)
    }
}

/// The kubelet has thrown it out.
fn is_evicted(pod: &Pod) -> bool {
    let reason = pod
        .status
        .as_ref()
        .and_then(|status| status.reason.as_deref());
    pod_phase(pod) == "Failed" && reason == Some("Evicted")
}

/// Somebody says that the node is off, and it does not say otherwise.
fn is_out_of_service(node: &Node) -> bool {
    let conditions = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let is_ready = conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let taints = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    let is_off = taints
        .into_iter()
        .any(|taint| taint.key == "node.kubernetes.io/out-of-service");
    !is_ready && is_off
}

/// Deletes the pods of a node that has been missing for a while. The server is asked whether that is so by a
/// patch that changes nothing.
fn orphaned(cx: &Cx<'_>, node: &str) -> Plan {
    let is_there = cx.cluster.get::<Node>("", node).is_some();
    if is_there || pods_of(cx, node).is_empty() {
        return Plan::nothing();
    }
    let look = Write::merge::<Node>(&Key::new("", node), "", &json!({})).tolerating(&[404]);
    let node = node.to_owned();
    Plan::write(look).then(move |cx, outcomes| match outcomes {
        [Outcome::Tolerated(_)] => {
            let condition = json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
                "lastTransitionTime": cx.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            });
            delete(pods_of(cx, &node), Some(&condition))
        }
        _ => Plan::nothing(),
    })
}

fn pods_of(cx: &Cx<'_>, node: &str) -> Vec<Arc<Pod>> {
    cx.cluster
        .of::<Pod>()
        .indexed(INDEX, &format!("{NODE}{node}"))
}

/// Says that they failed, then deletes them at once. Upstream's `markFailedAndDeletePodWithCondition`.
fn delete(pods: Vec<Arc<Pod>>, condition: Option<&Value>) -> Plan {
    let running = pods.iter().filter(|pod| !is_pod_finished(pod));
    let patches = running.map(|pod| fail(pod, condition)).collect();
    Plan::parallel(patches).then(move |cx, _| {
        let is_failed = |pod: &&Arc<Pod>| {
            let meta = &pod.metadata;
            let namespace = meta.namespace.as_deref().unwrap_or_default();
            let now = cx.cluster.get::<Pod>(namespace, name(&***pod));
            now.is_some_and(|now| uid(&*now) == uid(&***pod) && is_pod_finished(&now))
        };
        let deletes = pods.iter().filter(is_failed);
        Plan::parallel(deletes.map(|pod| Write::delete_now(&**pod)).collect())
    })
}

fn fail(pod: &Pod, condition: Option<&Value>) -> Write {
    let generation = pod.metadata.generation;
    let mut status = json!({"phase": "Failed"});
    if let Some(generation) = generation {
        status["observedGeneration"] = generation.into();
    }
    if let Some(condition) = condition {
        let mut condition = condition.clone();
        if let Some(generation) = generation {
            condition["observedGeneration"] = generation.into();
        }
        status["conditions"] = json!([condition]);
    }
    let patch = json!({"metadata": {"uid": uid(pod)}, "status": status});
    Write::strategic_merge::<Pod>(&Key::of(pod), "/status", &patch).tolerating(&[404, 409])
}

#[cfg(test)]
mod tests;
