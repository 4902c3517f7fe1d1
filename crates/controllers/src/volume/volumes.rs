//! Volumes: their phase, and what becomes of them when their claim is gone.

use super::{BOUND_BY_CONTROLLER, PROVISIONED_BY, matching, volume_name, volume_phase};
use crate::common::{annotation, name, uid};
use crate::{Cx, Event, Plan, Write};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use std::sync::Arc;

/// Upstream's `syncVolume`.
pub(super) fn sync(cx: &Cx<'_>, volume: &Arc<PersistentVolume>) -> Plan {
    let reference = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    let given = reference
        .and_then(|reference| reference.uid.as_deref())
        .unwrap_or_default();
    let Some(reference) = reference.filter(|_| !given.is_empty()) else {
        return with_phase(volume, "Available");
    };
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (namespace, claim) = (text(&reference.namespace), text(&reference.name));
    let claim = cx.cluster.get::<PersistentVolumeClaim>(&namespace, &claim);
    match claim.filter(|claim| uid(&**claim) == given) {
        None => released(volume),
        Some(claim) if volume_name(&claim).is_empty() => {
            if matching::modes_agree(volume, &claim) {
                // The claim is looked at, too: it binds.
                return Plan::nothing();
            }
            let about_claim = format!(
                "Cannot bind PersistentVolume {:?} to requested PersistentVolumeClaim due to incompatible volumeMode.",
                name(&**volume)
            );
            let about_volume = format!(
                "Cannot bind PersistentVolume to requested PersistentVolumeClaim {:?} due to incompatible volumeMode.",
                name(&*claim)
            );
            Plan::nothing()
                .event(Event::warning(&**volume, "VolumeMismatch", about_volume))
                .event(Event::warning(&*claim, "VolumeMismatch", about_claim))
        }
        Some(claim) if volume_name(&claim) == name(&**volume) => with_phase(volume, "Bound"),
        Some(_) if is_provisioned(volume) && policy(volume) == "Delete" => released(volume),
        Some(_) => unbind(volume),
    }
}

fn is_provisioned(volume: &PersistentVolume) -> bool {
    annotation(volume, PROVISIONED_BY).is_some()
}

fn policy(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    policy.unwrap_or("Retain")
}

fn with_phase(volume: &PersistentVolume, phase: &str) -> Plan {
    if volume_phase(volume) == phase {
        return Plan::nothing();
    }
    let mut changed = volume.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some(phase.to_owned());
    status.message = None;
    Plan::write(Write::update_status(&changed))
}

/// Its claim is gone: it is kept, or somebody deletes it.
fn released(volume: &Arc<PersistentVolume>) -> Plan {
    if !matches!(volume_phase(volume), "Released" | "Failed") {
        return with_phase(volume, "Released");
    }
    match policy(volume) {
        "Recycle" if volume_phase(volume) != "Failed" => {
            let message = "No recycler plugin found for the volume!";
            failed(volume, "VolumeFailedRecycle", message)
        }
        // Those that were provisioned are deleted by who provisioned them.
        "Delete" if !is_provisioned(volume) && volume_phase(volume) != "Failed" => {
            let has_driver = volume.spec.as_ref().is_some_and(|spec| spec.csi.is_some());
            match has_driver {
                true => Plan::nothing(),
                false => {
                    let message = "error getting deleter volume plugin for volume \"".to_owned()
                        + name(&**volume)
                        + "\": no deletable volume plugin matched";
                    failed(volume, "VolumeFailedDelete", &message)
                }
            }
        }
        _ => Plan::nothing(),
    }
}

fn failed(volume: &PersistentVolume, reason: &'static str, message: &str) -> Plan {
    let mut changed = volume.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some("Failed".to_owned());
    status.message = Some(message.to_owned());
    Plan::write(Write::update_status(&changed)).event(Event::warning(volume, reason, message))
}

/// The claim has another volume: this one is free again. Upstream's `unbindVolume`.
fn unbind(volume: &PersistentVolume) -> Plan {
    let mut changed = volume.clone();
    let spec = changed.spec.get_or_insert_default();
    match annotation(volume, BOUND_BY_CONTROLLER) {
        Some(_) => {
            spec.claim_ref = None;
            if let Some(annotations) = &mut changed.metadata.annotations {
                annotations.remove(BOUND_BY_CONTROLLER);
            }
        }
        None => spec
            .claim_ref
            .iter_mut()
            .for_each(|reference| reference.uid = None),
    }
    Plan::write(Write::update(&changed))
}
