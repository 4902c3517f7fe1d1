//! Which volume suits a claim. Upstream: `component-helpers/storage/volume/pv_helpers.go`.

use super::{classes, volume_phase};
use crate::Cluster;
use crate::common::{Amount, Selector, amount, is_deleting, labels, name, namespace, uid};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use std::sync::Arc;

/// Whether the volume is meant for this claim: by name, and by uid if it says one.
pub(super) fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let reference = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    reference.is_some_and(|reference| {
        let given = reference.uid.as_deref().unwrap_or_default();
        reference.name.as_deref() == Some(name(claim))
            && reference.namespace.as_deref() == Some(namespace(claim))
            && (given.is_empty() || given == uid(claim))
    })
}

fn capacity(volume: &PersistentVolume) -> Option<Amount> {
    amount(volume.spec.as_ref()?.capacity.as_ref()?.get("storage")?)
}

fn requested(claim: &PersistentVolumeClaim) -> Amount {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    requests
        .and_then(|requests| amount(requests.get("storage")?))
        .unwrap_or(0)
}

fn has_modes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let offered = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.access_modes.as_deref());
    let offered = offered.unwrap_or_default();
    let wanted = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.access_modes.as_deref());
    wanted
        .unwrap_or_default()
        .iter()
        .all(|mode| offered.contains(mode))
}

fn is_same_mode(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let mode = |given: Option<&str>| given.unwrap_or("Filesystem").to_owned();
    let volume = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_mode.as_deref());
    let claim = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_mode.as_deref());
    mode(volume) == mode(claim)
}

fn is_same_attributes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let volume = volume
        .spec
        .as_ref()
        .and_then(|s| s.volume_attributes_class_name.as_deref());
    let claim = claim
        .spec
        .as_ref()
        .and_then(|s| s.volume_attributes_class_name.as_deref());
    volume.unwrap_or_default() == claim.unwrap_or_default()
}

/// Why a volume that the claim names does not suit it. Upstream's `checkVolumeSatisfyClaim`.
pub(super) fn mismatch(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Option<&'static str> {
    if capacity(volume).unwrap_or(0) < requested(claim) {
        return Some("requested PV is too small");
    }
    if classes::of_volume(volume) != classes::of_claim(claim) {
        return Some("storageClassName does not match");
    }
    if !is_same_attributes(volume, claim) {
        return Some("volumeAttributesClassName does not match");
    }
    if !is_same_mode(volume, claim) {
        return Some("incompatible volumeMode");
    }
    (!has_modes(volume, claim)).then_some("incompatible accessMode")
}

/// Whether the volume's mode is the claim's.
pub(super) fn modes_agree(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    is_same_mode(volume, claim)
}

/// The volume that suits a claim best: the one that is meant for it, else the smallest with the fewest
/// access modes.
pub(super) fn best(
    cluster: &Cluster,
    claim: &PersistentVolumeClaim,
    is_delayed: bool,
) -> Option<Arc<PersistentVolume>> {
    let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let suits = |volume: &Arc<PersistentVolume>| {
        let is_meant = is_bound_to(volume, claim);
        let is_taken = volume
            .spec
            .as_ref()
            .is_some_and(|spec| spec.claim_ref.is_some())
            && !is_meant;
        !is_taken
            && has_modes(volume, claim)
            && capacity(volume).unwrap_or(0) >= requested(claim)
            && is_same_mode(volume, claim)
            && is_same_attributes(volume, claim)
            && !is_deleting(&**volume)
            && (is_meant
                || (!is_delayed
                    && volume_phase(volume) == "Available"
                    && selector.is_none_or(|s| Selector::new(Some(s)).matches(labels(&**volume)))
                    && classes::of_volume(volume) == classes::of_claim(claim)))
    };
    let candidates = cluster.all::<PersistentVolume>().into_iter().filter(suits);
    candidates.min_by_key(|volume| {
        let modes = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.access_modes.as_ref());
        let modes = modes.map_or(0, Vec::len);
        (
            !is_bound_to(volume, claim),
            modes,
            capacity(volume),
            name(&**volume).to_owned(),
        )
    })
}
