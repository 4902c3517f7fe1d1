//! The kinds of objects that scheduling reads.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::Deserialize;
use std::sync::Arc;
use types::*;

/// The types of these kinds, by the names of the kinds.
pub mod types {
    pub use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
    pub use k8s_openapi::api::batch::v1::Job;
    pub use k8s_openapi::api::core::v1::{
        Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
        Service,
    };
    pub use k8s_openapi::api::policy::v1::PodDisruptionBudget;
    pub use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
    pub use k8s_openapi::api::scheduling::v1::PriorityClass;
    pub use k8s_openapi::api::storage::v1::{
        CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
    };
}

/// Where objects live.
trait Scope {
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

macro_rules! kinds {
    ($($kind:ident,)*) => {
        /// A kind of object that scheduling reads.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $(#[doc = concat!("`", stringify!($kind), "`")] $kind,)*
        }

        /// An object of any of these kinds, shared with whoever else knows it.
        #[derive(Clone, Debug)]
        pub enum Object {
            $(#[doc = concat!("A `", stringify!($kind), "`.")] $kind(Arc<$kind>),)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The kind as manifests write it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => <$kind as Resource>::KIND,)*
                }
            }

            /// The one `apiVersion` that is read.
            pub fn api_version(self) -> &'static str {
                match self {
                    $(Self::$kind => <$kind as Resource>::API_VERSION,)*
                }
            }

            /// The kind as paths and messages have it.
            pub fn plural(self) -> &'static str {
                match self {
                    $(Self::$kind => <$kind as Resource>::URL_PATH_SEGMENT,)*
                }
            }

            /// Whether objects of this kind live in namespaces.
            pub fn is_namespaced(self) -> bool {
                match self {
                    $(Self::$kind => <<$kind as Resource>::Scope as Scope>::NAMESPACED,)*
                }
            }
        }

        impl Object {
            /// The object's kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// `metadata`.
            pub fn metadata(&self) -> &ObjectMeta {
                match self {
                    $(Self::$kind(object) => object.metadata(),)*
                }
            }

            /// `metadata`, to be changed.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self {
                    $(Self::$kind(object) => Arc::make_mut(object).metadata_mut(),)*
                }
            }

            /// The view of an object of this kind.
            pub fn of(
                kind: Kind,
                value: &serde_json::Value,
            ) -> Result<Self, serde_json::Error> {
                match kind {
                    $(Kind::$kind => {
                        $kind::deserialize(value).map(|object| Self::$kind(Arc::new(object)))
                    })*
                }
            }
        }

        $(impl From<$kind> for Object {
            fn from(object: $kind) -> Self {
                Self::$kind(Arc::new(object))
            }
        }

        impl From<Arc<$kind>> for Object {
            fn from(object: Arc<$kind>) -> Self {
                Self::$kind(object)
            }
        })*
    };
}

kinds! {
    Namespace,
    PriorityClass,
    Node,
    StorageClass,
    PersistentVolume,
    PersistentVolumeClaim,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    VolumeAttachment,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
    Service,
    PodDisruptionBudget,
    ReplicationController,
    ReplicaSet,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    Pod,
}

impl Object {
    /// `metadata.name`, or nothing.
    pub fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`; nothing for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        match self.metadata().namespace.as_deref() {
            Some(namespace) if self.kind().is_namespaced() => namespace,
            _ => "",
        }
    }

    /// Kind and name as people say it: `Pod shop/web-0`, `Node a1`.
    pub fn title(&self) -> String {
        let name = match self.name() {
            "" => "(without a name)",
            name => name,
        };
        match (self.namespace(), name) {
            ("", name) => format!("{} {name}", self.kind().as_str()),
            (namespace, name) => format!("{} {namespace}/{name}", self.kind().as_str()),
        }
    }
}
