//! One look at a set, step by step. Upstream's `updateStatefulSet`.

use super::events::{Verb, create_claim, create_pod, delete_pod, pod_event, update_claims};
use super::pod::{claims, new_pod, ordinal, ordinals, pod_revision, set_pod_revision};
use super::replicas::{Round, known_claim, missing_claims, round};
use super::revisions::{Versions, truncate};
use super::status::{is_news, is_rolling_update, is_running_and_ready, status};
use super::{is_any_failed, members, plan_of, selector};
use crate::common::{is_deleting, is_pod_available, name, next_availability, scaled_value};
use crate::history;
use crate::{Cx, Plan, Write};
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The pod of an ordinal, as it is or as it would be made.
#[derive(Clone)]
pub(super) struct Replica {
    pub(super) pod: Arc<Pod>,
    pub(super) ordinal: i32,
    pub(super) exists: bool,
}

/// What one look at a set is about.
pub(super) struct Work {
    pub(super) set: Arc<StatefulSet>,
    /// The set as the newest revision has it.
    pub(super) update_set: Arc<StatefulSet>,
    /// One for each ordinal that the set should have, in order.
    pub(super) replicas: Vec<Replica>,
    pub(super) is_ordered: bool,
    pub(super) min_ready_s: i32,
    /// Pods of other ordinals, from the highest.
    condemned: Vec<Arc<Pod>>,
    partition: usize,
    is_rolling_update: bool,
    /// How many pods may be unavailable during an update, if the set says so.
    max_unavailable: Option<usize>,
    versions: Versions,
}

/// Begins.
pub(super) fn start(cx: &Cx<'_>, set: Arc<StatefulSet>, versions: Versions) -> Plan {
    let Some(work) = Work::new(cx, set, versions).map(Arc::new) else {
        return Plan::retry("a revision of the set makes no sense");
    };
    if is_deleting(&*work.set) {
        return work.finish(cx);
    }
    let mut round = round(cx, &work);
    let (writes, events) = (
        std::mem::take(&mut round.writes),
        std::mem::take(&mut round.events),
    );
    work.step(cx, writes, move |work, cx| work.make_claims(cx, round))
        .events(events)
}

/// The set with the template of a revision. Upstream's `ApplyRevision`.
fn at_revision(set: &Arc<StatefulSet>, revision: &ControllerRevision) -> Option<Arc<StatefulSet>> {
    let template = history::template_of(revision)?;
    if set.spec.as_ref()?.template == template {
        return Some(set.clone());
    }
    let mut set = StatefulSet::clone(set);
    set.spec.as_mut()?.template = template;
    Some(Arc::new(set))
}

fn partition(spec: &StatefulSetSpec) -> Option<i32> {
    let rolling = spec.update_strategy.as_ref()?.rolling_update.as_ref()?;
    Some(rolling.partition.unwrap_or(0))
}

/// How many pods may be unavailable during an update: at least one, if the set says anything. An API server
/// keeps the field only if its gate `MaxUnavailableStatefulSet` is on. Upstream's
/// `getStatefulSetMaxUnavailable`.
fn max_unavailable(spec: &StatefulSetSpec) -> Option<usize> {
    let rolling = spec.update_strategy.as_ref()?.rolling_update.as_ref()?;
    let given = rolling.max_unavailable.as_ref()?;
    let max = scaled_value(given, spec.replicas.unwrap_or(1), false)?;
    Some(usize::try_from(max).unwrap_or(0).max(1))
}

impl Work {
    fn new(cx: &Cx<'_>, set: Arc<StatefulSet>, versions: Versions) -> Option<Self> {
        let spec = set.spec.as_ref()?;
        let update_set = at_revision(&set, &versions.update)?;
        let current_set = at_revision(&set, &versions.current)?;
        let range = ordinals(spec);
        let (mut kept, mut condemned) = (BTreeMap::new(), BTreeMap::new());
        for pod in members(cx, &set) {
            match ordinal(&pod) {
                Some(ordinal) if range.contains(&ordinal) => drop(kept.insert(ordinal, pod)),
                Some(ordinal) => drop(condemned.insert(ordinal, pod)),
                None => {}
            }
        }
        let old = old_ordinals(&set, spec);
        let replica = |ordinal| match kept.remove(&ordinal) {
            Some(pod) => Replica {
                pod,
                ordinal,
                exists: true,
            },
            None => {
                let (set, revision) = match ordinal < range.start.saturating_add(old) {
                    true => (&current_set, &versions.current),
                    false => (&update_set, &versions.update),
                };
                let mut pod = new_pod(set, ordinal);
                set_pod_revision(&mut pod, name(&**revision));
                Replica {
                    pod: Arc::new(pod),
                    ordinal,
                    exists: false,
                }
            }
        };
        Some(Self {
            replicas: range.clone().map(replica).collect(),
            condemned: condemned.into_values().rev().collect(),
            is_ordered: spec.pod_management_policy.as_deref() != Some("Parallel"),
            min_ready_s: spec.min_ready_seconds.unwrap_or(0),
            partition: usize::try_from(partition(spec).unwrap_or(0)).unwrap_or(0),
            is_rolling_update: is_rolling_update(spec),
            max_unavailable: max_unavailable(spec),
            update_set,
            versions,
            set,
        })
    }

