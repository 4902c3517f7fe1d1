//! `daemonset-controller`: a pod on each node that will have one.
//!
//! Upstream: `pkg/controller/daemon`. What is done about a set at one time:
//!
//! 1. pods and revisions are adopted or released;
//! 2. the revision of the present template is made, or made the newest again (`revisions`);
//! 3. nodes get the pods that they lack and lose those that are too many (`manage`);
//! 4. if there was nothing of that to do, pods of other revisions are replaced (`rolling_update`);
//! 5. old revisions are deleted, and the status is written (`status`).

mod backoff;
mod manage;
mod node;
mod revisions;
mod rolling_update;
mod status;
#[cfg(test)]
mod tests;
mod work;

pub use node::{Fit, fit, mean_for, selected_node, target_node, tolerate};

use crate::common::{
    Selector, add_owners, candidates, claim, controller_of, index_orphans, is_as_seen, is_deleting,
    labels, name, namespace,
};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Outcome, Plan, Watches};
use backoff::Backoff;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use std::sync::Arc;

/// The index of pods by the node that they are on.
const BY_NODE: &str = "daemon-node";

/// How often a set is looked at again in one go, because something about it had to be put right first.
const LOOKS_MAX: u32 = 8;

/// `daemonset-controller`.
#[derive(Default)]
pub struct DaemonSets {
    backoff: Arc<Backoff>,
}

impl Controller for DaemonSets {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<DaemonSet>();
        index_orphans::<Pod>(watches);
        index_orphans::<ControllerRevision>(watches);
        watches.index::<Pod>(BY_NODE, |pod| {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            node.into_iter().collect()
        });
        watches.on::<Pod>(|cluster, delta, keys| {
            add_owners::<_, DaemonSet>(cluster, delta, keys, selector);
        });
        watches.on::<ControllerRevision>(|cluster, delta, keys| {
            let is_new = matches!(delta, Delta::Added(_));
            if !is_new || controller_of(&**delta.object()).is_none() {
                add_owners::<_, DaemonSet>(cluster, delta, keys, selector);
            }
        });
        watches.on::<Node>(node_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        look(cx, key, &self.backoff, LOOKS_MAX)
    }
}

/// Which pods and revisions a set selects.
fn selector(set: &DaemonSet) -> Selector {
    Selector::new(set.spec.as_ref().map(|spec| &spec.selector))
}

/// The spec of the pods of a set, with what all daemons tolerate.
fn pod_spec(set: &DaemonSet) -> PodSpec {
    let spec = set.spec.as_ref();
    let mut spec = spec
        .and_then(|spec| spec.template.spec.clone())
        .unwrap_or_default();
    tolerate(&mut spec);
    spec
}

/// Looks at the sets for which a change of a node means something. Upstream's `syncNodeUpdate`; those of a
/// node that is gone may have pods that wait for it.
fn node_changed(cluster: &Cluster, delta: &Delta<'_, Node>, keys: &mut Keys) {
    let node = &**delta.object();
    if delta.before().is_some_and(|before| is_same(before, node)) {
        return;
    }
    let pods = cluster.of::<Pod>().indexed(BY_NODE, name(node));
    for set in cluster.all::<DaemonSet>() {
        let fit = fit(&pod_spec(&set), node);
        let is_owner = |pod: &Arc<Pod>| {
            let owner = controller_of(&**pod);
            namespace(&**pod) == namespace(&*set)
                && owner.is_some_and(|owner| owner.kind == "DaemonSet" && owner.name == name(&*set))
        };
        let has_pod = pods.iter().any(is_owner);
        let status = set.status.as_ref();
        let is_misscheduled = status.is_some_and(|status| status.number_misscheduled > 0);
        let is_concerned = match has_pod {
            true => !fit.should_continue || is_misscheduled,
            false => fit.should_run,
        };
        if is_concerned || (matches!(delta, Delta::Deleted(_)) && fit.should_run) {
            keys.add_object(&*set);
        }
    }
}

/// Upstream's `shouldIgnoreNodeUpdate`.
fn is_same(before: &Node, now: &Node) -> bool {
    let taints = |node: &Node| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        taints.unwrap_or_default()
    };
    labels(before) == labels(now) && taints(before) == taints(now)
}

/// Looks at a set, and may do so again this many times.
fn look(cx: &Cx<'_>, key: &Key, backoff: &Arc<Backoff>, times: u32) -> Plan {
    let Some(set) = cx.cluster.get::<DaemonSet>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    let selector = selector(&set);
    if selector.is_nothing() {
        return Plan::nothing();
    }
    if selector.is_everything() {
        let what = "This daemon set is selecting all pods. A non-empty selector is required.";
        return Plan::nothing().event(Event::warning(&*set, "SelectingAll", what));
    }
    if is_deleting(&*set) {
        return Plan::nothing();
    }
    let again = Again {
        key: key.clone(),
        backoff: backoff.clone(),
        times,
    };
    let pods = claim(
        &*set,
        &selector,
        candidates::<Pod, _>(cx.cluster, &*set),
        |_| true,
    );
    let revisions = candidates::<ControllerRevision, _>(cx.cluster, &*set);
    let revisions = claim(&*set, &selector, revisions, |_| true);
    let mut writes = pods.writes;
    writes.extend(revisions.writes);
    if !writes.is_empty() {
        writes.insert(0, is_as_seen(&*set));
        return again.after(Plan::sequence(writes));
    }
    revisions::construct(cx, set, revisions.owned, again)
}

/// Looking at a set once more, when something about it has been put right.
struct Again {
    key: Key,
    backoff: Arc<Backoff>,
    times: u32,
}

impl Again {
    /// After these writes, if they succeed.
    fn after(self, plan: Plan) -> Plan {
        plan.then(move |cx, outcomes| match is_any_failed(outcomes) {
            true => Plan::nothing(),
            false => self.now(cx),
        })
    }

    fn now(self, cx: &Cx<'_>) -> Plan {
        match self.times.checked_sub(1) {
            Some(times) => look(cx, &self.key, &self.backoff, times),
            None => Plan::retry("what was written does not show"),
        }
    }
}

/// Whether something was not done, so that the object is looked at again.
fn is_any_failed(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.failure().is_some())
}
