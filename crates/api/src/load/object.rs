//! The kinds of objects that scheduling reads.

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{
        Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
        Service,
    },
    policy::v1::PodDisruptionBudget,
    resource::v1::{DeviceClass, ResourceClaim, ResourceSlice},
    scheduling::v1::PriorityClass,
    storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use serde::Deserialize;
use std::sync::Arc;

macro_rules! kinds {
    ($($kind:ident, $namespaced:literal;)*) => {
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

            /// Whether objects of this kind live in namespaces.
            pub fn is_namespaced(self) -> bool {
                match self {
                    $(Self::$kind => $namespaced,)*
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
    Namespace, false;
    PriorityClass, false;
    Node, false;
    StorageClass, false;
    PersistentVolume, false;
    PersistentVolumeClaim, true;
    CSIDriver, false;
    CSINode, false;
    CSIStorageCapacity, true;
    VolumeAttachment, false;
    DeviceClass, false;
    ResourceClaim, true;
    ResourceSlice, false;
    Service, true;
    PodDisruptionBudget, true;
    ReplicationController, true;
    ReplicaSet, true;
    Deployment, true;
    StatefulSet, true;
    DaemonSet, true;
    Job, true;
    Pod, true;
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
