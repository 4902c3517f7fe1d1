//! As many pods as are wanted: adopt, release, create, delete.

use super::Replicated;
use super::ranks::pods_to_delete;
use super::status::{Pods, Trouble, update};
use crate::common::{
    Claimed, ORPHANS, SELECTORS, claim, claimable, enqueue_owners, is_controlled_by, is_deleting,
    is_pod_active, is_pod_terminating, labels, name, orphan_places, pod_from_template, uid,
};
use crate::{Cluster, Cx, Event, Key, Outcome, Plan, Watches, Write};
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;
use std::time::Duration;

/// How many pods are made or deleted before the object is looked at again.
const BURST_REPLICAS: usize = 500;

/// How many pods make a set large, and how long at most a change of one waits to be counted.
const LARGE: u64 = 50;
const PACE_MAX: Duration = Duration::from_millis(500);

/// Which changes matter.
pub(crate) fn watch<K: Replicated>(watches: &mut Watches) {
    watches.index::<Pod>(ORPHANS, orphan_places::<Pod>);
    watches.index::<K>(SELECTORS, K::places);
    watches.on_each::<K>();
    watches.on::<Pod>(|cluster, delta, keys| {
        enqueue_owners::<K, Pod>(cluster, delta, keys, |set| set.wanted().selector);
    });
}

/// The more pods there are to be counted, the less often it is done: a thousand changes per second of a
/// set of 500 pods would be a million looks at pods.
pub(crate) fn pace<K: Replicated>(cluster: &Cluster, key: &Key) -> Duration {
    let Some(set) = cluster.get::<K>(&key.namespace, &key.name) else {
        return Duration::ZERO;
    };
    match u64::try_from(set.wanted().replicas).unwrap_or(0) {
        0..LARGE => Duration::ZERO,
        replicas => Duration::from_millis(replicas).min(PACE_MAX),
    }
}

/// What is to be done about one object. Upstream's `syncReplicaSet`.
pub(crate) fn sync<K: Replicated>(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(set) = cx.cluster.get::<K>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    let mut claimed = claim_pods(cx.cluster, &*set);
    if let Some(plan) = claimed.take_plan(&*set) {
        return plan;
    }
    if is_deleting(&*set) {
        return finish(cx, &*set, None);
    }
    let wanted = usize::try_from(set.wanted().replicas).unwrap_or(0);
    let have = claimed.owned.len();
    match have.cmp(&wanted) {
        std::cmp::Ordering::Less => create(cx, set, wanted - have),
        std::cmp::Ordering::Greater => delete(cx, set, claimed.owned, have - wanted),
        std::cmp::Ordering::Equal => finish(cx, &*set, None),
    }
}

fn claim_pods<K: Replicated>(cluster: &Cluster, set: &K) -> Claimed<Pod> {
    let spec = set.wanted();
    let pods = claimable::<K, Pod>(cluster, set, spec.match_labels).into_iter();
    claim(
        set,
        &spec.selector,
        pods.filter(|pod| is_pod_active(pod)),
        |_| true,
    )
}

fn create<K: Replicated>(cx: &Cx<'_>, set: Arc<K>, missing: usize) -> Plan {
    let spec = set.wanted();
    let Some(template) = spec.template else {
        return finish(cx, &*set, None);
    };
    let pod = pod_from_template(template, &*set);
    if pod
        .metadata
        .labels
        .as_ref()
        .is_none_or(|labels| labels.is_empty())
    {
        let message = "unable to create pods, no labels".to_owned();
        let mut plan = finish(cx, &*set, Some(failed_create(message.clone())));
        plan.error = Some(message);
        return plan;
    }
    let make = |_| {
        let about = set.clone();
        // In a namespace that goes away nothing can be made, which is no trouble.
        let write = Write::create(&pod).tolerating_terminating();
        write.telling(move |outcome| told_of_create(&*about, outcome))
    };
    let writes = (0..missing.min(BURST_REPLICAS)).map(make).collect();
    Plan::slow_start(writes).then(move |cx, outcomes| {
        let failure = outcomes.iter().find_map(Outcome::failure);
        let trouble = failure.map(|failure| failed_create(failure.message.clone()));
        finish(cx, &*set, trouble)
    })
}

fn failed_create(message: String) -> Trouble {
    Trouble {
        reason: "FailedCreate",
        message,
    }
}

fn told_of_create<K: Replicated>(set: &K, outcome: &Outcome) -> Option<Event> {
    if let Some(pod) = outcome.object::<Pod>() {
        let message = format!("Created pod: {}", name(&*pod));
        return Some(Event::normal(set, "SuccessfulCreate", message));
    }
    let message = format!("Error creating: {}", outcome.failure()?.message);
    Some(Event::warning(set, "FailedCreate", message))
}

fn delete<K: Replicated>(cx: &Cx<'_>, set: Arc<K>, pods: Vec<Arc<Pod>>, excess: usize) -> Plan {
    let related = set.related_pods(cx.cluster);
    let chosen = pods_to_delete(pods, &related, excess.min(BURST_REPLICAS), cx.now);
    let remove = |pod: Arc<Pod>| {
        let about = set.clone();
        let write = Write::delete(&*pod);
        write.telling(move |outcome| told_of_delete(&*about, name(&*pod), outcome))
    };
    let writes = chosen.into_iter().map(remove).collect();
    Plan::parallel(writes).then(move |cx, outcomes| {
        let failure = outcomes.iter().find_map(Outcome::failure);
        let trouble = failure.map(|failure| Trouble {
            reason: "FailedDelete",
            message: format!("unable to delete pods: {}", failure.message),
        });
        finish(cx, &*set, trouble)
    })
}

fn told_of_delete<K: Replicated>(set: &K, pod: &str, outcome: &Outcome) -> Option<Event> {
    if outcome.is_done() {
        let message = format!("Deleted pod: {pod}");
        return Some(Event::normal(set, "SuccessfulDelete", message));
    }
    let message = format!("Error deleting: {}", outcome.failure()?.message);
    Some(Event::warning(set, "FailedDelete", message))
}

/// Tells of the pods that there are by now. The set is the one that was acted upon, so that its status
/// does not claim to have seen a newer generation.
fn finish<K: Replicated>(cx: &Cx<'_>, set: &K, trouble: Option<Trouble>) -> Plan {
    let selector = set.wanted().selector;
    let is_own = |pod: &Arc<Pod>| is_controlled_by(&**pod, set) && selector.matches(labels(&**pod));
    let owned = cx.cluster.owned::<Pod>(uid(set));
    let (active, others): (Vec<_>, Vec<_>) = owned
        .into_iter()
        .filter(is_own)
        .partition(|pod| is_pod_active(pod));
    let terminating = others.iter().filter(|pod| is_pod_terminating(pod)).count();
    let pods = Pods {
        active,
        terminating,
    };
    update(set, &pods, trouble, cx.now)
}
