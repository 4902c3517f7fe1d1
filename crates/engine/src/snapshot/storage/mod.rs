//! Volumes, claims and attachments by what rules look them up by, kept as objects and pods come
//! and go.

mod attached;
mod attachments;
mod by_label;
mod claim_users;
mod room;
mod supply;
#[cfg(test)]
mod tests;

pub use attached::Attached;
pub(crate) use attached::{AttachedVolume, Uncounted, attachable_volumes, volume_limit};
pub use supply::{Capacities, FreeVolumes};

use super::Snapshot;
use crate::NodeInfo;
use crate::cast::narrow;
use crate::model::{
    CsiDriverLimit, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, Pod,
    StorageClass, VolumeAttachment,
};
use attachments::Attachments;
use claim_users::ClaimUsers;
use room::Room;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::Sym;
use supply::Supply;

/// What the snapshot keeps about storage beside the objects themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    users: ClaimUsers,
    supply: Supply,
    attachments: Attachments,
    /// The claims that name a volume, by (volume, namespace, claim).
    claims_of_volume: BTreeSet<(Sym, Sym, Sym)>,
    room: Room,
    /// Nodes with limits whose volumes cannot be counted.
    uncounted: BTreeSet<Sym>,
    /// Nodes with pods whose disks may be in the way of others.
    with_disks: BTreeSet<Sym>,
}

impl Snapshot {
    /// Whether a pod on some node names the claim. Generic ephemeral volumes do not count.
    pub fn is_claim_in_use(&self, namespace: Sym, claim: Sym) -> bool {
        self.storage.users.is_named(namespace, claim)
    }

    /// The volumes of a class that are available and that nobody has claimed.
    pub fn free_volumes(&self, class: Sym) -> Option<&FreeVolumes> {
        self.storage.supply.free(class)
    }

