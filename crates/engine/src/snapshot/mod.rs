//! The cluster's present state.

mod change_log;
mod device_classes;
mod label_counts;
mod label_groups;
mod node_info;
mod objects;
mod pods;
mod priorities;
mod read_keys;
mod resource_summary;
mod rewind;
mod services;
mod storage;
mod sweep;

pub use change_log::{ChangeLog, Delta, Fact, NodeUpdate};
pub use node_info::NodeInfo;
pub use objects::Objects;
pub use read_keys::ReadKeys;
pub use resource_summary::{PairRequest, ResourceSummary};
pub use services::Services;
pub use storage::{Attached, Capacities, FreeVolumes};
pub(crate) use storage::{AttachedVolume, Uncounted, attachable_volumes, volume_limit};

use crate::cast::narrow;
use crate::model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Kind, Labels, Namespace, Node, Object,
    PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, PodSelectorOwner,
    ResourceClaim, ResourceNames, ResourceSlice, StorageClass, VolumeAttachment,
};
use label_counts::LabelCounts;
use label_groups::LabelGroups;
use pods::Placed;
use priorities::Priorities;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Lookup, Names, Sym};

/// How an image is spread over the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageState {
    /// Its size, as the first node that brought it said.
    pub size_bytes: i64,
    /// How many nodes hold it.
    pub nodes: usize,
}

/// Nodes with the pods on them, and every other object that a plugin reads.
///
/// Owned and changed by one thread. Assigned and assumed pods count here; pending pods live in the
/// queue.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The interned strings of all objects.
    pub names: Names,
    /// The columns of all resources.
    pub resource_names: ResourceNames,
    nodes: Vec<NodeInfo>,
    /// How many nodes ever arrived.
    arrivals: u64,
    /// Cpu and memory of all nodes, by position.
    summaries: Vec<ResourceSummary>,
    node_index: Lookup<Sym, usize>,
    label_counts: LabelCounts,
    /// Pods on nodes that do not exist (yet): they count once their node appears.
    orphans: BTreeMap<Sym, Vec<Arc<Pod>>>,
    /// The pods on nodes, by uid.
    pods: Lookup<Arc<str>, Placed>,
    priorities: Priorities,
    /// Every pod as the API has it, pending ones included, by (namespace, name).
    listed_pods: Lookup<(Sym, Sym), Arc<Pod>>,
    images: Lookup<Sym, ImageState>,
    extended_resources: device_classes::ExtendedResources,
    no_labels: Labels,
    log: ChangeLog,
    read_keys: ReadKeys,
    label_group: LabelGroups,
    storage: storage::Storage,
    /// Namespaces.
    pub namespaces: Objects<Namespace>,
    /// PodDisruptionBudgets.
    pub budgets: Objects<PodDisruptionBudget>,
    /// PersistentVolumes.
    pub volumes: Objects<PersistentVolume>,
    /// PersistentVolumeClaims.
    pub claims: Objects<PersistentVolumeClaim>,
    /// StorageClasses.
    pub storage_classes: Objects<StorageClass>,
    /// CSINodes.
    pub csi_nodes: Objects<CsiNode>,
    /// CSIDrivers.
    pub csi_drivers: Objects<CsiDriver>,
    /// CSIStorageCapacities.
    pub storage_capacities: Objects<CsiStorageCapacity>,
    /// VolumeAttachments.
    pub volume_attachments: Objects<VolumeAttachment>,
    /// Services.
    pub services: Services,
    /// ReplicationControllers.
    pub replication_controllers: Objects<PodSelectorOwner>,
    /// ReplicaSets.
    pub replica_sets: Objects<PodSelectorOwner>,
    /// StatefulSets.
    pub stateful_sets: Objects<PodSelectorOwner>,
    /// ResourceClaims.
    pub resource_claims: Objects<ResourceClaim>,
    /// ResourceSlices.
    pub resource_slices: Objects<ResourceSlice>,
    /// DeviceClasses.
    pub device_classes: Objects<DeviceClass>,
}

