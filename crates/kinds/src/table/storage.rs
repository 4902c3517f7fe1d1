//! `storage.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

pub(super) static CSIDRIVER: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSIDriver",
    plural: "csidrivers",
    singular: "csidriver",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.storage.v1.CSIDriver",
    strategy: &crate::storage::csi_driver::CsiDriver,
    fields: &METADATA,
    columns: &columns::CSI_DRIVERS,
};

pub(super) static CSINODE: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSINode",
    plural: "csinodes",
    singular: "csinode",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.storage.v1.CSINode",
    strategy: &crate::storage::csi_node::CsiNode,
    fields: &METADATA,
    columns: &columns::CSI_NODES,
};

pub(super) static CSISTORAGE_CAPACITY: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    singular: "csistoragecapacity",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.storage.v1.CSIStorageCapacity",
    strategy: &crate::storage::csi_storage_capacity::CsiStorageCapacity,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static STORAGE_CLASS: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "StorageClass",
    plural: "storageclasses",
    singular: "storageclass",
    short_names: &["sc"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.storage.v1.StorageClass",
    strategy: &crate::storage::storage_class::StorageClass,
    fields: &METADATA,
    columns: &columns::STORAGE_CLASSES,
};

pub(super) static VOLUME_ATTACHMENT: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    singular: "volumeattachment",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "VolumeAttachment",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.storage.v1.VolumeAttachment",
    strategy: &crate::storage::volume_attachment::VolumeAttachment,
    fields: &METADATA,
    columns: &columns::VOLUME_ATTACHMENTS,
};

pub(super) static VOLUME_ATTRIBUTES_CLASS: Kind = Kind {
    group: "storage.k8s.io",
    version: "v1",
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    singular: "volumeattributesclass",
    short_names: &["vac"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.storage.v1.VolumeAttributesClass",
    strategy: &crate::storage::volume_attributes_class::VolumeAttributesClass,
    fields: &METADATA,
    columns: &columns::VOLUME_ATTRIBUTES_CLASSES,
};
