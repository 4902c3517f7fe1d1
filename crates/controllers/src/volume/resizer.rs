//! Simulated volumes grow with their claims. Plays an external resizer whose driver needs no help from the
//! node: first the volume, then what the claim says of it.

use super::{PROVISIONED_BY, PROVISIONER, claim_phase, volume_name};
use crate::common::{Amount, amount, annotation, time, uid};
use crate::{Cx, Event, Key, Outcome, Plan, Write};
use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimCondition,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use std::collections::BTreeMap;

const STORAGE: &str = "storage";
const RESIZING: &str = "Resizing";
/// Conditions that end when a volume has its size.
const ENDED: [&str; 4] = [
    RESIZING,
    "FileSystemResizePending",
    "ControllerResizeError",
    "NodeResizeError",
];

fn size(amounts: Option<&BTreeMap<String, Quantity>>) -> Option<(&Quantity, Amount)> {
    let quantity = amounts?.get(STORAGE)?;
    Some((quantity, amount(quantity)?))
}

/// What is to be done about a claim that has its volume.
pub(super) fn resize(cx: &Cx<'_>, claim: &PersistentVolumeClaim) -> Plan {
    let Some(volume) = cx.cluster.get::<PersistentVolume>("", volume_name(claim)) else {
        return Plan::nothing();
    };
    let spec = volume.spec.as_ref();
    let owner = spec.and_then(|spec| spec.claim_ref.as_ref());
    let is_its_own = owner.is_some_and(|owner| owner.uid.as_deref() == Some(uid(claim)));
    let is_ours = annotation(&*volume, PROVISIONED_BY) == Some(PROVISIONER);
    if !is_ours || !is_its_own || claim_phase(claim) != "Bound" {
        return Plan::nothing();
    }
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let requested = size(resources.and_then(|resources| resources.requests.as_ref()));
    let has = size(spec.and_then(|spec| spec.capacity.as_ref()));
    let status = claim.status.as_ref();
    let told = size(status.and_then(|status| status.capacity.as_ref()));
    let (Some((wanted, requested)), Some((capacity, has))) = (requested, has) else {
        return Plan::nothing();
    };
    if requested > has {
        return grow(cx, claim, &volume, wanted);
    }
    match told.is_some_and(|(_, told)| told < has) {
        true => Plan::write(finished(claim, capacity)),
        false => Plan::nothing(),
    }
}

/// Says so, makes the volume larger, and tells the claim.
fn grow(
    cx: &Cx<'_>,
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
    wanted: &Quantity,
) -> Plan {
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    let is_told = conditions.iter().any(|one| one.type_ == RESIZING);
    let mut writes = Vec::new();
    let mut plan = Plan::nothing();
    if !is_told {
        conditions.push(PersistentVolumeClaimCondition {
            type_: RESIZING.to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(time(cx.now)),
            ..PersistentVolumeClaimCondition::default()
        });
        writes.push(Write::update_status(&changed));
        let message = format!("External resizer is resizing volume {}", volume_name(claim));
        plan = plan.event(Event::normal(claim, RESIZING, message));
    }
    let patch = json!({
        "metadata": {"resourceVersion": volume.metadata.resource_version},
        "spec": {"capacity": {STORAGE: wanted}},
    });
    let key = Key::new("", volume_name(claim));
    writes.push(Write::merge::<PersistentVolume>(&key, "", &patch));
    plan.writes = writes;
    let (wanted, key) = (wanted.clone(), Key::of(claim));
    plan.then(move |cx, outcomes| {
        let now = cx
            .cluster
            .get::<PersistentVolumeClaim>(&key.namespace, &key.name);
        match now.filter(|_| outcomes.iter().all(Outcome::is_done)) {
            Some(claim) => Plan::write(finished(&claim, &wanted)),
            None => Plan::nothing(),
        }
    })
}

/// The claim says that its volume has this size.
fn finished(claim: &PersistentVolumeClaim, size: &Quantity) -> Write {
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    let sized = || BTreeMap::from([(STORAGE.to_owned(), size.clone())]);
    status.capacity.get_or_insert_default().extend(sized());
    let allocated = status.allocated_resources.get_or_insert_default();
    allocated.extend(sized());
    let conditions = status.conditions.take().unwrap_or_default();
    let left: Vec<_> = conditions
        .into_iter()
        .filter(|one| !ENDED.contains(&one.type_.as_str()))
        .collect();
    status.conditions = (!left.is_empty()).then_some(left);
    let about = claim.clone();
    Write::update_status(&changed).telling(move |outcome| {
        let message = "Resize volume succeeded";
        let event = Event::normal(&about, "VolumeResizeSuccessful", message);
        outcome.is_done().then_some(event)
    })
}