impl Snapshot {
    /// An empty cluster.
    pub fn new() -> Self {
        Self::default()
    }

    /// All nodes. Their order is that of arrival until a node is removed.
    pub fn nodes(&self) -> &[NodeInfo] {
        &self.nodes
    }

    /// Cpu and memory of all [`nodes`](Self::nodes).
    pub(crate) fn summaries(&self) -> &[ResourceSummary] {
        &self.summaries
    }

    /// Reads the summary of a node again.
    fn read_summary(&mut self, at: usize) {
        self.summaries[at] = ResourceSummary::of(&self.nodes[at]);
    }

    /// The node of this name.
    pub fn node(&self, name: Sym) -> Option<&NodeInfo> {
        self.node_position(name).map(|at| &self.nodes[at])
    }

    /// Where in [`nodes`](Self::nodes) the node of this name stands.
    pub fn node_position(&self, name: Sym) -> Option<usize> {
        self.node_index.get(&name).copied()
    }

    /// How many nodes bear the label.
    pub(crate) fn label_counts(&self, key: Sym, value: Sym) -> usize {
        self.label_counts.nodes(key, value)
    }

    /// Whether a node other than this one, which may have changed or gone meanwhile, bears the same
    /// value of a label.
    pub(crate) fn shares_label(&self, node: &Node, key: Sym) -> bool {
        let Some(value) = node.labels.get(key) else {
            return false;
        };
        let bears = |now: &NodeInfo| now.node.labels.get(key) == Some(value);
        match self.label_counts(key, value) {
            0 => false,
            1 => !self.node(node.name).is_some_and(bears),
            _ => true,
        }
    }

    /// How many different values of a label nodes bear.
    pub(crate) fn label_values(&self, key: Sym) -> usize {
        self.label_counts.values(key)
    }

    /// What changed lately.
    pub fn log(&self) -> &ChangeLog {
        &self.log
    }

    /// Placed pods that are the same to selectors, kept together.
    pub(crate) fn label_groups(&self) -> &LabelGroups {
        &self.label_group
    }

    /// The least priority of all pods on nodes.
    pub fn least_priority(&self) -> Option<i32> {
        self.priorities.least()
    }

    /// The labels of a pending pod that others may read.
    pub fn read_keys(&self) -> &ReadKeys {
        &self.read_keys
    }

    /// How the image of this name is spread.
    pub fn image(&self, name: Sym) -> Option<&ImageState> {
        self.images.get(&name)
    }

    /// The device class that stands for an extended resource, by its own name for it or by the
    /// implicit one.
    pub fn device_class_for(&self, resource: Sym) -> Option<&Arc<DeviceClass>> {
        self.extended_resources.get(resource)
    }

    /// Whether a device class stands for any extended resource.
    pub fn has_extended_resources(&self) -> bool {
        !self.extended_resources.is_empty()
    }

    /// The labels of a namespace; none if the namespace is unknown.
    pub fn namespace_labels(&self, name: Sym) -> &Labels {
        self.namespaces
            .get(Sym::EMPTY, name)
            .map_or(&self.no_labels, |ns| &ns.labels)
    }

    /// Adds or replaces an object; returns what it replaced.
    ///
    /// Pods count while they are on a node: pending ones belong to the queue, and finished ones are
    /// taken out.
    pub fn upsert(&mut self, object: Object) -> Option<Object> {
        let is_noted = !self.is_known(&object) && self.note_object(&object);
        let old = self.put(object);
        if is_noted {
            self.log.was(old.as_ref());
        }
        old
    }

