//! Objects of any kind.

use super::{ConvertError, Interner, devices, node, pod, storage, workload};
use serde_json::Value;
use std::sync::Arc;
use stowplan_api::load::{Kind as ApiKind, Object as ApiObject};
use stowplan_engine::for_each_kind;
use stowplan_engine::model::{Kind, Object};

/// An API object as JSON. `kind` decides; the object's own `kind` is not looked at.
pub fn object(
    interner: &mut Interner<'_>,
    kind: Kind,
    json: &Value,
) -> Result<Object, ConvertError> {
    let read = ApiObject::of(api_kind(kind), json)
        .map_err(|error| ConvertError::new(String::new(), error.to_string()))?;
    let converted = api_object(interner, &read)?;
    Ok(converted.expect("every kind of the engine has its kind in the API"))
}

macro_rules! api_kind {
    ($kind:expr; $($known:ident($_:ident),)*) => {
        match $kind {
            $(Kind::$known => ApiKind::$known,)*
        }
    };
}

/// The kind as the API knows it.
pub(crate) fn api_kind(kind: Kind) -> ApiKind {
    for_each_kind!(api_kind; kind;)
}

/// An API object; `None` if it is of a kind that the engine does not keep: workloads that own pods
/// by way of others, and what is only read when pods are created.
pub fn api_object(
    interner: &mut Interner<'_>,
    given: &ApiObject,
) -> Result<Option<Object>, ConvertError> {
    Ok(Some(match given {
        ApiObject::Pod(given) => Object::Pod(Arc::new(pod::pod(interner, given)?)),
        ApiObject::Node(given) => Object::Node(Arc::new(node::node(interner, given)?)),
        ApiObject::Namespace(given) => {
            Object::Namespace(Arc::new(workload::namespace(interner, given)))
        }
        ApiObject::PodDisruptionBudget(given) => {
            Object::PodDisruptionBudget(Arc::new(workload::budget(interner, given)?))
        }
        ApiObject::PersistentVolume(given) => {
            Object::PersistentVolume(Arc::new(storage::persistent_volume(interner, given)?))
        }
        ApiObject::PersistentVolumeClaim(given) => Object::PersistentVolumeClaim(Arc::new(
            storage::persistent_volume_claim(interner, given)?,
        )),
        ApiObject::StorageClass(given) => {
            Object::StorageClass(Arc::new(storage::storage_class(interner, given)?))
        }
        ApiObject::CSINode(given) => Object::CSINode(Arc::new(storage::csi_node(interner, given))),
        ApiObject::CSIDriver(given) => {
            Object::CSIDriver(Arc::new(storage::csi_driver(interner, given)))
        }
        ApiObject::CSIStorageCapacity(given) => {
            Object::CSIStorageCapacity(Arc::new(storage::csi_storage_capacity(interner, given)?))
        }
        ApiObject::VolumeAttachment(given) => {
            Object::VolumeAttachment(Arc::new(storage::volume_attachment(interner, given)))
        }
        ApiObject::Service(given) => {
            let map = given.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let owner = workload::owner_by_map(interner, Kind::Service, &given.metadata, map);
            Object::Service(Arc::new(owner))
        }
        ApiObject::ReplicationController(given) => {
            let map = given.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let kind = Kind::ReplicationController;
            let owner = workload::owner_by_map(interner, kind, &given.metadata, map);
            Object::ReplicationController(Arc::new(owner))
        }
        ApiObject::ReplicaSet(given) => {
            let wanted = given.spec.as_ref().map(|spec| &spec.selector);
            let kind = Kind::ReplicaSet;
            let owner = workload::owner_by_selector(interner, kind, &given.metadata, wanted)?;
            Object::ReplicaSet(Arc::new(owner))
        }
        ApiObject::StatefulSet(given) => {
            let wanted = given.spec.as_ref().map(|spec| &spec.selector);
            let kind = Kind::StatefulSet;
            let owner = workload::owner_by_selector(interner, kind, &given.metadata, wanted)?;
            Object::StatefulSet(Arc::new(owner))
        }
        ApiObject::ResourceClaim(given) => {
            Object::ResourceClaim(Arc::new(devices::resource_claim(interner, given)?))
        }
        ApiObject::ResourceSlice(given) => {
            Object::ResourceSlice(Arc::new(devices::resource_slice(interner, given)))
        }
        ApiObject::DeviceClass(given) => {
            Object::DeviceClass(Arc::new(devices::device_class(interner, given)))
        }
        ApiObject::PriorityClass(_)
        | ApiObject::Deployment(_)
        | ApiObject::DaemonSet(_)
        | ApiObject::Job(_) => return Ok(None),
    }))
}
