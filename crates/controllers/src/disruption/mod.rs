//! Keeps the status of PodDisruptionBudgets, by which evictions are granted.
//!
//! Upstream: `pkg/controller/disruption`.

mod expected;
mod owners;
mod status;
#[cfg(test)]
mod tests;

use crate::common::{Selector, is_pod_finished, labels, namespace, pod_condition};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Plan, Watches, Write};
use expected::expected;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use owners::Scales;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How long a pod whose eviction was granted may take to be deleted.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);

/// How long a pod may say that it is about to be disrupted, without being deleted.
const STALE_AFTER: SignedDuration = SignedDuration::from_secs(120);

/// Keys of pods are told from those of budgets by this: names cannot contain it.
const POD: char = '/';

/// Keys of pods of several budgets begin with this.
const SHARED: char = '+';

/// `disruption-controller`.
#[derive(Default)]
pub struct Disruption;

impl Controller for Disruption {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<PodDisruptionBudget>();
        watches.reads::<ReplicationController>();
        watches.reads::<ReplicaSet>();
        watches.reads::<Deployment>();
        watches.reads::<StatefulSet>();
        watches.on::<Pod>(pod_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        if let Some(name) = key.name.strip_prefix(POD) {
            return clear_stale(cx, &Key::new(&key.namespace, name));
        }
        if let Some(name) = key.name.strip_prefix(SHARED) {
            return tell_shared(cx, &Key::new(&key.namespace, name));
        }
        let budget = cx
            .cluster
            .get::<PodDisruptionBudget>(&key.namespace, &key.name);
        match budget {
            Some(budget) => sync_budget(cx, &budget),
            None => Plan::nothing(),
        }
    }

    fn component(&self) -> Option<&'static str> {
        Some("controllermanager")
    }
}

fn pod_changed(cluster: &Cluster, delta: &Delta<'_, Pod>, keys: &mut Keys) {
    let pod = delta.object();
    let unchanged = |before: &Pod| {
        let seen = |pod: &Pod| {
            let ready = crate::common::is_pod_ready(pod);
            let owner = crate::common::controller_of(pod).map(|owner| owner.uid.clone());
            let deleting = crate::common::is_deleting(pod);
            let target = pod_condition(pod, "DisruptionTarget").cloned();
            (
                ready,
                owner,
                deleting,
                labels(pod).clone(),
                target,
                is_pod_finished(pod),
            )
        };
        seen(before) == seen(pod)
    };
    if delta.before().is_some_and(|before| unchanged(before)) {
        return;
    }
    let mut count = 0;
    for budget in cluster.namespace::<PodDisruptionBudget>(namespace(&**pod)) {
        let (is_now, before) = (selects(&budget, pod), delta.before());
        count += usize::from(is_now);
        if is_now || before.is_some_and(|before| selects(&budget, before)) {
            keys.add_object(&*budget);
        }
    }
    if count > 1 && !matches!(delta, Delta::Deleted(_)) {
        let name = format!("{SHARED}{}", crate::common::name(&**pod));
        keys.add(Key::new(namespace(&**pod), &name));
    }
    let says_so = pod_condition(pod, "DisruptionTarget").is_some_and(|c| c.status == "True");
    if says_so && !matches!(delta, Delta::Deleted(_)) {
        let name = format!("{POD}{}", crate::common::name(&**pod));
        keys.add(Key::new(namespace(&**pod), &name));
    }
}

fn selects(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    Selector::new(selector).matches(labels(pod))
}

/// A pod of several budgets cannot be evicted. Upstream's `getPdbForPod`.
fn tell_shared(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(pod) = cx.cluster.get::<Pod>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    let mut budgets = cx.cluster.namespace::<PodDisruptionBudget>(&key.namespace);
    budgets.retain(|budget| selects(budget, &pod));
    let [first, _, ..] = budgets.as_slice() else {
        return Plan::nothing();
    };
    let message = format!(
        "Pod {:?}/{:?} matches multiple PodDisruptionBudgets.  Chose {:?} arbitrarily.",
        &*key.namespace,
        &*key.name,
        crate::common::name(&**first),
    );
    let event = Event::warning(&*pod, "MultiplePodDisruptionBudgets", message);
    Plan::nothing().event(event)
}

fn sync_budget(cx: &Cx<'_>, budget: &Arc<PodDisruptionBudget>) -> Plan {
    let mut pods = cx.cluster.namespace::<Pod>(namespace(&**budget));
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let selector = Selector::new(selector);
    pods.retain(|pod| selector.matches(labels(&**pod)));
    // Owners of other kinds are not in the cluster: their scales are asked for.
    let asked = owners::to_be_asked(cx.cluster, budget, &pods);
    let budget = budget.clone();
    owners::ask(cx, asked, Scales::new(), move |cx, scales| {
        with_scales(cx, &budget, &pods, scales)
    })
}

fn with_scales(
    cx: &Cx<'_>,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    scales: &Scales,
) -> Plan {
    let mut plan = Plan::nothing();
    if pods.is_empty() {
        plan = plan.event(Event::normal(budget, "NoPods", "No matching pods found"));
    }
    let expected = match expected(cx.cluster, budget, pods, scales) {
        Ok(expected) => expected,
        Err(error) => return status::failed(cx, budget, plan, &error),
    };
    if !expected.unmanaged.is_empty() {
        let message = format!(
            "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, \
             the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To \
             account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.",
            status::selector_text(budget),
        );
        plan = plan.event(Event::warning(budget, "UnmanagedPods", message));
    }
    status::update(cx, budget, pods, &expected, plan)
}

/// A pod that said for two minutes that it is about to be disrupted, and was not, takes it back.
fn clear_stale(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(pod) = cx.cluster.get::<Pod>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    let Some(condition) = pod_condition(&pod, "DisruptionTarget") else {
        return Plan::nothing();
    };
    let by_kubelet = condition.reason.as_deref() == Some("TerminationByKubelet");
    let is_over = crate::common::is_deleting(&*pod) || is_pod_finished(&pod);
    if condition.status != "True" || by_kubelet || is_over {
        return Plan::nothing();
    }
    let since = condition
        .last_transition_time
        .as_ref()
        .map_or(cx.now, |at| at.0);
    let left = STALE_AFTER - cx.now.duration_since(since);
    if left.is_positive() {
        return Plan::nothing().requeue_after(Duration::try_from(left).unwrap_or_default());
    }
    let patch = json!({
        "metadata": {"uid": pod.metadata.uid},
        "status": {"conditions": [{
            "type": "DisruptionTarget",
            "status": "False",
            "reason": null,
            "message": null,
            "lastTransitionTime": crate::common::time(cx.now),
            "observedGeneration": pod.metadata.generation,
        }]},
    });
    Plan::write(Write::strategic_merge::<Pod>(key, "/status", &patch).tolerating(&[404]))
}