    fn put(&mut self, object: Object) -> Option<Object> {
        match object {
            Object::Pod(pod) => self.upsert_pod(pod).map(Object::Pod),
            Object::Node(node) => self.upsert_node(node).map(Object::Node),
            Object::Namespace(o) => self
                .namespaces
                .insert(Sym::EMPTY, o.name, o)
                .map(Object::Namespace),
            Object::PodDisruptionBudget(o) => self
                .budgets
                .insert(o.namespace, o.name, o)
                .map(Object::PodDisruptionBudget),
            Object::PersistentVolume(o) => {
                let old = self.volumes.insert(Sym::EMPTY, o.name, o.clone());
                self.note_volume(old.as_ref(), Some(&o));
                old.map(Object::PersistentVolume)
            }
            Object::PersistentVolumeClaim(o) => {
                let old = self.claims.insert(o.namespace, o.name, o.clone());
                self.note_claim(old.as_ref(), Some(&o));
                old.map(Object::PersistentVolumeClaim)
            }
            Object::StorageClass(o) => {
                let old = self.storage_classes.insert(Sym::EMPTY, o.name, o.clone());
                self.note_storage_class(old.as_ref(), Some(&o));
                old.map(Object::StorageClass)
            }
            Object::CSINode(o) => {
                let old = self.csi_nodes.insert(Sym::EMPTY, o.name, o.clone());
                self.note_csi_node(o.name, Some(&o));
                old.map(Object::CSINode)
            }
            Object::CSIDriver(o) => self
                .csi_drivers
                .insert(Sym::EMPTY, o.name, o)
                .map(Object::CSIDriver),
            Object::CSIStorageCapacity(o) => {
                let old = self
                    .storage_capacities
                    .insert(o.namespace, o.name, o.clone());
                self.note_capacity(old.as_ref(), Some(&o));
                old.map(Object::CSIStorageCapacity)
            }
            Object::VolumeAttachment(o) => {
                let old = self
                    .volume_attachments
                    .insert(Sym::EMPTY, o.name, o.clone());
                self.note_attachment(old.as_ref(), Some(&o));
                old.map(Object::VolumeAttachment)
            }
            Object::Service(o) => self.services.insert(o).map(Object::Service),
            Object::ReplicationController(o) => self
                .replication_controllers
                .insert(o.namespace, o.name, o)
                .map(Object::ReplicationController),
            Object::ReplicaSet(o) => self
                .replica_sets
                .insert(o.namespace, o.name, o)
                .map(Object::ReplicaSet),
            Object::StatefulSet(o) => self
                .stateful_sets
                .insert(o.namespace, o.name, o)
                .map(Object::StatefulSet),
            Object::ResourceClaim(o) => self
                .resource_claims
                .insert(o.namespace, o.name, o)
                .map(Object::ResourceClaim),
            Object::ResourceSlice(o) => self
                .resource_slices
                .insert(Sym::EMPTY, o.name, o)
                .map(Object::ResourceSlice),
            Object::DeviceClass(o) => self.upsert_device_class(o).map(Object::DeviceClass),
        }
    }

    /// Removes an object other than a pod; returns it.
    pub fn remove(&mut self, kind: Kind, namespace: Sym, name: Sym) -> Option<Object> {
        let is_noted = !matches!(kind, Kind::Pod | Kind::Node);
        if is_noted {
            let gone = Delta::Object {
                kind,
                namespace,
                name,
                before: None,
            };
            self.log.push(gone, self.nodes.len());
        }
        let old = self.take(kind, namespace, name);
        if is_noted {
            self.log.was(old.as_ref());
        }
        old
    }

