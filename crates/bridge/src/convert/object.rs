//! Objects of any kind.

use super::{ConvertError, Door, devices, node, pod, storage, workload};
use serde_json::Value;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::parse::parse;
use stowplan_engine::model::{Kind, Object};

impl From<stowplan_api::parse::ParseError> for ConvertError {
    fn from(error: stowplan_api::parse::ParseError) -> Self {
        Self {
            field: error.field,
            message: error.message,
        }
    }
}

/// An API object as JSON. `kind` decides; the object's own `kind` is not looked at.
pub fn object(door: &mut Door<'_>, kind: Kind, json: &Value) -> Result<Object, ConvertError> {
    Ok(match kind {
        Kind::Pod => Object::Pod(Arc::new(pod::pod(door, &parse(json)?)?)),
        Kind::Node => Object::Node(Arc::new(node::node(door, &parse(json)?)?)),
        Kind::Namespace => Object::Namespace(Arc::new(workload::namespace(door, &parse(json)?))),
        Kind::PodDisruptionBudget => {
            Object::PodDisruptionBudget(Arc::new(workload::budget(door, &parse(json)?)?))
        }
        Kind::PersistentVolume => {
            Object::PersistentVolume(Arc::new(storage::persistent_volume(door, &parse(json)?)?))
        }
        Kind::PersistentVolumeClaim => Object::PersistentVolumeClaim(Arc::new(
            storage::persistent_volume_claim(door, &parse(json)?)?,
        )),
        Kind::StorageClass => {
            Object::StorageClass(Arc::new(storage::storage_class(door, &parse(json)?)?))
        }
        Kind::CSINode => Object::CSINode(Arc::new(storage::csi_node(door, &parse(json)?))),
        Kind::CSIDriver => Object::CSIDriver(Arc::new(storage::csi_driver(door, &parse(json)?))),
        Kind::CSIStorageCapacity => Object::CSIStorageCapacity(Arc::new(
            storage::csi_storage_capacity(door, &parse(json)?)?,
        )),
        Kind::VolumeAttachment => {
            Object::VolumeAttachment(Arc::new(storage::volume_attachment(door, &parse(json)?)))
        }
        Kind::Service => {
            let service: core::Service = parse(json)?;
            let map = service
                .spec
                .as_ref()
                .and_then(|spec| spec.selector.as_ref());
            Object::Service(Arc::new(workload::owner_by_map(
                door,
                kind,
                &service.metadata,
                map,
            )))
        }
        Kind::ReplicationController => {
            let rc: core::ReplicationController = parse(json)?;
            let map = rc.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let owner = workload::owner_by_map(door, kind, &rc.metadata, map);
            Object::ReplicationController(Arc::new(owner))
        }
        Kind::ReplicaSet => {
            let set: stowplan_api::k8s::api::apps::v1::ReplicaSet = parse(json)?;
            let wanted = set.spec.as_ref().map(|spec| &spec.selector);
            let owner = workload::owner_by_selector(door, kind, &set.metadata, wanted)?;
            Object::ReplicaSet(Arc::new(owner))
        }
        Kind::StatefulSet => {
            let set: stowplan_api::k8s::api::apps::v1::StatefulSet = parse(json)?;
            let wanted = set.spec.as_ref().map(|spec| &spec.selector);
            let owner = workload::owner_by_selector(door, kind, &set.metadata, wanted)?;
            Object::StatefulSet(Arc::new(owner))
        }
        Kind::ResourceClaim => {
            Object::ResourceClaim(Arc::new(devices::resource_claim(door, &parse(json)?)?))
        }
        Kind::ResourceSlice => {
            Object::ResourceSlice(Arc::new(devices::resource_slice(door, &parse(json)?)))
        }
        Kind::DeviceClass => {
            Object::DeviceClass(Arc::new(devices::device_class(door, &parse(json)?)))
        }
    })
}
