//! Which existing volume a claim gets. Upstream's `FindMatchingVolume`
//! (`component-helpers/storage/volume/pv_helpers.go`).

use crate::Snapshot;
use crate::model::{Labels, NodeSelector, PersistentVolume, PersistentVolumeClaim, Selector};
use std::sync::Arc;
use stowplan_base::{Names, Quantity, Sym};

/// The volumes that a claim could get, as far as no node decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// Volumes that already refer to the claim: the first of them gets it or nobody does.
    reserved: Vec<Arc<PersistentVolume>>,
    /// Free volumes that need no particular label of a node, smallest first; no more of them than
    /// can matter.
    free: Vec<Arc<PersistentVolume>>,
}

impl Candidates {
    /// The candidates of `claim`, one of `claims` of its pod, or why it cannot have any.
    pub(super) fn of(
        cluster: &Snapshot,
        claim: &PersistentVolumeClaim,
        claims: usize,
    ) -> Result<Self, Arc<str>> {
        if let Some(Err(error)) = &claim.selector {
            return Err(selector_error(cluster, claim, error));
        }
        let reserved = cluster
            .volumes_claimed_by(claim.namespace, claim.name)
            .filter(|volume| {
                volume.storage_class == claim.storage_class
                    && could_hold(volume, claim)
                    && refers_to(volume, claim)
            });
        let mut candidates = Self {
            reserved: reserved.cloned().collect(),
            free: Vec::new(),
        };
        if let Some(free) = cluster.free_volumes(claim.storage_class) {
            let mut reachable_from_everywhere = 0;
            for (_, volume) in free.unlabelled().range(least_of(claim)..) {
                if could_take(volume, claim, &cluster.names) {
                    candidates.free.push(volume.clone());
                    reachable_from_everywhere += usize::from(volume.node_affinity.is_none());
                    if reachable_from_everywhere == claims {
                        // The pod's other claims cannot take them all.
                        break;
                    }
                }
            }
        }
        Ok(candidates)
    }

    /// Those that need no particular label of a node, and those that refer to the claim.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.reserved.iter().chain(&self.free)
    }

    /// The volume that `claim` gets on a node with these labels, if none of `taken`.
    pub(super) fn choose<'a>(
        &'a self,
        cluster: &'a Snapshot,
        claim: &PersistentVolumeClaim,
        node_labels: &'a Labels,
        taken: impl Fn(Sym) -> bool,
    ) -> Option<&'a Arc<PersistentVolume>> {
        let names = &cluster.names;
        let reachable = |volume: &PersistentVolume| {
            node_affinity_matches(volume.node_affinity.as_ref(), node_labels, names)
        };
        if let Some(reserved) = self.reserved.iter().find(|volume| !taken(volume.name)) {
            return reachable(reserved).then_some(reserved);
        }
        let available = |volume: &PersistentVolume| !taken(volume.name) && reachable(volume);
        let anywhere = self.free.iter().find(|volume| available(volume));
        let Some(free) = cluster.free_volumes(claim.storage_class) else {
            return anywhere;
        };
        let nearby = free.labelled(node_labels).filter_map(|volumes| {
            let mut volumes = volumes.range(least_of(claim)..).map(|(_, volume)| volume);
            volumes.find(|volume| available(volume) && could_take(volume, claim, names))
        });
        anywhere
            .into_iter()
            .chain(nearby)
            .min_by_key(|volume| (volume.capacity, volume.name))
    }
}

/// The first volume that is large enough, in the order of free volumes.
fn least_of(claim: &PersistentVolumeClaim) -> (Quantity, Sym) {
    (claim.request.unwrap_or(Quantity::ZERO), Sym::EMPTY)
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

/// What a free volume of the claim's class must satisfy.
fn could_take(volume: &PersistentVolume, claim: &PersistentVolumeClaim, names: &Names) -> bool {
    let modes = &volume.access_modes;
    let selects = |selector: &Selector| selector.matches(&volume.labels, names);
    could_hold(volume, claim)
        && match &claim.selector {
            None => true,
            Some(Ok(selector)) => selects(selector),
            Some(Err(_)) => false,
        }
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