    /// The volumes that refer to a claim of this name, in symbol order.
    pub fn volumes_claimed_by(
        &self,
        namespace: Sym,
        claim: Sym,
    ) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.storage.supply.claimed(namespace, claim)
    }

    /// The capacities of a class that say how much there is.
    pub fn capacities(&self, class: Sym) -> Option<&Capacities> {
        self.storage.supply.capacities(class)
    }

    /// Positions of the nodes with room for fewer volumes of a driver.
    pub(crate) fn nodes_with_less_room(
        &self,
        driver: Sym,
        wanted: i64,
    ) -> impl Iterator<Item = u32> {
        self.storage.room.less(driver, wanted)
    }

    /// Positions of the nodes with limits whose volumes cannot be counted.
    pub(crate) fn nodes_with_uncounted_volumes(&self) -> impl Iterator<Item = u32> {
        self.positions(&self.storage.uncounted)
    }

    /// Positions of the nodes with pods whose disks may be in the way of others.
    pub(crate) fn nodes_with_disks(&self) -> impl Iterator<Item = u32> {
        self.positions(&self.storage.with_disks)
    }

    fn positions<'a>(&'a self, nodes: &'a BTreeSet<Sym>) -> impl Iterator<Item = u32> + 'a {
        nodes
            .iter()
            .filter_map(|node| self.node_position(*node))
            .map(narrow)
    }

    /// A pod came to the node at this position, or left it.
    pub(super) fn note_pod_volumes(&mut self, at: usize, pod: &Pod, came: bool) {
        let node = self.nodes[at].node.name;
        if pod.has_restricted_disks() {
            self.note_disks(at);
        }
        if pod.has_attachable_volumes() {
            match came {
                true => self.storage.users.add(pod, node),
                false => self.storage.users.remove(pod, node),
            }
            self.count_attached(at);
        }
    }

    fn note_disks(&mut self, at: usize) {
        let NodeInfo {
            node,
            pods_with_disks,
            ..
        } = &self.nodes[at];
        match pods_with_disks.is_empty() {
            true => self.storage.with_disks.remove(&node.name),
            false => self.storage.with_disks.insert(node.name),
        };
    }

    /// A node appeared at this position, with pods on it.
    pub(super) fn note_new_node(&mut self, at: usize) {
        let NodeInfo { node, pods, .. } = &self.nodes[at];
        for pod in pods {
            self.storage.users.add(pod, node.name);
        }
        let csi_node = self.csi_nodes.get(Sym::EMPTY, node.name).cloned();
        self.nodes[at].csi_node = csi_node;
        self.storage.room.push();
        self.note_disks(at);
        self.count_attached(at);
    }

    /// A node went from this position; the last one took it.
    pub(super) fn note_gone_node(&mut self, at: usize, info: &NodeInfo) {
        self.storage.room.swap_remove(at);
        self.storage.with_disks.remove(&info.node.name);
        self.storage.uncounted.remove(&info.node.name);
        for pod in &info.pods {
            self.storage.users.remove(pod, info.node.name);
        }
    }

    /// Counts what is attached to the node at this position, if anybody will ask.
    fn count_attached(&mut self, at: usize) {
        let info = &self.nodes[at];
        let csi_node = info.csi_node.as_ref().filter(|node| node.has_limits());
        // Whoever asks will be told the error.
        let attached = csi_node.map(|node| (node, Attached::of(self, info).ok()));
        let Storage {
            room, uncounted, ..
        } = &mut self.storage;
        room.clear(at);
        match &attached {
            Some((_, None)) => uncounted.insert(info.node.name),
            None | Some((_, Some(_))) => uncounted.remove(&info.node.name),
        };
        if let Some((node, Some(attached))) = &attached {
            for CsiDriverLimit { name, .. } in &node.drivers {
                if let Some(limit) = volume_limit(node, *name) {
                    room.set(*name, at, limit - attached.count(*name));
                }
            }
        }
        let attached = attached.and_then(|(_, attached)| attached);
        self.nodes[at].set_attached(attached);
    }

    fn count_attached_on(&mut self, nodes: impl IntoIterator<Item = Sym>) {
        for node in nodes {
            if let Some(at) = self.node_position(node) {
                self.count_attached(at);
            }
        }
    }

    /// The nodes with pods that use these claims.
    fn nodes_using(&self, claims: impl IntoIterator<Item = (Sym, Sym)>) -> Vec<Sym> {
        let users = &self.storage.users;
        let nodes = claims.into_iter();
        nodes
            .flat_map(|(namespace, name)| users.nodes(namespace, name))
            .collect()
    }

    /// A volume came, changed or went.
    pub(super) fn note_volume(
        &mut self,
        old: Option<&Arc<PersistentVolume>>,
        new: Option<&Arc<PersistentVolume>>,
    ) {
        if let Some(old) = old {
            self.storage.supply.remove_volume(old);
        }
        if let Some(new) = new {
            self.storage.supply.add_volume(new);
        }
        let driven = |volume: &Arc<PersistentVolume>| (volume.csi, volume.migrated.clone());
        if old.map(driven) == new.map(driven) {
            return;
        }
        if let Some(volume) = old.or(new).map(|volume| volume.name) {
            let claims = self
                .storage
                .claims_of_volume
                .range((volume, Sym::EMPTY, Sym::EMPTY)..)
                .take_while(|(of, ..)| *of == volume)
                .map(|(_, namespace, name)| (*namespace, *name));
            let mut nodes = self.nodes_using(claims);
            nodes.extend(self.storage.attachments.nodes(volume));
            self.count_attached_on(nodes);
        }
    }

    /// A claim came, changed or went.
    pub(super) fn note_claim(
        &mut self,
        old: Option<&Arc<PersistentVolumeClaim>>,
        new: Option<&Arc<PersistentVolumeClaim>>,
    ) {
        let key = |claim: &PersistentVolumeClaim| (claim.volume_name, claim.namespace, claim.name);
        if let Some(old) = old {
            self.storage.claims_of_volume.remove(&key(old));
        }
        if let Some(new) = new
            && !new.volume_name.is_empty()
        {
            self.storage.claims_of_volume.insert(key(new));
        }
        if let Some(claim) = old.or(new) {
            let nodes = self.nodes_using([(claim.namespace, claim.name)]);
            self.count_attached_on(nodes);
        }
    }

    /// A class came, changed or went.
    pub(super) fn note_storage_class(
        &mut self,
        old: Option<&Arc<StorageClass>>,
        new: Option<&Arc<StorageClass>>,
    ) {
        let provisioner = |class: &Arc<StorageClass>| class.provisioner;
        if old.map(provisioner) == new.map(provisioner) {
            return;
        }
        if let Some(class) = old.or(new) {
            let claims = self.claims.iter();
            let claims = claims
                .filter(|claim| claim.storage_class == class.name)
                .map(|claim| (claim.namespace, claim.name));
            let nodes = self.nodes_using(claims);
            self.count_attached_on(nodes);
        }
    }

    /// The CSINode of this name came, changed or went.
    pub(super) fn note_csi_node(&mut self, name: Sym, new: Option<&Arc<CsiNode>>) {
        if let Some(at) = self.node_position(name) {
            self.nodes[at].csi_node = new.cloned();
            self.count_attached(at);
        }
    }

    /// A VolumeAttachment came, changed or went.
    pub(super) fn note_attachment(
        &mut self,
        old: Option<&Arc<VolumeAttachment>>,
        new: Option<&Arc<VolumeAttachment>>,
    ) {
        if let Some(old) = old {
            self.storage.attachments.remove(old);
        }
        if let Some(new) = new {
            self.storage.attachments.add(new);
        }
        let nodes = [old, new].into_iter().flatten();
        self.count_attached_on(nodes.map(|attachment| attachment.node_name));
    }

    /// A CSIStorageCapacity came, changed or went.
    pub(super) fn note_capacity(
        &mut self,
        old: Option<&Arc<CsiStorageCapacity>>,
        new: Option<&Arc<CsiStorageCapacity>>,
    ) {
        if let Some(old) = old {
            self.storage.supply.remove_capacity(old);
        }
        if let Some(new) = new {
            self.storage.supply.add_capacity(new);
        }
    }
}
