//! Claims that have a volume, and how they get it.

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, claim_phase, matching, volume_name, volume_phase,
};
use crate::common::{name, namespace, uid};
use crate::{Cx, Event, Key, Plan, Write};
use k8s_openapi::api::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus,
};
use std::sync::Arc;

/// A claim that was bound once. Upstream's `syncBoundClaim`.
pub(super) fn sync(cx: &Cx<'_>, claim: &Arc<PersistentVolumeClaim>) -> Plan {
    if volume_name(claim).is_empty() {
        let message =
            "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
        return lost(claim, "ClaimLost", message);
    }
    let Some(volume) = cx.cluster.get::<PersistentVolume>("", volume_name(claim)) else {
        let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
        return lost(claim, "ClaimLost", message);
    };
    let reference = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    match reference {
        Some(reference) if reference.uid.as_deref() != Some(uid(&**claim)) => {
            let message = "Two claims are bound to the same volume, this one is bound incorrectly";
            lost(claim, "ClaimMisbound", message)
        }
        _ => bind(cx, &volume, claim),
    }
}

fn lost(claim: &PersistentVolumeClaim, reason: &'static str, message: &str) -> Plan {
    if claim_phase(claim) == "Lost" {
        return Plan::nothing();
    }
    with_status(claim, "Lost", None).event(Event::warning(claim, reason, message))
}

/// The claim waits.
pub(super) fn pending(claim: &PersistentVolumeClaim) -> Plan {
    with_status(claim, "Pending", None)
}

/// Brings the status of a claim up to date. Upstream's `updateClaimStatus`.
fn with_status(
    claim: &PersistentVolumeClaim,
    phase: &str,
    volume: Option<&PersistentVolume>,
) -> Plan {
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    let is_new = status.phase.as_deref() != Some(phase);
    status.phase = Some(phase.to_owned());
    match volume.and_then(|volume| volume.spec.as_ref()) {
        None => {
            *status = PersistentVolumeClaimStatus {
                access_modes: None,
                capacity: None,
                current_volume_attributes_class_name: None,
                ..status.clone()
            };
        }
        Some(spec) => {
            status.access_modes.clone_from(&spec.access_modes);
            // Later the claim's own capacity counts: it may be resized.
            if is_new {
                status.capacity.clone_from(&spec.capacity);
                let class = &spec.volume_attributes_class_name;
                status
                    .current_volume_attributes_class_name
                    .clone_from(class);
            }
        }
    }
    match changed.status == claim.status {
        true => Plan::nothing(),
        false => Plan::write(Write::update_status(&changed)),
    }
}

/// Binds a volume and a claim to each other, in four writes; each is made only if it is missing, so that it
/// can be gone on with at any time. Upstream's `bind`.
pub(super) fn bind(
    _: &Cx<'_>,
    volume: &Arc<PersistentVolume>,
    claim: &Arc<PersistentVolumeClaim>,
) -> Plan {
    let (volume_key, claim_key) = (Key::of(&**volume), Key::of(&**claim));
    if let Some(write) = volume_to_claim(volume, claim) {
        return Plan::write(write).then(again(volume_key, claim_key));
    }
    if volume_phase(volume) != "Bound" {
        let mut changed = PersistentVolume::clone(volume);
        let status = changed.status.get_or_insert_default();
        status.phase = Some("Bound".to_owned());
        status.message = None;
        return Plan::write(Write::update_status(&changed)).then(again(volume_key, claim_key));
    }
    if let Some(write) = claim_to_volume(volume, claim) {
        return Plan::write(write).then(again(volume_key, claim_key));
    }
    with_status(claim, "Bound", Some(volume))
}

/// The next step, if the one before was made.
fn again(
    volume: Key,
    claim: Key,
) -> impl FnOnce(&Cx<'_>, &[crate::Outcome]) -> Plan + Send + 'static {
    move |cx, outcomes| {
        let volume = cx.cluster.get::<PersistentVolume>("", &volume.name);
        let claim = cx
            .cluster
            .get::<PersistentVolumeClaim>(&claim.namespace, &claim.name);
        match (volume, claim) {
            (Some(volume), Some(claim)) if outcomes.iter().all(crate::Outcome::is_done) => {
                bind(cx, &volume, &claim)
            }
            _ => Plan::nothing(),
        }
    }
}

fn volume_to_claim(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<Write> {
    let spec = volume.spec.as_ref()?;
    let is_exact = spec.claim_ref.as_ref().is_some_and(|reference| {
        reference.name.as_deref() == Some(name(claim))
            && reference.namespace.as_deref() == Some(namespace(claim))
            && reference.uid.as_deref() == Some(uid(claim))
    });
    if is_exact {
        return None;
    }
    let mut changed = volume.clone();
    if !matching::is_bound_to(volume, claim) {
        let annotations = changed.metadata.annotations.get_or_insert_default();
        annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    }
    changed.spec.get_or_insert_default().claim_ref = Some(reference(claim));
    Some(Write::update(&changed))
}

/// A reference to a claim.
pub(super) fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: Some(namespace(claim).to_owned()),
        name: Some(name(claim).to_owned()),
        uid: Some(uid(claim).to_owned()),
        resource_version: claim.metadata.resource_version.clone(),
        field_path: None,
    }
}

fn claim_to_volume(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<Write> {
    let mut changed = claim.clone();
    let annotations = changed.metadata.annotations.get_or_insert_default();
    if volume_name(claim) != name(volume) {
        annotations
            .entry(BOUND_BY_CONTROLLER.to_owned())
            .or_insert_with(|| "yes".to_owned());
        changed.spec.get_or_insert_default().volume_name = Some(name(volume).to_owned());
    }
    let annotations = changed.metadata.annotations.get_or_insert_default();
    annotations
        .entry(BIND_COMPLETED.to_owned())
        .or_insert_with(|| "yes".to_owned());
    (changed != *claim).then(|| Write::update(&changed))
}
