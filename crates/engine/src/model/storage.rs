//! Volumes, claims and what provisions and attaches them.

use super::{Labels, NodeSelector, OwnerRef, Selector};
use std::sync::Arc;
use stowplan_base::{Quantity, Sym};

/// An access mode of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum AccessMode {
    /// `ReadWriteOnce`.
    ReadWriteOnce,
    /// `ReadOnlyMany`.
    ReadOnlyMany,
    /// `ReadWriteMany`.
    ReadWriteMany,
    /// `ReadWriteOncePod`.
    ReadWriteOncePod,
}

/// `volumeMode`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum VolumeMode {
    /// A file system, the default.
    #[default]
    Filesystem,
    /// A raw block device.
    Block,
}

/// `volumeBindingMode` of a storage class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BindingMode {
    /// Claims are bound when they are created.
    Immediate,
    /// Claims are bound when the first pod that uses them is scheduled.
    WaitForFirstConsumer,
}

/// One of a pod's `spec.volumes`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodVolume {
    /// The volume's name in the pod.
    pub name: Sym,
    /// Where its bytes are.
    pub source: VolumeSource,
}

/// Where a volume's bytes are, as far as a scheduling rule cares; for pods (inline) and for
/// persistent volumes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VolumeSource {
    /// `persistentVolumeClaim` of a pod.
    Claim {
        /// `claimName`.
        claim: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `ephemeral` of a pod: a claim named after pod and volume.
    Ephemeral {
        /// `POD-VOLUME`.
        claim: Sym,
    },
    /// `csi`, inline or persistent.
    Csi {
        /// `driver`.
        driver: Sym,
        /// `volumeHandle`; empty for inline volumes.
        handle: Sym,
    },
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        id: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `azureDisk`.
    AzureDisk {
        /// `diskName`.
        name: Sym,
        /// `diskURI`.
        uri: Sym,
    },
    /// `cinder`.
    Cinder {
        /// `volumeID`.
        id: Sym,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        iqn: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`.
        monitors: Box<[Sym]>,
        /// `pool`.
        pool: Sym,
        /// `image`.
        image: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// Anything that no rule looks at.
    Other,
}

/// A reference from a volume to its claim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClaimRef {
    /// `namespace`.
    pub namespace: Sym,
    /// `name`.
    pub name: Sym,
    /// `uid`, or empty while the reference is only a wish.
    pub uid: Arc<str>,
}

/// A PersistentVolume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistentVolume {
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: Box<[AccessMode]>,
    /// `spec.volumeMode`.
    pub volume_mode: VolumeMode,
    /// `spec.storageClassName` (or the old annotation); empty for none.
    pub storage_class: Sym,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Sym>,
    /// `spec.nodeAffinity.required`.
    pub node_affinity: Option<NodeSelector>,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// `status.phase`; empty if unset.
    pub phase: Sym,
    /// Where its bytes are.
    pub source: VolumeSource,
}

/// A PersistentVolumeClaim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersistentVolumeClaim {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// The controlling owner.
    pub controller: Option<OwnerRef>,
    /// `spec.storageClassName` (or the old annotation); `None` if unset, unlike `Some("")`.
    pub storage_class: Option<Sym>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Sym>,
    /// `spec.volumeName`; empty while unbound.
    pub volume_name: Sym,
    /// `spec.accessModes`.
    pub access_modes: Box<[AccessMode]>,
    /// `spec.volumeMode`.
    pub volume_mode: VolumeMode,
    /// `spec.resources.requests.storage`.
    pub request: Quantity,
    /// `spec.selector`; `None` if absent.
    pub selector: Option<Selector>,
    /// `status.phase`; empty if unset.
    pub phase: Sym,
}

/// A StorageClass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageClass {
    /// `metadata.name`.
    pub name: Sym,
    /// `provisioner`.
    pub provisioner: Sym,
    /// `volumeBindingMode`; `None` if unset.
    pub binding_mode: Option<BindingMode>,
    /// `allowedTopologies`: any of the terms, and in a term all (key, values) pairs.
    pub allowed_topologies: Box<[Box<[(Sym, Box<[Sym]>)]>]>,
}

/// A CSINode: what the drivers on one node can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsiNode {
    /// `metadata.name`, the node's.
    pub name: Sym,
    /// `metadata.annotations`: which in-tree plugins are migrated.
    pub annotations: Labels,
    /// `spec.drivers`.
    pub drivers: Box<[CsiDriverLimit]>,
}

/// One driver of a CSINode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsiDriverLimit {
    /// `name`.
    pub name: Sym,
    /// `allocatable.count`: how many volumes can be attached; `None` for no limit.
    pub count: Option<i32>,
}

/// A CSIDriver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsiDriver {
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.storageCapacity`: whether capacity is published and must be asked.
    pub storage_capacity: bool,
}

/// A CSIStorageCapacity: how much of a class can be had where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsiStorageCapacity {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `storageClassName`.
    pub storage_class: Sym,
    /// `nodeTopology`; [`Selector::Nothing`] if absent.
    pub node_topology: Selector,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Quantity>,
}

/// A VolumeAttachment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeAttachment {
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.attacher`.
    pub attacher: Sym,
    /// `spec.nodeName`.
    pub node_name: Sym,
    /// `spec.source.persistentVolumeName`.
    pub volume_name: Option<Sym>,
}
