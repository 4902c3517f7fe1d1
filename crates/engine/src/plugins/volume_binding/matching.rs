//! Which existing volume a claim gets. Upstream's `FindMatchingVolume`
//! (`component-helpers/storage/volume/pv_helpers.go`).

use crate::Snapshot;
use crate::model::{Labels, NodeSelector, PersistentVolume, PersistentVolumeClaim, Selector};
use std::sync::Arc;
use stowplan_base::{Names, Quantity, Sym, sym};

/// The volumes that a claim could get, as far as no node decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// Volumes that already refer to the claim: the first of them gets it or nobody does.
    reserved: Vec<Arc<PersistentVolume>>,
    /// Free volumes, smallest first.
    free: Vec<Arc<PersistentVolume>>,
}

impl Candidates {
    /// The candidates of `claim`, or why it cannot have any.
    pub(super) fn of(cluster: &Snapshot, claim: &PersistentVolumeClaim) -> Result<Self, Arc<str>> {
        let selector = match &claim.selector {
            None => None,
            Some(Ok(selector)) => Some(selector),
            Some(Err(error)) => return Err(selector_error(cluster, claim, error)),
        };
        let mut candidates = Self::default();
        for volume in cluster.volumes.iter() {
            if volume.storage_class != claim.storage_class || !could_hold(volume, claim) {
                continue;
            }
            if volume.claim_ref.is_none() {
                if is_free(volume, claim, selector, &cluster.names) {
                    candidates.free.push(volume.clone());
                }
            } else if refers_to(volume, claim) {
                candidates.reserved.push(volume.clone());
            }
        }
        candidates.free.sort_by_key(|volume| volume.capacity);
        Ok(candidates)
    }

    /// The volume that the claim gets on a node with these labels, if none of `taken`.
    pub(super) fn choose(
        &self,
        node_labels: &Labels,
        names: &Names,
        taken: impl Fn(Sym) -> bool,
    ) -> Option<&Arc<PersistentVolume>> {
        let reachable = |volume: &PersistentVolume| {
            node_affinity_matches(volume.node_affinity.as_ref(), node_labels, names)
        };
        if let Some(reserved) = self.reserved.iter().find(|volume| !taken(volume.name)) {
            return reachable(reserved).then_some(reserved);
        }
        self.free
            .iter()
            .find(|volume| !taken(volume.name) && reachable(volume))
    }
}

fn selector_error(cluster: &Snapshot, claim: &PersistentVolumeClaim, error: &str) -> Arc<str> {
    format!(
        "error creating internal label selector for claim: {}/{}: {error}",
        cluster.names.text(claim.namespace),
        cluster.names.text(claim.name)
    )
    .into()
}

/// What even a volume that refers to the claim must satisfy.
fn could_hold(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.capacity >= claim.request.unwrap_or(Quantity::ZERO)
        && volume.volume_mode == claim.volume_mode
        && volume.attributes_class == claim.attributes_class
        && !volume.terminating
}

/// What a volume without a claim must satisfy on top.
fn is_free(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
    selector: Option<&Selector>,
    names: &Names,
) -> bool {
    let modes = &volume.access_modes;
    volume.phase == sym::AVAILABLE
        && selector.is_none_or(|selector| selector.matches(&volume.labels, names))
        && claim.access_modes.iter().all(|mode| modes.contains(mode))
}

/// Upstream's `IsVolumeBoundToClaim`: a reference without uid will do.
pub(super) fn refers_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.claim_ref.as_ref().is_some_and(|reference| {
        reference.name == claim.name
            && reference.namespace == claim.namespace
            && (reference.uid.is_empty() || reference.uid == claim.uid)
    })
}

/// Upstream's `CheckNodeAffinity`: a volume looks at the node's labels alone, so conditions on
/// fields hold whatever they say.
pub(super) fn node_affinity_matches(
    affinity: Option<&NodeSelector>,
    node_labels: &Labels,
    names: &Names,
) -> bool {
    affinity.is_none_or(|affinity| {
        affinity.terms.iter().any(|term| {
            !term.is_empty()
                && term.error.is_none()
                && term
                    .expressions
                    .iter()
                    .all(|r| r.matches(node_labels, names))
        })
    })
}
