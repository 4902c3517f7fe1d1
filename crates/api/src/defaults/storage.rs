//! Defaults of volumes and claims.
//!
//! Upstream: `pkg/apis/core/v1/defaults.go`, `pkg/apis/storage/v1/defaults.go` and the admission
//! plugin DefaultStorageClass.

use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus, PersistentVolumeStatus,
};
use k8s_openapi::api::storage::v1::StorageClass;

const IS_DEFAULT: &[&str] = &[
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The class of claims that name none: the newest of those marked as default, the first by name
/// among equally new ones.
pub fn default_storage_class<'a>(
    classes: impl IntoIterator<Item = &'a StorageClass>,
) -> Option<String> {
    let marked = |class: &&StorageClass| {
        let annotations = class.metadata.annotations.as_ref();
        IS_DEFAULT.iter().any(|key| {
            annotations
                .and_then(|a| a.get(*key))
                .is_some_and(|value| value == "true")
        })
    };
    let newest_first = |class: &&StorageClass| {
        let created = class
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0);
        (std::cmp::Reverse(created), class.metadata.name.clone())
    };
    classes
        .into_iter()
        .filter(marked)
        .min_by_key(newest_first)?
        .metadata
        .name
        .clone()
}

/// A claim's class and mode.
pub(super) fn claim(claim: &mut PersistentVolumeClaim, default_class: Option<&str>) {
    let annotated = claim
        .metadata
        .annotations
        .as_ref()
        .is_some_and(|a| a.contains_key(OLD_CLASS));
    let spec = claim.spec.get_or_insert_default();
    if !annotated {
        claim_spec(spec, default_class);
    }
    spec.volume_mode
        .get_or_insert_with(|| "Filesystem".to_owned());
    let status = claim
        .status
        .get_or_insert_with(PersistentVolumeClaimStatus::default);
    status.phase.get_or_insert_with(|| "Pending".to_owned());
}

fn claim_spec(spec: &mut PersistentVolumeClaimSpec, default_class: Option<&str>) {
    if spec.storage_class_name.is_none() {
        spec.storage_class_name = default_class.map(str::to_owned);
    }
}

/// A volume's mode and phase. The API server says Pending, and the volume controller at once
/// Available; a volume that was written by hand has not met it.
pub(super) fn volume(volume: &mut PersistentVolume) {
    let Some(spec) = &mut volume.spec else { return };
    spec.volume_mode
        .get_or_insert_with(|| "Filesystem".to_owned());
    let phase = if spec.claim_ref.is_some() {
        "Bound"
    } else {
        "Available"
    };
    let status = volume
        .status
        .get_or_insert_with(PersistentVolumeStatus::default);
    status.phase.get_or_insert_with(|| phase.to_owned());
}

/// A class's binding mode.
pub(super) fn class(class: &mut StorageClass) {
    class
        .volume_binding_mode
        .get_or_insert_with(|| "Immediate".to_owned());
}
