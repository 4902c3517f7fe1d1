//! Who owns the claims of a set: `persistentVolumeClaimRetentionPolicy`.
//!
//! | whenScaled | whenDeleted | owner of a claim |
//! |---|---|---|
//! | Retain | Retain | nobody |
//! | Retain | Delete | the set |
//! | Delete | Retain | the pod, once it is scaled down |
//! | Delete | Delete | the set; the pod, once it is scaled down |

use super::pod::{claim_name, claim_templates, ordinal, ordinals};
use crate::common::{controller_ref, name, namespace, uid};
use crate::{Cluster, Object};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::sync::Arc;

/// What happens to claims that are not needed any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) deletes_when_scaled: bool,
    pub(super) deletes_when_deleted: bool,
}

impl Policy {
    /// Nothing happens unless the set says so.
    pub(super) fn of(set: &StatefulSet) -> Self {
        let spec = set.spec.as_ref();
        let policy = spec.and_then(|spec| spec.persistent_volume_claim_retention_policy.as_ref());
        let deletes = |word: Option<&String>| word.is_some_and(|word| word == "Delete");
        Self {
            deletes_when_scaled: deletes(policy.and_then(|policy| policy.when_scaled.as_ref())),
            deletes_when_deleted: deletes(policy.and_then(|policy| policy.when_deleted.as_ref())),
        }
    }

    fn retains(self) -> bool {
        !self.deletes_when_scaled && !self.deletes_when_deleted
    }
}

fn owners(claim: &PersistentVolumeClaim) -> &[OwnerReference] {
    let owners = claim.metadata.owner_references.as_deref();
    owners.unwrap_or_default()
}

fn names<O: Object>(reference: &OwnerReference, owner: &O) -> bool {
    reference.api_version == O::API_VERSION
        && reference.kind == O::KIND
        && reference.name == name(owner)
}

fn has_owner<O: Object>(claim: &PersistentVolumeClaim, owner: &O) -> bool {
    owners(claim).iter().any(|to| to.uid == uid(owner))
}

/// Whether a claim belongs to an earlier object of the same name. Upstream's `hasStaleOwnerRef`.
pub(super) fn has_stale_owner<O: Object>(claim: &PersistentVolumeClaim, owner: &O) -> bool {
    let mut named = owners(claim).iter().filter(|to| names(to, owner));
    named.next().is_some_and(|to| to.uid != uid(owner))
}

/// Whether somebody else controls a claim that the policy is about. Upstream's `hasUnexpectedController`.
pub(super) fn has_unexpected_controller(
    claim: &PersistentVolumeClaim,
    set: &StatefulSet,
    pod: &Pod,
) -> bool {
    let is_unexpected = |to: &OwnerReference| {
        if names(to, set) {
            to.uid != uid(set)
        } else if names(to, pod) {
            to.uid != uid(pod)
        } else {
            to.controller == Some(true)
        }
    };
    !Policy::of(set).retains() && owners(claim).iter().any(is_unexpected)
}

/// Whether the set and the pod should own a claim.
fn wanted_owners(set: &StatefulSet, pod: &Pod) -> (bool, bool) {
    let policy = Policy::of(set);
    let range = set.spec.as_ref().map(ordinals).unwrap_or_default();
    let is_scaled_down = ordinal(pod).is_none_or(|ordinal| !range.contains(&ordinal));
    let pod = policy.deletes_when_scaled && is_scaled_down;
    (policy.deletes_when_deleted && !pod, pod)
}

/// Upstream's `isClaimOwnerUpToDate`.
pub(super) fn is_owner_up_to_date(
    claim: &PersistentVolumeClaim,
    set: &StatefulSet,
    pod: &Pod,
) -> bool {
    // An earlier set or pod of this name has it. The garbage collector decides.
    if has_stale_owner(claim, set) || has_stale_owner(claim, pod) {
        return true;
    }
    let has = (has_owner(claim, set), has_owner(claim, pod));
    if has_unexpected_controller(claim, set, pod) {
        return has == (false, false);
    }
    let is_mere_owner = |to: &OwnerReference| {
        (to.uid == uid(set) || to.uid == uid(pod)) && to.controller != Some(true)
    };
    !owners(claim).iter().any(is_mere_owner) && has == wanted_owners(set, pod)
}

/// A claim with the owners that the policy wants. Upstream's `updateClaimOwnerRefForSetAndPod`.
pub(super) fn with_owners(
    claim: &PersistentVolumeClaim,
    set: &StatefulSet,
    pod: &Pod,
) -> PersistentVolumeClaim {
    let is_foreign = has_unexpected_controller(claim, set, pod);
    let mut claim = claim.clone();
    let mut refs = claim.metadata.owner_references.take().unwrap_or_default();
    refs.retain(|to| !names(to, set) && !names(to, pod));
    if !is_foreign {
        let (by_set, by_pod) = wanted_owners(set, pod);
        let has = |refs: &[OwnerReference], uid: &str| refs.iter().any(|to| to.uid == uid);
        if by_pod && !has(&refs, uid(pod)) {
            refs.push(controller_ref(pod));
        }
        if by_set && !has(&refs, uid(set)) {
            refs.push(controller_ref(set));
        }
    }
    claim.metadata.owner_references = Some(refs);
    claim
}

/// The claims of a pod that are there.
pub(super) fn claims_of(
    cluster: &Cluster,
    set: &StatefulSet,
    pod: &Pod,
) -> Vec<Arc<PersistentVolumeClaim>> {
    let Some(ordinal) = ordinal(pod) else {
        return Vec::new();
    };
    let templates = claim_templates(set).iter();
    let claim = |template| cluster.get(namespace(set), &claim_name(set, template, ordinal));
    templates.filter_map(claim).collect()
}

/// Whether the claims that a pod to be made would get belong to an earlier pod and go away with it.
/// Upstream's `PodClaimIsStale`.
pub(super) fn has_stale_claim(cluster: &Cluster, set: &StatefulSet, pod: &Pod) -> bool {
    let mut claims = claims_of(cluster, set, pod).into_iter();
    Policy::of(set).deletes_when_scaled && claims.any(|claim| has_stale_owner(&claim, pod))
}
