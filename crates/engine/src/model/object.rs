//! Any object that the engine keeps.

use super::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Labels, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, PodSelectorOwner, ResourceClaim,
    ResourceSlice, StorageClass, VolumeAttachment,
};
use std::sync::Arc;
use stowplan_base::Sym;

/// A namespace: its labels are what terms select by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Namespace {
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.labels`.
    pub labels: Labels,
}

/// Hands the kinds of objects that the engine keeps, each with its type in the model, to a macro that takes
/// `$($kind:ident($type:ident),)*`, after what else it is to be given: `for_each_kind!(my_macro; more)`.
///
/// This is the only list of them. Whatever else goes by kinds (watches, `Kind`, `Object`) is made from it.
#[macro_export]
macro_rules! for_each_kind {
    ($macro:ident $(; $($more:tt)*)?) => {
        $macro! {
            $($($more)*)?
            Pod(Pod),
            Node(Node),
            Namespace(Namespace),
            PodDisruptionBudget(PodDisruptionBudget),
            PersistentVolume(PersistentVolume),
            PersistentVolumeClaim(PersistentVolumeClaim),
            StorageClass(StorageClass),
            CSINode(CsiNode),
            CSIDriver(CsiDriver),
            CSIStorageCapacity(CsiStorageCapacity),
            VolumeAttachment(VolumeAttachment),
            Service(PodSelectorOwner),
            ReplicationController(PodSelectorOwner),
            ReplicaSet(PodSelectorOwner),
            StatefulSet(PodSelectorOwner),
            ResourceClaim(ResourceClaim),
            ResourceSlice(ResourceSlice),
            DeviceClass(DeviceClass),
        }
    };
}

macro_rules! kinds {
    ($($variant:ident($type:ty),)*) => {
        /// The kinds of objects that the engine keeps.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = concat!("`", stringify!($variant), "`")] $variant,)*
        }

        /// An object of any kind, shared.
        #[derive(Clone, Hash, Debug)]
        pub enum Object {
            $(#[doc = concat!("A `", stringify!($variant), "`.")] $variant(Arc<$type>),)*
        }

        impl Object {
            /// The object's kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$variant(_) => Kind::$variant,)*
                }
            }

            /// Whether both are the very same object, not only equal ones.
            pub fn is_same(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$variant(a), Self::$variant(b)) => Arc::ptr_eq(a, b),)*
                    _ => false,
                }
            }
        }

        impl Kind {
            /// Every kind.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The kind's bit in a set of kinds.
            pub(crate) const fn bit(self) -> u32 {
                1 << self as u32
            }

            /// The kind as the API writes it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }
        }
    };
}

for_each_kind!(kinds);

impl Object {
    /// The pod, if it is one.
    pub fn as_pod(&self) -> Option<&Arc<Pod>> {
        match self {
            Self::Pod(pod) => Some(pod),
            _ => None,
        }
    }

    /// The node, if it is one.
    pub fn as_node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Node(node) => Some(node),
            _ => None,
        }
    }

    /// (namespace, name); the namespace of cluster-scoped objects is empty.
    pub fn key(&self) -> (Sym, Sym) {
        let cluster = Sym::EMPTY;
        match self {
            Self::Pod(o) => (o.namespace, o.name),
            Self::Node(o) => (cluster, o.name),
            Self::Namespace(o) => (cluster, o.name),
            Self::PodDisruptionBudget(o) => (o.namespace, o.name),
            Self::PersistentVolume(o) => (cluster, o.name),
            Self::PersistentVolumeClaim(o) => (o.namespace, o.name),
            Self::StorageClass(o) => (cluster, o.name),
            Self::CSINode(o) => (cluster, o.name),
            Self::CSIDriver(o) => (cluster, o.name),
            Self::CSIStorageCapacity(o) => (o.namespace, o.name),
            Self::VolumeAttachment(o) => (cluster, o.name),
            Self::Service(o)
            | Self::ReplicationController(o)
            | Self::ReplicaSet(o)
            | Self::StatefulSet(o) => (o.namespace, o.name),
            Self::ResourceClaim(o) => (o.namespace, o.name),
            Self::ResourceSlice(o) => (cluster, o.name),
            Self::DeviceClass(o) => (cluster, o.name),
        }
    }
}