    fn take(&mut self, kind: Kind, namespace: Sym, name: Sym) -> Option<Object> {
        match kind {
            Kind::Pod => None,
            Kind::Node => self.remove_node(name).map(Object::Node),
            Kind::Namespace => self
                .namespaces
                .remove(namespace, name)
                .map(Object::Namespace),
            Kind::PodDisruptionBudget => self
                .budgets
                .remove(namespace, name)
                .map(Object::PodDisruptionBudget),
            Kind::PersistentVolume => {
                let old = self.volumes.remove(namespace, name);
                self.note_volume(old.as_ref(), None);
                old.map(Object::PersistentVolume)
            }
            Kind::PersistentVolumeClaim => {
                let old = self.claims.remove(namespace, name);
                self.note_claim(old.as_ref(), None);
                old.map(Object::PersistentVolumeClaim)
            }
            Kind::StorageClass => {
                let old = self.storage_classes.remove(namespace, name);
                self.note_storage_class(old.as_ref(), None);
                old.map(Object::StorageClass)
            }
            Kind::CSINode => {
                let old = self.csi_nodes.remove(namespace, name);
                self.note_csi_node(name, None);
                old.map(Object::CSINode)
            }
            Kind::CSIDriver => self
                .csi_drivers
                .remove(namespace, name)
                .map(Object::CSIDriver),
            Kind::CSIStorageCapacity => {
                let old = self.storage_capacities.remove(namespace, name);
                self.note_capacity(old.as_ref(), None);
                old.map(Object::CSIStorageCapacity)
            }
            Kind::VolumeAttachment => {
                let old = self.volume_attachments.remove(namespace, name);
                self.note_attachment(old.as_ref(), None);
                old.map(Object::VolumeAttachment)
            }
            Kind::Service => self.services.remove(namespace, name).map(Object::Service),
            Kind::ReplicationController => self
                .replication_controllers
                .remove(namespace, name)
                .map(Object::ReplicationController),
            Kind::ReplicaSet => self
                .replica_sets
                .remove(namespace, name)
                .map(Object::ReplicaSet),
            Kind::StatefulSet => self
                .stateful_sets
                .remove(namespace, name)
                .map(Object::StatefulSet),
            Kind::ResourceClaim => self
                .resource_claims
                .remove(namespace, name)
                .map(Object::ResourceClaim),
            Kind::ResourceSlice => self
                .resource_slices
                .remove(namespace, name)
                .map(Object::ResourceSlice),
            Kind::DeviceClass => {
                let old = self.device_classes.remove(namespace, name)?;
                self.extended_resources.remove(&old);
                Some(Object::DeviceClass(old))
            }
        }
    }

    fn upsert_device_class(&mut self, class: Arc<DeviceClass>) -> Option<Arc<DeviceClass>> {
        let old = self
            .device_classes
            .insert(Sym::EMPTY, class.name, class.clone());
        self.extended_resources
            .update(&class, old.as_deref(), &self.names);
        old
    }

    fn upsert_node(&mut self, node: Arc<Node>) -> Option<Arc<Node>> {
        if let Some(at) = self.node_position(node.name) {
            // Old images go first: one that no other node holds takes its new size.
            let old = self.nodes[at].set_node(node.clone());
            if old.looks_like(&node) && self.images_stand(&node) {
                return Some(old);
            }
            self.read_summary(at);
            self.remove_images(&old);
            self.add_images(&node);
            if old.labels != node.labels {
                self.label_counts.remove(&old.labels);
                self.label_counts.add(&node.labels);
            }
            self.note_node_update(at, &old);
            return Some(old);
        }
        self.add_images(&node);
        self.label_counts.add(&node.labels);
        self.node_index.insert(node.name, self.nodes.len());
        let mut info = NodeInfo::new(node.clone());
        info.arrival = self.arrivals;
        self.arrivals += 1;
        for pod in self.orphans.remove(&node.name).unwrap_or_default() {
            info.add_pod(pod);
        }
        let added = Delta::NodeAdded {
            node,
            pods: info.pods.as_slice().into(),
        };
        self.summaries.push(ResourceSummary::of(&info));
        self.nodes.push(info);
        self.log.push(added, self.nodes.len());
        self.note_new_node(self.nodes.len() - 1);
        None
    }

    fn remove_node(&mut self, name: Sym) -> Option<Arc<Node>> {
        let at = self.node_index.remove(&name)?;
        let info = self.nodes.swap_remove(at);
        self.summaries.swap_remove(at);
        if let Some(moved) = self.nodes.get(at) {
            self.node_index.insert(moved.node.name, at);
        }
        self.remove_images(&info.node);
        self.label_counts.remove(&info.node.labels);
        self.note_gone_node(at, &info);
        let removed = Delta::NodeRemoved {
            arrival: info.arrival,
            at: narrow(at),
            node: info.node.clone(),
            pods: info.pods.as_slice().into(),
        };
        self.log.push(removed, self.nodes.len());
        if !info.pods.is_empty() {
            self.orphans.insert(name, info.pods);
        }
        Some(info.node)
    }

