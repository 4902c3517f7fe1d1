//! The cluster as the engine sees it: API objects cut down to what scheduling reads, with every
//! string interned.
//!
//! **Invariant:** these types are plain data. They are built by `stowplan-bridge`, are
//! already defaulted and valid, and know nothing of JSON or the API.

mod budget;
mod changes;
pub(crate) mod csi_migration;
mod devices;
mod labels;
mod node;
mod object;
mod pod;
mod ports;
mod resources;
mod selector;
mod storage;
mod taints;
mod workload;

pub use budget::PodDisruptionBudget;
pub use devices::{
    ClaimReservation, DeviceClass, PodClaim, PodClaimSource, ResourceClaim, ResourceSlice,
};
pub use labels::Labels;
pub use node::{Node, NodeImage};
pub use object::{Kind, Namespace, Object};
pub use pod::{
    AffinityTerm, NodeAffinity, OwnerRef, Pod, PodAffinity, PodKey, PreferredNodeTerm,
    SpreadConstraint, UnsatisfiableAction, WeightedAffinityTerm,
};
pub use ports::{HostPort, Protocol, UsedPorts};
pub(crate) use resources::is_scalar_name;
pub use resources::{PodRequests, ResourceId, ResourceList, ResourceNames, Resources};
pub use selector::{NodeSelector, NodeSelectorTerm, Op, Requirement, Selector};
pub use storage::{
    AccessMode, BindingMode, ClaimRef, CsiDriver, CsiDriverLimit, CsiMigration, CsiNode, CsiSource,
    CsiStorageCapacity, MigratedVolume, PersistentVolume, PersistentVolumeClaim, PodVolume,
    StorageClass, VolumeAttachment, VolumeMode, VolumeSource,
};
pub use taints::{Effect, Taint, Toleration, TolerationOp, find_untolerated_taint};
pub use workload::PodSelectorOwner;
