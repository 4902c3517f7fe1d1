//! `statefulset-controller`: pods with names, in order, each with claims of its own.
//!
//! Upstream: `pkg/controller/statefulset`. What is done about a set at one time is a chain of steps, each of
//! which is taken only if the one before it succeeded; its status is written in any case:
//!
//! 1. pods and revisions are adopted or released;
//! 2. the revision of the present template is made, or made the newest again;
//! 3. replicas: those that are finished are deleted, those that are wrong are put right, those that are
//!    missing are made, claims first. With `OrderedReady` this ends at the first that is not available;
//! 4. condemned pods (those of other ordinals) are deleted, from the highest ordinal;
//! 5. one pod of another revision is deleted.

mod events;
mod pod;
mod replicas;
mod retention;
mod revisions;
mod status;
#[cfg(test)]
mod tests;
mod work;

pub use pod::{claims, new_pod, ordinals, pod_name};

use crate::common::{
    Selector, add_owners, candidates, claim, controller_of, index_orphans, is_as_seen, is_deleting,
    name, namespace,
};
use crate::history;
use crate::{Controller, Cx, Delta, Key, Outcome, Plan, Watches, Write};
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use std::sync::Arc;

/// The index of sets by what the names of their claims begin with.
const BY_CLAIM: &str = "statefulset-claims";

/// `statefulset-controller`.
#[derive(Default)]
pub struct StatefulSets;

impl Controller for StatefulSets {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<StatefulSet>();
        watches.index::<StatefulSet>(BY_CLAIM, |set| {
            let templates = pod::claim_templates(set).iter();
            let prefix = |of| {
                format!(
                    "{}/{}-{}",
                    namespace(set),
                    name::<PersistentVolumeClaim>(of),
                    name(set)
                )
            };
            templates.map(prefix).collect()
        });
        index_orphans::<Pod>(watches);
        index_orphans::<ControllerRevision>(watches);
        watches.on::<Pod>(|cluster, delta, keys| {
            add_owners::<_, StatefulSet>(cluster, delta, keys, selector);
        });
        // A claim that is gone makes room for another one.
        watches.on::<PersistentVolumeClaim>(|cluster, delta, keys| {
            let Delta::Deleted(claim) = delta else { return };
            if let Some((prefix, _)) = pod::parent_and_ordinal(name(&***claim)) {
                let prefix = format!("{}/{prefix}", namespace(&***claim));
                let sets = cluster.of::<StatefulSet>().indexed(BY_CLAIM, &prefix);
                sets.iter().for_each(|set| keys.add_object(&**set));
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        match cx.cluster.get::<StatefulSet>(&key.namespace, &key.name) {
            Some(set) => sync(cx, set),
            None => Plan::nothing(),
        }
    }
}

/// Which pods and revisions a set selects.
fn selector(set: &StatefulSet) -> Selector {
    Selector::new(set.spec.as_ref().map(|spec| &spec.selector))
}

fn sync(cx: &Cx<'_>, set: Arc<StatefulSet>) -> Plan {
    let selector = selector(&set);
    if selector.is_nothing() {
        return Plan::nothing();
    }
    let revisions = history::list(cx.cluster, &*set, &selector);
    let is_orphan = |revision: &&Arc<ControllerRevision>| controller_of(&***revision).is_none();
    let orphans: Vec<_> = revisions.iter().filter(is_orphan).cloned().collect();
    if is_deleting(&*set) && !orphans.is_empty() {
        return Plan::nothing();
    }
    let is_member = |pod: &Pod| pod::is_member_of(&set, pod);
    let mut writes = claim(&*set, &selector, orphans, |_| true).writes;
    writes.extend(claim(&*set, &selector, candidates(cx.cluster, &*set), is_member).writes);
    if writes.is_empty() {
        return with_revisions(cx, set, revisions);
    }
    writes.insert(0, is_as_seen(&*set));
    Plan::sequence(writes).then(move |cx, outcomes| {
        if is_any_failed(outcomes) {
            return Plan::nothing();
        }
        let revisions = history::list(cx.cluster, &*set, &selector);
        with_revisions(cx, set, revisions)
    })
}

fn with_revisions(
    cx: &Cx<'_>,
    set: Arc<StatefulSet>,
    revisions: Vec<Arc<ControllerRevision>>,
) -> Plan {
    let status = set.status.as_ref();
    let collisions = status.and_then(|status| status.collision_count);
    revisions::with_versions(cx, set, revisions, collisions.unwrap_or(0), work::start)
}

/// Whether something was not done, so that the object is looked at again.
fn is_any_failed(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.failure().is_some())
}

/// The pods that belong to a set now.
fn members(cx: &Cx<'_>, set: &StatefulSet) -> Vec<Arc<Pod>> {
    let is_member = |pod: &Pod| pod::is_member_of(set, pod);
    let candidates = candidates::<Pod, StatefulSet>(cx.cluster, set);
    let mut pods = claim(set, &selector(set), candidates, is_member).owned;
    pods.retain(|pod| is_member(pod));
    pods
}

/// The order of writes: pods of an ordered set are looked after one by one.
fn plan_of(is_ordered: bool, writes: Vec<Write>) -> Plan {
    match is_ordered {
        true => Plan::sequence(writes),
        false => Plan::slow_start(writes),
    }
}
