//! Reservations that end with their pods, and claims that go with theirs. Upstream's `syncClaim`.

use super::is_done;
use crate::common::{controller_of, finalizers, is_deleting, uid};
use crate::{Cx, Key, Kind, Outcome, Plan, Write};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimConsumerReference};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Holds a claim for as long as it is allocated.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

pub(super) fn sync(cx: &Cx<'_>, key: &Key) -> Plan {
    let found = cx.cluster.get::<ResourceClaim>(&key.namespace, &key.name);
    let Some(claim) = found else {
        return Plan::nothing();
    };
    // A pod that is not known may be new: the server has to say that it is gone.
    let unknown: Vec<ResourceClaimConsumerReference> = consumers(&claim)
        .iter()
        .filter(|one| is_pod(one))
        .filter(|one| cx.cluster.get::<Pod>(&key.namespace, &one.name).is_none())
        .cloned()
        .collect();
    if unknown.is_empty() {
        return release(cx, &claim, &BTreeSet::new());
    }
    let path = |one: &ResourceClaimConsumerReference| {
        Kind::of::<Pod>().path_of(&Key::new(&key.namespace, &one.name))
    };
    Plan::read(unknown.iter().map(path).collect(), move |cx, answers| {
        let mut gone = BTreeSet::new();
        for (one, answer) in unknown.iter().zip(answers) {
            match answer {
                Ok(pod) if pod["metadata"]["uid"] == one.uid => {}
                Err(failure) if failure.code != 404 => return Plan::retry(&failure.message),
                Ok(_) | Err(_) => drop(gone.insert(one.uid.clone())),
            }
        }
        release(cx, &claim, &gone)
    })
}

fn consumers(claim: &ResourceClaim) -> &[ResourceClaimConsumerReference] {
    let status = claim.status.as_ref();
    status
        .and_then(|status| status.reserved_for.as_deref())
        .unwrap_or_default()
}

fn is_pod(one: &ResourceClaimConsumerReference) -> bool {
    one.resource == "pods" && one.api_group.as_deref().unwrap_or_default().is_empty()
}

/// Takes the reservations of pods away that will not run any more; the last one takes the allocation with
/// it.
fn release(cx: &Cx<'_>, claim: &Arc<ResourceClaim>, gone: &BTreeSet<String>) -> Plan {
    let namespace = crate::common::namespace(&**claim);
    let stays = |one: &&ResourceClaimConsumerReference| {
        if !is_pod(one) {
            return true;
        }
        match cx.cluster.get::<Pod>(namespace, &one.name) {
            Some(pod) => uid(&*pod) == one.uid && !is_done(&pod),
            None => !gone.contains(&one.uid),
        }
    };
    let remaining: Vec<_> = consumers(claim).iter().filter(stays).cloned().collect();
    let is_held = finalizers(&**claim).iter().any(|held| held == FINALIZER);
    let is_unused = remaining.is_empty();
    let (seen, is_allocated) = (claim.clone(), is_allocated(claim));
    if remaining.len() < consumers(claim).len() {
        let mut changed = ResourceClaim::clone(claim);
        let status = changed.status.get_or_insert_default();
        status.reserved_for = (!is_unused).then_some(remaining);
        if is_unused && is_held {
            status.allocation = None;
        }
        return Plan::write(Write::update_status(&changed)).then(move |cx, outcomes| {
            let answer = outcomes.first().and_then(Outcome::object::<ResourceClaim>);
            match answer {
                Some(claim) => unhold(cx, claim, is_unused),
                None => Plan::nothing(),
            }
        });
    }
    if is_held && is_deleting(&**claim) && is_unused {
        if !is_allocated {
            return unhold(cx, seen, true);
        }
        let mut changed = ResourceClaim::clone(claim);
        changed.status.get_or_insert_default().allocation = None;
        return Plan::write(Write::update_status(&changed)).then(|cx, outcomes| {
            let answer = outcomes.first().and_then(Outcome::object::<ResourceClaim>);
            answer.map_or_else(Plan::nothing, |claim| unhold(cx, claim, true))
        });
    }
    match is_unused {
        true => collect(cx, claim),
        false => Plan::nothing(),
    }
}

fn is_allocated(claim: &ResourceClaim) -> bool {
    let status = claim.status.as_ref();
    status.is_some_and(|status| status.allocation.is_some())
}

/// Lets go of a claim that is not allocated any more.
fn unhold(cx: &Cx<'_>, claim: Arc<ResourceClaim>, is_unused: bool) -> Plan {
    let is_held = finalizers(&*claim).iter().any(|held| held == FINALIZER);
    if !is_held || is_allocated(&claim) {
        return match is_unused {
            true => collect(cx, &claim),
            false => Plan::nothing(),
        };
    }
    let mut changed = ResourceClaim::clone(&claim);
    let held = changed.metadata.finalizers.get_or_insert_default();
    held.retain(|held| held != FINALIZER);
    Plan::write(Write::update(&changed)).then(move |cx, outcomes| {
        let is_done = outcomes.iter().all(Outcome::is_done);
        match is_done && is_unused && !is_deleting(&*claim) {
            true => collect(cx, &claim),
            false => Plan::nothing(),
        }
    })
}

/// Deletes a claim that was made for a pod that will not run any more. If the pod is gone, the garbage
/// collector does.
fn collect(cx: &Cx<'_>, claim: &ResourceClaim) -> Plan {
    let owner = controller_of(claim);
    let Some(owner) = owner.filter(|owner| owner.kind == "Pod" && owner.api_version == "v1") else {
        return Plan::nothing();
    };
    let namespace = crate::common::namespace(claim);
    let Some(pod) = cx.cluster.get::<Pod>(namespace, &owner.name) else {
        return Plan::nothing();
    };
    match (uid(&*pod) != owner.uid || is_done(&pod)) && !is_deleting(claim) {
        true => Plan::write(Write::delete(claim)),
        false => Plan::nothing(),
    }
}
