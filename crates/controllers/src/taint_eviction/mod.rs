//! Evicts pods from nodes with NoExecute taints that they do not tolerate, or no longer.
//!
//! Upstream: `pkg/controller/tainteviction`.

#[cfg(test)]
mod tests;
mod tolerations;

use crate::common::{is_deleting, pod_condition};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Plan, Watches, Write};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
pub use tolerations::{Tolerated, tolerated};

/// The index of pods by their node.
pub const BY_NODE: &str = "spec.nodeName";

/// Files a pod under its node.
pub fn by_node(pod: &Pod) -> Vec<String> {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.clone())
        .into_iter()
        .collect()
}

/// `taint-eviction-controller`.
#[derive(Default)]
pub struct TaintEviction {
    /// Deletions that were begun or wait for their time, by pod.
    scheduled: Mutex<BTreeMap<Key, Scheduled>>,
}

/// A deletion.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Scheduled {
    /// Since when the taints are known, and when they are not tolerated any more.
    Waiting { since: Timestamp, at: Timestamp },
    /// It was begun.
    Begun,
}

impl Controller for TaintEviction {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(BY_NODE, by_node);
        watches.on::<Pod>(|_, delta, keys| {
            if let Delta::Updated(before, now) = delta {
                let matters = |pod: &Pod| {
                    let spec = pod.spec.as_ref();
                    spec.map(|spec| (spec.node_name.clone(), spec.tolerations.clone()))
                };
                if matters(before) == matters(now) {
                    return;
                }
            }
            keys.add_object(&**delta.object());
        });
        watches.on::<Node>(node_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let pod = cx.cluster.get::<Pod>(&key.namespace, &key.name);
        let Some(pod) = pod else {
            return self.cancel(key);
        };
        let spec = pod.spec.as_ref();
        let node = spec.and_then(|spec| spec.node_name.as_deref());
        let node = node.and_then(|node| cx.cluster.get::<Node>("", node));
        let Some(node) = node else {
            return Plan::nothing();
        };
        let taints = no_execute(&node);
        if taints.is_empty() {
            return self.cancel(key);
        }
        let tolerations = spec.and_then(|spec| spec.tolerations.as_deref());
        match tolerated(&taints, tolerations.unwrap_or_default()) {
            Tolerated::Forever => self.cancel(key),
            Tolerated::Not => {
                // As upstream: a deletion that waits is called off, and another one begins.
                let known = self.with(|scheduled| scheduled.get(key).copied());
                let mut plan = self.begin(cx, key, &pod);
                if matches!(known, Some(Scheduled::Waiting { .. })) {
                    plan.events.insert(0, called_off(key));
                }
                plan
            }
            Tolerated::For(seconds) => self.wait(cx, key, &pod, seconds),
        }
    }

    fn workers(&self) -> usize {
        16
    }
}

fn no_execute(node: &Node) -> Vec<Taint> {
    let taints = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    taints
        .filter(|taint| taint.effect == "NoExecute")
        .cloned()
        .collect()
}

/// Looks at all pods of a node whose NoExecute taints change.
fn node_changed(cluster: &Cluster, delta: &Delta<'_, Node>, keys: &mut Keys) {
    let now = no_execute(delta.object());
    let before = delta.before().map(|before| no_execute(before));
    let is_new = matches!(delta, Delta::Added(_)) && !now.is_empty();
    if !is_new && before.is_none_or(|before| before == now) {
        return;
    }
    let name = crate::common::name(&**delta.object());
    for pod in cluster.of::<Pod>().indexed(BY_NODE, name) {
        keys.add_object(&*pod);
    }
}

impl TaintEviction {
    fn with<T>(&self, change: impl FnOnce(&mut BTreeMap<Key, Scheduled>) -> T) -> T {
        change(
            &mut self
                .scheduled
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The pod stays, or is gone.
    fn cancel(&self, key: &Key) -> Plan {
        match self.with(|scheduled| scheduled.remove(key)) {
            Some(Scheduled::Waiting { .. }) => Plan::nothing().event(called_off(key)),
            Some(Scheduled::Begun) | None => Plan::nothing(),
        }
    }

    fn wait(&self, cx: &Cx<'_>, key: &Key, pod: &Pod, seconds: i64) -> Plan {
        let until = |since: Timestamp| {
            let span = SignedDuration::from_secs(seconds);
            since.checked_add(span).unwrap_or(Timestamp::MAX)
        };
        let fresh = Scheduled::Waiting {
            since: cx.now,
            at: until(cx.now),
        };
        // As upstream: a deletion that waits already keeps its time, whatever becomes of the tolerations.
        let scheduled = self.with(|scheduled| *scheduled.entry(key.clone()).or_insert(fresh));
        match scheduled {
            Scheduled::Begun => self.begin(cx, key, pod),
            Scheduled::Waiting { at, .. } if at <= cx.now => self.begin(cx, key, pod),
            Scheduled::Waiting { at, .. } => {
                let left = at.duration_since(cx.now);
                Plan::nothing().requeue_after(Duration::try_from(left).unwrap_or_default())
            }
        }
    }

    /// Says why, then deletes.
    fn begin(&self, cx: &Cx<'_>, key: &Key, pod: &Pod) -> Plan {
        let before = self.with(|scheduled| scheduled.insert(key.clone(), Scheduled::Begun));
        if is_deleting(pod) {
            return Plan::nothing();
        }
        let mut writes = Vec::new();
        let is_said = pod_condition(pod, "DisruptionTarget").is_some_and(|condition| {
            condition.status == "True"
                && condition.reason.as_deref() == Some("DeletionByTaintManager")
        });
        if !is_said {
            writes.push(Write::strategic_merge::<Pod>(key, "/status", &json!({
                "metadata": {"uid": pod.metadata.uid},
                "status": {"conditions": [crate::common::disruption_target(
                    pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", cx.now,
                )]},
            })).tolerating(&[404, 409]));
        }
        writes.push(Write::delete(pod));
        let plan = Plan::sequence(writes);
        match before {
            Some(Scheduled::Begun) => plan,
            Some(Scheduled::Waiting { .. }) | None => {
                plan.event(told(key, format!("Marking for deletion Pod {key}")))
            }
        }
    }
}

fn called_off(key: &Key) -> Event {
    told(key, format!("Cancelling deletion of Pod {key}"))
}

/// Upstream's events name the pod without its uid.
fn told(key: &Key, message: String) -> Event {
    let pod = Pod {
        metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
            namespace: Some(key.namespace.to_string()),
            name: Some(key.name.to_string()),
            ..Default::default()
        },
        ..Pod::default()
    };
    Event::normal(&pod, "TaintManagerEviction", message)
}