    fn note_pod(&mut self, at: usize, pod: &Arc<Pod>, label_group: u32, added: bool) {
        let delta = Delta::Pod {
            at: narrow(at),
            added,
            node: self.nodes[at].node.clone(),
            pod: pod.clone(),
            label_group,
            label_group_end: 0,
        };
        self.log.push(delta, self.nodes.len());
    }

    fn note_node_update(&mut self, at: usize, old: &Arc<Node>) {
        let NodeInfo {
            node: new, pods, ..
        } = &self.nodes[at];
        let is_seen = old.labels != new.labels || old.taints != new.taints;
        let seen = is_seen.then(|| {
            Box::new(NodeUpdate {
                old: old.clone(),
                new: new.clone(),
                pods: pods.as_slice().into(),
            })
        });
        let at = narrow(at);
        let node = new.clone();
        let old = old.clone();
        let updated = Delta::NodeUpdated {
            at,
            node,
            old,
            seen,
        };
        self.log.push(updated, self.nodes.len());
    }

    /// Whether an object that selects pods, or is selected by, is there and the same: of these the
    /// API tells again and again, for their status changes with every pod.
    fn is_known(&self, object: &Object) -> bool {
        let (namespace, name) = object.key();
        let (known, owner) = match object {
            Object::Namespace(new) => {
                let known = self.namespaces.get(namespace, name);
                return known.is_some_and(|known| known == new);
            }
            Object::Service(new) => (self.services.get(namespace, name), new),
            Object::ReplicationController(new) => {
                (self.replication_controllers.get(namespace, name), new)
            }
            Object::ReplicaSet(new) => (self.replica_sets.get(namespace, name), new),
            Object::StatefulSet(new) => (self.stateful_sets.get(namespace, name), new),
            _ => return false,
        };
        known.is_some_and(|known| known == owner)
    }

    /// Notes that an object comes or changes, unless it is a pod or a node; says whether.
    fn note_object(&mut self, object: &Object) -> bool {
        let kind = object.kind();
        if matches!(kind, Kind::Pod | Kind::Node) {
            return false;
        }
        if let Object::Service(owner)
        | Object::ReplicationController(owner)
        | Object::ReplicaSet(owner)
        | Object::StatefulSet(owner) = object
        {
            self.read_keys.add_selector(&owner.selector);
        }
        let (namespace, name) = object.key();
        let changed = Delta::Object {
            kind,
            namespace,
            name,
            before: None,
        };
        self.log.push(changed, self.nodes.len());
        true
    }

    /// Whether the images of a node are known by the sizes that they would have if it came anew: of
    /// those that no other node holds, by its own.
    fn images_stand(&self, node: &Node) -> bool {
        let stands = |(name, size): (&Sym, &i64)| {
            let state = self.images.get(name);
            state.is_some_and(|state| state.nodes > 1 || state.size_bytes == *size)
        };
        distinct_images(node).iter().all(stands)
    }

    fn add_images(&mut self, node: &Node) {
        for (name, size_bytes) in distinct_images(node) {
            let state = self.images.or_insert_with(name, || ImageState {
                size_bytes,
                nodes: 0,
            });
            state.nodes += 1;
        }
    }

    fn remove_images(&mut self, node: &Node) {
        for (name, _) in distinct_images(node) {
            if let Some(state) = self.images.get_mut(&name) {
                state.nodes -= 1;
                if state.nodes == 0 {
                    self.images.remove(&name);
                }
            }
        }
    }
}

/// Every image name of a node once, with the size of its first mention.
fn distinct_images(node: &Node) -> BTreeMap<Sym, i64> {
    let mut distinct = BTreeMap::new();
    for image in &node.images {
        for name in &image.names {
            distinct.entry(*name).or_insert(image.size_bytes);
        }
    }
    distinct
}
