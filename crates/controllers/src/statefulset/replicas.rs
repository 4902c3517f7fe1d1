//! What has to be done about the pods of the ordinals that a set should have. Upstream's `processReplica`.

use super::events::{create_claim, delete_pod, update_claims, update_pod};
use super::pod::{claims, identify, identity_matches, mount_claims, storage_matches};
use super::retention::{claims_of, has_stale_claim, is_owner_up_to_date};
use super::status::is_running_and_ready;
use super::work::{Replica, Work};
use crate::common::{is_deleting, is_pod_available, is_pod_finished, name, namespace, pod_phase};
use crate::{Cx, Event, Write};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use std::sync::Arc;

/// What has to be done about replicas.
#[derive(Default)]
pub(super) struct Round {
    /// Deletions of pods that are finished, changes to those that are wrong.
    pub(super) writes: Vec<Write>,
    /// What is odd.
    pub(super) events: Vec<Event>,
    /// Replicas that are to be made, and those that are there and may lack claims.
    pub(super) unclaimed: Vec<Replica>,
    /// Whether nothing else may be done before this has come to its end.
    pub(super) is_last: bool,
}

/// Looks at each replica in order.
pub(super) fn round(cx: &Cx<'_>, work: &Work) -> Round {
    let mut round = Round::default();
    for replica in &work.replicas {
        let is_good = look(cx, work, replica, &mut round);
        if !is_good && work.is_ordered {
            round.is_last = true;
            break;
        }
    }
    round
}

/// Returns whether those that come later may be looked at.
fn look(cx: &Cx<'_>, work: &Work, replica: &Replica, round: &mut Round) -> bool {
    let pod = &replica.pod;
    if !replica.exists {
        if !has_stale_claim(cx.cluster, &work.set, pod) {
            round.unclaimed.push(replica.clone());
        }
        return false;
    }
    if is_pod_finished(pod) {
        // Whatever its outcome, it is made again once it is gone.
        if !is_deleting(&**pod) {
            round.writes.push(delete_pod(&work.set, pod));
        }
        return false;
    }
    if pod_phase(pod) == "Pending" {
        round.unclaimed.push(replica.clone());
    }
    let is_available = is_pod_available(pod, work.min_ready_s, cx.now);
    let is_good = !is_deleting(&**pod) && is_running_and_ready(pod) && is_available;
    if is_good || !work.is_ordered {
        put_right(cx, work, pod, round);
    }
    is_good
}

/// Gives a pod the labels, volumes and owners of claims that it should have. Upstream's
/// `UpdateStatefulPod`.
fn put_right(cx: &Cx<'_>, work: &Work, pod: &Arc<Pod>, round: &mut Round) {
    let set = &work.update_set;
    let has_identity = identity_matches(set, pod);
    let has_storage = storage_matches(set, pod);
    let claims = claims_of(cx.cluster, set, pod);
    let is_owned = claims
        .iter()
        .all(|claim| is_owner_up_to_date(claim, set, pod));
    if has_identity && has_storage && is_owned {
        return;
    }
    let Some(ordinal) = super::pod::ordinal(pod) else {
        return;
    };
    let mut changed = Pod::clone(pod);
    if !has_identity {
        identify(set, ordinal, &mut changed);
    }
    if !has_storage {
        mount_claims(set, ordinal, changed.spec.get_or_insert_default());
        let missing = missing_claims(cx, work, ordinal);
        let create = |claim: &PersistentVolumeClaim| create_claim(set, pod, claim);
        round.writes.extend(missing.iter().map(create));
    }
    let (writes, events) = update_claims(cx.cluster, set, pod);
    round.writes.extend(writes);
    round.events.extend(events);
    round.writes.push(update_pod(set, &changed));
}

/// The claims of an ordinal that are not there.
pub(super) fn missing_claims(cx: &Cx<'_>, work: &Work, ordinal: i32) -> Vec<PersistentVolumeClaim> {
    let mut wanted = claims(&work.set, ordinal);
    wanted.retain(|claim| known_claim(cx, claim).is_none());
    wanted
}

/// A claim as it is, if it is there.
pub(super) fn known_claim(
    cx: &Cx<'_>,
    claim: &PersistentVolumeClaim,
) -> Option<Arc<PersistentVolumeClaim>> {
    cx.cluster.get(namespace(claim), name(claim))
}
