//! Storage classes of claims and volumes.

use crate::Cluster;
use crate::common::{annotation, created_at, name};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use std::sync::Arc;

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const BETA_IS_DEFAULT: &str = "storageclass.beta.kubernetes.io/is-default-class";

/// The class that a claim names; empty if it names none.
pub(super) fn of_claim(claim: &PersistentVolumeClaim) -> &str {
    let spec = claim.spec.as_ref();
    let named = annotation(claim, BETA_CLASS);
    let named = named.or_else(|| spec.and_then(|spec| spec.storage_class_name.as_deref()));
    named.unwrap_or_default()
}

/// Whether a claim says anything about its class, be it that it wants none.
pub(super) fn is_named(claim: &PersistentVolumeClaim) -> bool {
    let spec = claim.spec.as_ref();
    annotation(claim, BETA_CLASS).is_some()
        || spec.is_some_and(|spec| spec.storage_class_name.is_some())
}

/// The class of a volume; empty if it has none.
pub(super) fn of_volume(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref();
    let named = annotation(volume, BETA_CLASS);
    let named = named.or_else(|| spec.and_then(|spec| spec.storage_class_name.as_deref()));
    named.unwrap_or_default()
}

/// Whether the claim waits for its first consumer.
pub(super) fn is_delayed(cluster: &Cluster, claim: &PersistentVolumeClaim) -> bool {
    let class = cluster.get::<StorageClass>("", of_claim(claim));
    let mode = class
        .as_ref()
        .and_then(|class| class.volume_binding_mode.as_deref());
    mode == Some("WaitForFirstConsumer")
}

/// The class of claims that name none: the newest of those that say so.
pub(super) fn default(cluster: &Cluster) -> Option<Arc<StorageClass>> {
    let is_default = |class: &Arc<StorageClass>| {
        let says = |key: &str| annotation(&**class, key) == Some("true");
        says(IS_DEFAULT) || says(BETA_IS_DEFAULT)
    };
    let classes = cluster.all::<StorageClass>().into_iter().filter(is_default);
    classes.min_by(|a, b| {
        let newest = created_at(&**b).cmp(&created_at(&**a));
        newest.then_with(|| name(&**a).cmp(name(&**b)))
    })
}
