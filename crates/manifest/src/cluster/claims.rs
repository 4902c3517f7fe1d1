//! What the controllers of claims and volumes would do.
//!
//! Upstream: `pkg/controller/volume/persistentvolume`. Claims that nobody named a volume
//! for stay as they are: with `WaitForFirstConsumer` placement decides, and where the volume of an
//! `Immediate` claim would come to be nobody can tell.

use crate::cluster::Loaded;
use k8s_openapi::api::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus,
    PersistentVolumeStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_api::load::Object;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

type Id = (String, String);

fn id(metadata: &ObjectMeta) -> Id {
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

/// Binds claims and volumes of which one names the other.
pub(super) fn bind_named(objects: &mut [Loaded]) {
    let mut claim_at: BTreeMap<Id, usize> = BTreeMap::new();
    let mut volume_at: BTreeMap<String, usize> = BTreeMap::new();
    for (i, loaded) in objects.iter().enumerate() {
        match &loaded.object {
            Object::PersistentVolumeClaim(claim) => {
                claim_at.insert(id(&claim.metadata), i);
            }
            Object::PersistentVolume(volume) => {
                volume_at.insert(volume.metadata.name.clone().unwrap_or_default(), i);
            }
            _ => {}
        }
    }
    let mut pairs = BTreeSet::new();
    for (i, loaded) in objects.iter().enumerate() {
        match &loaded.object {
            Object::PersistentVolumeClaim(claim) => {
                let name = claim
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.volume_name.as_ref());
                pairs.extend(
                    name.and_then(|name| volume_at.get(name))
                        .map(|volume| (i, *volume)),
                );
            }
            Object::PersistentVolume(volume) => {
                let claim = volume
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.claim_ref.as_ref());
                let named = |claim: &ObjectReference| {
                    (
                        claim.namespace.clone().unwrap_or_default(),
                        claim.name.clone().unwrap_or_default(),
                    )
                };
                pairs.extend(
                    claim
                        .and_then(|claim| claim_at.get(&named(claim)))
                        .map(|claim| (*claim, i)),
                );
            }
            _ => {}
        }
    }
    for (claim_at, volume_at) in pairs {
        let Ok([claim, volume]) = objects.get_disjoint_mut([claim_at, volume_at]) else {
            continue;
        };
        if let (Object::PersistentVolumeClaim(claim), Object::PersistentVolume(volume)) =
            (&mut claim.object, &mut volume.object)
        {
            bind(Arc::make_mut(claim), Arc::make_mut(volume));
        }
    }
}

/// Binds the two, unless one of them is meant for another.
fn bind(claim: &mut PersistentVolumeClaim, volume: &mut PersistentVolume) {
    let (Some(claim_spec), Some(volume_spec)) = (&mut claim.spec, &mut volume.spec) else {
        return;
    };
    let volume_name = volume.metadata.name.clone().unwrap_or_default();
    let is_own = |reference: &ObjectReference| {
        reference.namespace == claim.metadata.namespace
            && reference.name == claim.metadata.name
            && reference
                .uid
                .as_ref()
                .is_none_or(|uid| Some(uid) == claim.metadata.uid.as_ref())
    };
    let named = claim_spec.volume_name.as_deref().unwrap_or_default();
    if !(named.is_empty() || named == volume_name)
        || !volume_spec.claim_ref.as_ref().is_none_or(is_own)
    {
        return;
    }
    claim_spec.volume_name = Some(volume_name);
    let annotations = claim.metadata.annotations.get_or_insert_default();
    annotations
        .entry(BIND_COMPLETED.to_owned())
        .or_insert_with(|| "yes".to_owned());
    claim
        .status
        .get_or_insert_with(PersistentVolumeClaimStatus::default)
        .phase = Some("Bound".to_owned());
    volume_spec.claim_ref = Some(ObjectReference {
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        ..volume_spec.claim_ref.take().unwrap_or_default()
    });
    volume
        .status
        .get_or_insert_with(PersistentVolumeStatus::default)
        .phase = Some("Bound".to_owned());
}