    /// Goes on with the next step if all of this is done; otherwise ends.
    fn step(
        self: Arc<Self>,
        cx: &Cx<'_>,
        writes: Vec<Write>,
        next: impl FnOnce(Arc<Self>, &Cx<'_>) -> Plan + Send + 'static,
    ) -> Plan {
        if writes.is_empty() {
            return next(self, cx);
        }
        plan_of(self.is_ordered, writes).then(move |cx, outcomes| match is_any_failed(outcomes) {
            true => self.finish(cx),
            false => next(self, cx),
        })
    }

    /// Makes the claims that replicas lack.
    fn make_claims(self: Arc<Self>, cx: &Cx<'_>, round: Round) -> Plan {
        let (mut writes, mut of) = (Vec::new(), Vec::new());
        for replica in &round.unclaimed {
            for claim in missing_claims(cx, &self, replica.ordinal) {
                writes.push(create_claim(&self.set, &replica.pod, &claim));
                of.push((replica.ordinal, name(&claim).to_owned()));
            }
        }
        if writes.is_empty() {
            return self.make_pods(cx, round, &BTreeMap::new(), false);
        }
        // Of one pod all claims are tried, as upstream does.
        let plan = match self.is_ordered {
            true => Plan::parallel(writes),
            false => Plan::slow_start(writes),
        };
        plan.then(move |cx, outcomes| {
            let mut errors = BTreeMap::<i32, Vec<String>>::new();
            for ((ordinal, claim), outcome) in of.into_iter().zip(outcomes) {
                if let Some(failure) = outcome.failure() {
                    let error = format!("failed to create PVC {claim}: {}", failure.message);
                    errors.entry(ordinal).or_default().push(error);
                }
            }
            self.make_pods(cx, round, &errors, is_any_failed(outcomes))
        })
    }

    /// Makes the pods that have all their claims.
    fn make_pods(
        self: Arc<Self>,
        cx: &Cx<'_>,
        round: Round,
        errors: &BTreeMap<i32, Vec<String>>,
        is_failed: bool,
    ) -> Plan {
        let (mut writes, mut events, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for replica in &round.unclaimed {
            let mut errors = errors.get(&replica.ordinal).cloned().unwrap_or_default();
            let wanted = claims(&self.set, replica.ordinal);
            let known: Vec<_> = wanted.iter().filter_map(|of| known_claim(cx, of)).collect();
            let going = known.iter().filter(|claim| is_deleting(&***claim));
            let going = going.map(|claim| format!("pvc {} is being deleted", name(&**claim)));
            let going: Vec<String> = going.collect();
            held.extend(going.clone());
            errors.extend(going);
            if replica.exists {
                continue;
            }
            if !errors.is_empty() {
                let error = match errors.as_slice() {
                    [error] => error.clone(),
                    errors => format!("[{}]", errors.join(", ")),
                };
                let pod = name(&*replica.pod);
                events.push(pod_event(Verb::Create, &self.set, pod, Some(&error)));
            } else if known.len() == wanted.len() {
                writes.push(create_pod(&self.set, &replica.pod));
            }
        }
        let error = (!held.is_empty()).then(|| held.join(", "));
        let is_failed = is_failed || error.is_some();
        let mut plan = match writes.is_empty() {
            true => self.own_claims(cx, &round, is_failed),
            false => plan_of(self.is_ordered, writes).then(move |cx, outcomes| {
                self.own_claims(cx, &round, is_failed || is_any_failed(outcomes))
            }),
        };
        plan.error = plan.error.or(error);
        plan.events(events)
    }

    /// Gives the claims of new pods the owners that the policy wants.
    fn own_claims(self: Arc<Self>, cx: &Cx<'_>, round: &Round, is_failed: bool) -> Plan {
        if is_failed {
            return self.finish(cx);
        }
        let (mut writes, mut events) = (Vec::new(), Vec::new());
        for replica in &round.unclaimed {
            let (more, odd) = update_claims(cx.cluster, &self.set, &replica.pod);
            writes.extend(more);
            events.extend(odd);
        }
        let is_last = round.is_last;
        let next = move |work: Arc<Self>, cx: &Cx<'_>| match is_last {
            true => work.finish(cx),
            false => work.release_claims(cx),
        };
        self.step(cx, writes, next).events(events)
    }

    /// Gives the claims of condemned pods the owners that the policy wants.
    fn release_claims(self: Arc<Self>, cx: &Cx<'_>) -> Plan {
        let (mut writes, mut events) = (Vec::new(), Vec::new());
        for pod in &self.condemned {
            let (more, odd) = update_claims(cx.cluster, &self.update_set, pod);
            if !more.is_empty() {
                events.extend(odd);
            }
            writes.extend(more);
        }
        self.step(cx, writes, Self::scale_down).events(events)
    }

    /// Deletes condemned pods. Upstream's `processCondemned`.
    fn scale_down(self: Arc<Self>, cx: &Cx<'_>) -> Plan {
        let doomed = self.condemned.iter().filter(|pod| !is_deleting(&***pod));
        if !self.is_ordered {
            let writes = doomed.map(|pod| delete_pod(&self.set, pod)).collect();
            return self.step(cx, writes, Self::roll);
        }
        let Some(highest) = self.condemned.first() else {
            return self.roll(cx);
        };
        let available = |pod: &Pod| is_pod_available(pod, self.min_ready_s, cx.now);
        let is_good = is_running_and_ready(highest) && available(highest);
        let may_go =
            !is_deleting(&**highest) && (is_good || self.is_first_unavailable(cx, highest));
        let writes = may_go.then(|| delete_pod(&self.set, highest));
        let writes = writes.into_iter().collect();
        self.step(cx, writes, |work, cx| work.finish(cx))
    }

    /// Whether no other pod of a lower ordinal is unavailable.
    fn is_first_unavailable(&self, cx: &Cx<'_>, pod: &Arc<Pod>) -> bool {
        let replicas = self.replicas.iter().map(|replica| &replica.pod);
        let mut all = replicas.chain(self.condemned.iter().rev());
        let first = all.find(|pod| self.is_unavailable(cx, pod));
        first.is_some_and(|first| Arc::ptr_eq(first, pod))
    }

    fn is_unavailable(&self, cx: &Cx<'_>, pod: &Pod) -> bool {
        !is_pod_available(pod, self.min_ready_s, cx.now) || is_deleting(pod)
    }

    /// Deletes pods of another revision, from the highest ordinal: one at a time, unless the set says how many
    /// may be unavailable.
    fn roll(self: Arc<Self>, cx: &Cx<'_>) -> Plan {
        let targets = self.replicas.iter().skip(self.partition).rev();
        let targets = targets.filter(|_| self.is_rolling_update);
        let doomed: Vec<&Replica> = match self.max_unavailable {
            Some(max) => {
                let is_down = |replica: &&Replica| self.is_unavailable(cx, &replica.pod);
                let down = self.replicas.iter().filter(is_down).count();
                let old = targets.filter(|replica| self.is_outdated(replica));
                old.take(max.saturating_sub(down)).collect()
            }
            None => self.next_outdated(cx, targets).into_iter().collect(),
        };
        let writes = doomed.iter();
        let writes: Vec<Write> = writes
            .map(|replica| delete_pod(&self.set, &replica.pod))
            .collect();
        if writes.is_empty() {
            return self.finish(cx);
        }
        Plan::sequence(writes).then(move |cx, _| self.finish(cx))
    }

    /// Whether a pod is of another revision, and nobody has deleted it yet.
    fn is_outdated(&self, replica: &Replica) -> bool {
        let is_old = pod_revision(&replica.pod) != name(&*self.versions.update);
        replica.exists && is_old && !is_deleting(&*replica.pod)
    }

    /// The first of these pods that is of another revision, unless one before it is not available.
    fn next_outdated<'a>(
        &self,
        cx: &Cx<'_>,
        mut targets: impl Iterator<Item = &'a Replica>,
    ) -> Option<&'a Replica> {
        let is_next =
            |replica: &&Replica| self.is_outdated(replica) || self.is_unavailable(cx, &replica.pod);
        targets.find(is_next).filter(|next| self.is_outdated(next))
    }

    /// Writes the status as it is now, and deletes revisions that nobody needs.
    fn finish(&self, cx: &Cx<'_>) -> Plan {
        let pods = members(cx, &self.set);
        let status = status(&self.set, &pods, &self.versions, cx.now);
        let mut live = [&self.versions.current, &self.versions.update]
            .map(|revision| name(&**revision))
            .into_iter()
            .collect::<BTreeSet<_>>();
        live.extend(pods.iter().map(|pod| pod_revision(pod)));
        let revisions = history::list(cx.cluster, &*self.set, &selector(&self.set));
        let mut writes = truncate(&self.set, &revisions, &live);
        let is_waiting = status.ready_replicas != status.available_replicas;
        if is_news(&self.set, &status) {
            let mut set = StatefulSet::clone(&self.set);
            set.status = Some(status);
            writes.insert(0, Write::update_status(&set));
        }
        let plan = Plan::parallel(writes);
        if self.min_ready_s <= 0 || !is_waiting {
            return plan;
        }
        let pods = pods.iter().map(|pod| &**pod);
        let usual = u64::try_from(self.min_ready_s).unwrap_or(1);
        let next = next_availability(pods, self.min_ready_s, cx.now);
        plan.requeue_after(next.unwrap_or(Duration::from_secs(usual)))
    }
}

/// How many of the first ordinals are made as the current revision has them. Upstream's
/// `newVersionedStatefulSetPod`.
fn old_ordinals(set: &StatefulSet, spec: &StatefulSetSpec) -> i32 {
    match partition(spec) {
        Some(partition) => partition,
        None if is_rolling_update(spec) => {
            let status = set.status.as_ref();
            status
                .and_then(|status| status.current_replicas)
                .unwrap_or(0)
        }
        None => 0,
    }
}
