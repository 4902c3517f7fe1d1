//! Where claims can get their volumes from: free volumes, and room for new ones.

use super::by_label::{ByLabel, needs_of_node_selector, needs_of_selector};
use crate::model::{CsiStorageCapacity, PersistentVolume};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Lookup, Quantity, Sym, sym};

/// Free volumes of one class, smallest first, by the labels of the nodes that reach them.
pub type FreeVolumes = ByLabel<(Quantity, Sym), Arc<PersistentVolume>>;

/// The capacities of one class by the largest volume that fits, in bytes.
pub type Capacities = ByLabel<(i64, Sym, Sym), Arc<CsiStorageCapacity>>;

/// Volumes by who may have them, and capacities.
#[derive(Clone, Debug, Default)]
pub(super) struct Supply {
    /// Volumes that anybody may claim, by class.
    free: Lookup<Sym, FreeVolumes>,
    /// Volumes that refer to a claim, by (namespace, claim, volume).
    claimed: BTreeMap<(Sym, Sym, Sym), Arc<PersistentVolume>>,
    /// Capacities by class.
    capacities: Lookup<Sym, Capacities>,
}

impl Supply {
    pub(super) fn free(&self, class: Sym) -> Option<&FreeVolumes> {
        self.free.get(&class)
    }

    pub(super) fn claimed(
        &self,
        namespace: Sym,
        claim: Sym,
    ) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.claimed
            .range((namespace, claim, Sym::EMPTY)..)
            .take_while(move |((ns, name, _), _)| (*ns, *name) == (namespace, claim))
            .map(|(_, volume)| volume)
    }

    pub(super) fn capacities(&self, class: Sym) -> Option<&Capacities> {
        self.capacities.get(&class)
    }

    pub(super) fn add_volume(&mut self, volume: &Arc<PersistentVolume>) {
        if let Some(claim) = &volume.claim_ref {
            let key = (claim.namespace, claim.name, volume.name);
            self.claimed.insert(key, volume.clone());
        } else if is_free(volume) {
            let of_class = self
                .free
                .or_insert_with(volume.storage_class, FreeVolumes::default);
            let needs = needs_of_node_selector(volume.node_affinity.as_ref());
            of_class.insert(needs, (volume.capacity, volume.name), volume.clone());
        }
    }

    pub(super) fn remove_volume(&mut self, volume: &PersistentVolume) {
        if let Some(claim) = &volume.claim_ref {
            let key = (claim.namespace, claim.name, volume.name);
            self.claimed.remove(&key);
        } else if let Some(of_class) = self.free.get_mut(&volume.storage_class)
            && is_free(volume)
        {
            let needs = needs_of_node_selector(volume.node_affinity.as_ref());
            of_class.remove(needs, &(volume.capacity, volume.name));
            if of_class.is_empty() {
                self.free.remove(&volume.storage_class);
            }
        }
    }

    pub(super) fn add_capacity(&mut self, capacity: &Arc<CsiStorageCapacity>) {
        if let Some(limit) = capacity.volume_limit() {
            let of_class = self
                .capacities
                .or_insert_with(capacity.storage_class, Capacities::default);
            let key = (limit, capacity.namespace, capacity.name);
            let needs = needs_of_selector(&capacity.node_topology);
            of_class.insert(needs, key, capacity.clone());
        }
    }

    pub(super) fn remove_capacity(&mut self, capacity: &CsiStorageCapacity) {
        if let Some(limit) = capacity.volume_limit()
            && let Some(of_class) = self.capacities.get_mut(&capacity.storage_class)
        {
            let key = (limit, capacity.namespace, capacity.name);
            of_class.remove(needs_of_selector(&capacity.node_topology), &key);
            if of_class.is_empty() {
                self.capacities.remove(&capacity.storage_class);
            }
        }
    }
}

/// Whether some claim may get the volume that nobody has claimed.
fn is_free(volume: &PersistentVolume) -> bool {
    volume.phase == sym::AVAILABLE && !volume.terminating
}
