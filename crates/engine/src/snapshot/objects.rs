//! Objects of one kind, by name.

use super::Snapshot;
use crate::model::{Kind, Object};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::Sym;

/// All objects of one kind by (namespace, name), walked in symbol order.
#[derive(Clone, Debug)]
pub struct Objects<T>(BTreeMap<(Sym, Sym), Arc<T>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Objects<T> {
    /// The object of this name; the namespace of cluster-scoped kinds is [`Sym::EMPTY`].
    pub fn get(&self, namespace: Sym, name: Sym) -> Option<&Arc<T>> {
        self.0.get(&(namespace, name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.values()
    }

    /// Those of one namespace.
    pub fn in_namespace(&self, namespace: Sym) -> impl Iterator<Item = &Arc<T>> {
        self.0
            .range((namespace, Sym::EMPTY)..)
            .take_while(move |((ns, _), _)| *ns == namespace)
            .map(|(_, object)| object)
    }

    pub(super) fn insert(&mut self, namespace: Sym, name: Sym, object: Arc<T>) -> Option<Arc<T>> {
        self.0.insert((namespace, name), object)
    }

    pub(super) fn remove(&mut self, namespace: Sym, name: Sym) -> Option<Arc<T>> {
        self.0.remove(&(namespace, name))
    }
}

impl Snapshot {
    /// The object of this kind and name, pods as the API has them.
    pub fn object(&self, kind: Kind, namespace: Sym, name: Sym) -> Option<Object> {
        fn get<T>(
            objects: &Objects<T>,
            (namespace, name): (Sym, Sym),
            of: fn(Arc<T>) -> Object,
        ) -> Option<Object> {
            objects.get(namespace, name).cloned().map(of)
        }
        let key = (namespace, name);
        match kind {
            Kind::Pod => self.listed_pod(namespace, name).cloned().map(Object::Pod),
            Kind::Node => Some(Object::Node(self.node(name)?.node.clone())),
            Kind::Namespace => get(&self.namespaces, key, Object::Namespace),
            Kind::PodDisruptionBudget => get(&self.budgets, key, Object::PodDisruptionBudget),
            Kind::PersistentVolume => get(&self.volumes, key, Object::PersistentVolume),
            Kind::PersistentVolumeClaim => get(&self.claims, key, Object::PersistentVolumeClaim),
            Kind::StorageClass => get(&self.storage_classes, key, Object::StorageClass),
            Kind::CSINode => get(&self.csi_nodes, key, Object::CSINode),
            Kind::CSIDriver => get(&self.csi_drivers, key, Object::CSIDriver),
            Kind::CSIStorageCapacity => {
                get(&self.storage_capacities, key, Object::CSIStorageCapacity)
            }
            Kind::VolumeAttachment => get(&self.volume_attachments, key, Object::VolumeAttachment),
            Kind::Service => self
                .services
                .get(namespace, name)
                .cloned()
                .map(Object::Service),
            Kind::ReplicationController => get(
                &self.replication_controllers,
                key,
                Object::ReplicationController,
            ),
            Kind::ReplicaSet => get(&self.replica_sets, key, Object::ReplicaSet),
            Kind::StatefulSet => get(&self.stateful_sets, key, Object::StatefulSet),
            Kind::ResourceClaim => get(&self.resource_claims, key, Object::ResourceClaim),
            Kind::ResourceSlice => get(&self.resource_slices, key, Object::ResourceSlice),
            Kind::DeviceClass => get(&self.device_classes, key, Object::DeviceClass),
        }
    }
}
