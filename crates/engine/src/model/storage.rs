//! Volumes, claims and what provisions and attaches them.

use super::{Labels, NodeSelector, NodeSelectorTerm, Pod, Selector};
use std::sync::Arc;
use stowplan_base::{Names, Quantity, Sym, sym};

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
    /// What an in-tree source becomes on a node whose plugin is migrated to CSI.
    pub migration: Option<CsiMigration>,
}

impl PodVolume {
    /// The claim behind the volume, be it named by the pod or made for it.
    pub fn claim(&self) -> Option<Sym> {
        match self.source {
            VolumeSource::Claim { claim } | VolumeSource::Ephemeral { claim } => Some(claim),
            _ => None,
        }
    }

    /// The claim that the pod names. Claims of generic ephemeral volumes are not meant.
    pub fn named_claim(&self) -> Option<Sym> {
        match self.source {
            VolumeSource::Claim { claim } => Some(claim),
            _ => None,
        }
    }

    /// Whether the volume can take up an attachment: it has a claim, or could be migrated.
    pub fn may_be_attached(&self) -> bool {
        self.claim().is_some() || self.migration.is_some()
    }

    /// Whether the volume is a generic ephemeral one: its claim must be the pod's own.
    pub fn is_ephemeral(&self) -> bool {
        matches!(self.source, VolumeSource::Ephemeral { .. })
    }
}

/// Where the bytes of a pod's volume are, as far as a scheduling rule cares.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VolumeSource {
    /// `persistentVolumeClaim`.
    Claim {
        /// `claimName`.
        claim: Sym,
    },
    /// `ephemeral`: a claim named after pod and volume.
    Ephemeral {
        /// `POD-VOLUME`.
        claim: Sym,
    },
    /// `csi`.
    Csi {
        /// `driver`.
        driver: Sym,
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
    /// Anything else; it may still have a [`CsiMigration`].
    Other,
}

impl VolumeSource {
    /// Whether pods that share the source can get in each other's way.
    pub fn is_restricted_disk(&self) -> bool {
        matches!(
            self,
            Self::GcePersistentDisk { .. }
                | Self::AwsElasticBlockStore { .. }
                | Self::Iscsi { .. }
                | Self::Rbd { .. }
        )
    }
}

/// An in-tree volume as its CSI driver knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CsiMigration {
    /// The in-tree plugin, such as `kubernetes.io/aws-ebs`.
    pub plugin: Sym,
    /// The CSI `volumeHandle`, or why there is none.
    pub handle: Result<Sym, Box<str>>,
}

/// The `csi` source of a persistent volume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CsiSource {
    /// `driver`.
    pub driver: Sym,
    /// `volumeHandle`.
    pub handle: Sym,
}

/// A persistent volume with an in-tree source, translated to CSI.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MigratedVolume {
    /// What it becomes.
    pub migration: CsiMigration,
    /// `spec.nodeAffinity.required`, in the driver's own topology keys.
    pub node_affinity: Option<NodeSelector>,
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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: Sym,
    /// `spec.nodeAffinity.required`.
    pub node_affinity: Option<NodeSelector>,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// `status.phase`; empty if unset.
    pub phase: Sym,
    /// Zone and region labels with their sets of values (`a__b` is two), in VolumeZone's order of
    /// labels; values sorted by symbol. A label with an empty value among them is left out.
    pub topology: Box<[(Sym, Box<[Sym]>)]>,
    /// `spec.csi`.
    pub csi: Option<CsiSource>,
    /// What an in-tree source becomes on a node whose plugin is migrated to CSI.
    pub migrated: Option<MigratedVolume>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
    /// The uid of the controlling owner.
    pub controller_uid: Option<Arc<str>>,
    /// `spec.storageClassName` (or the old annotation); empty for none.
    pub storage_class: Sym,
    /// `spec.volumeAttributesClassName`; empty for none.
    pub attributes_class: Sym,
    /// `spec.volumeName`; empty while unbound.
    pub volume_name: Sym,
    /// `spec.accessModes`.
    pub access_modes: Box<[AccessMode]>,
    /// `spec.volumeMode`.
    pub volume_mode: VolumeMode,
    /// `spec.resources.requests.storage`.
    pub request: Option<Quantity>,
    /// `spec.selector`: absent, parsed, or why it cannot be.
    pub selector: Option<Result<Selector, Box<str>>>,
    /// `status.phase`; empty if unset.
    pub phase: Sym,
}

impl PersistentVolumeClaim {
    /// Upstream's `isPVCFullyBound`: the claim names a volume and the binding is complete.
    pub fn is_fully_bound(&self) -> bool {
        !self.volume_name.is_empty() && self.annotations.has(sym::BIND_COMPLETED)
    }

    /// The claim of a generic ephemeral volume must be controlled by its pod. Upstream's
    /// `VolumeIsForPod` (`component-helpers/storage/ephemeral`).
    pub fn check_owner(&self, pod: &Pod, names: &Names) -> Result<(), String> {
        if self.namespace == pod.namespace && self.controller_uid.as_ref() == Some(&pod.uid) {
            return Ok(());
        }
        Err(format!(
            "PVC {}/{} was not created for pod {} (pod is not owner)",
            names.text(self.namespace),
            names.text(self.name),
            pod.key
        ))
    }
}

/// A StorageClass.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StorageClass {
    /// `metadata.name`.
    pub name: Sym,
    /// `provisioner`.
    pub provisioner: Sym,
    /// `volumeBindingMode`; `None` if unset.
    pub binding_mode: Option<BindingMode>,
    /// `allowedTopologies`: conditions on the node's labels, any of which will do; none allow
    /// every node.
    pub allowed_topologies: Box<[NodeSelectorTerm]>,
}

/// A CSINode: what the drivers on one node can do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CsiNode {
    /// `metadata.name`, the node's.
    pub name: Sym,
    /// The annotation `storage.alpha.kubernetes.io/migrated-plugins`, split at its commas.
    pub migrated_plugins: Box<[Sym]>,
    /// `spec.drivers`.
    pub drivers: Box<[CsiDriverLimit]>,
}

impl CsiNode {
    /// Whether some driver takes only so many volumes.
    pub fn has_limits(&self) -> bool {
        self.drivers.iter().any(|driver| driver.count.is_some())
    }
}

/// One driver of a CSINode.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CsiDriverLimit {
    /// `name`.
    pub name: Sym,
    /// `allocatable.count`: how many volumes can be attached; `None` for no limit.
    pub count: Option<i32>,
}

/// A CSIDriver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CsiDriver {
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.storageCapacity`: whether capacity is published and must be asked.
    pub storage_capacity: bool,
}

/// A CSIStorageCapacity: how much of a class can be had where.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CsiStorageCapacity {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `storageClassName`.
    pub storage_class: Sym,
    /// `nodeTopology`; [`Selector::Nothing`] if absent or broken.
    pub node_topology: Selector,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Quantity>,
}

impl CsiStorageCapacity {
    /// The largest volume that can be made, in bytes; `None` if unknown.
    pub fn volume_limit(&self) -> Option<i64> {
        self.maximum_volume_size
            .or(self.capacity)
            .map(Quantity::value)
    }
}

/// A VolumeAttachment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
