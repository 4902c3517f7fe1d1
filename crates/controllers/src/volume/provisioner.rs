//! Storage that is simulated: volumes for claims of classes with [`PROVISIONER`].
//!
//! Plays an external provisioner, such as a CSI driver brings one: it makes the volume that a claim asks
//! for, within the zone of the node that was chosen, lets it grow with the claim, and deletes it when its claim
//! is gone.

use super::{
    BOUND_BY_CONTROLLER, PROVISIONED_BY, SELECTED_NODE, STORAGE_PROVISIONER, bound, classes,
    resizer, volume_name, volume_phase,
};
use crate::common::{annotation, label, name, uid};
use crate::{Controller, Cx, Event, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::{Value, json};

/// Who makes simulated volumes: `provisioner` of a StorageClass.
pub const PROVISIONER: &str = "simulated.stowplan.dev";

/// Where a volume can be reached from.
const ZONE: &str = "topology.kubernetes.io/zone";

/// `stowplan-provisioner-controller`: not one of upstream's.
#[derive(Default)]
pub struct Provisioner;

impl Controller for Provisioner {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<PersistentVolumeClaim>();
        watches.on_each::<PersistentVolume>();
        watches.reads::<StorageClass>();
        watches.reads::<Node>();
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        if key.namespace.is_empty() {
            return reclaim(cx, key);
        }
        let claim = cx
            .cluster
            .get::<PersistentVolumeClaim>(&key.namespace, &key.name);
        claim.map_or_else(Plan::nothing, |claim| match volume_name(&claim) {
            "" => provision(cx, &claim),
            _ => resizer::resize(cx, &claim),
        })
    }

    fn component(&self) -> Option<&'static str> {
        Some(PROVISIONER)
    }
}

/// Deletes a volume of ours that nobody claims any more.
fn reclaim(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(volume) = cx.cluster.get::<PersistentVolume>("", &key.name) else {
        return Plan::nothing();
    };
    let spec = volume.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    let is_ours = annotation(&*volume, PROVISIONED_BY) == Some(PROVISIONER);
    let is_over = volume_phase(&volume) == "Released" && policy == Some("Delete");
    match is_ours && is_over && volume.metadata.deletion_timestamp.is_none() {
        true => Plan::write(Write::delete(&*volume)),
        false => Plan::nothing(),
    }
}

fn provision(cx: &Cx<'_>, claim: &PersistentVolumeClaim) -> Plan {
    let is_ours = annotation(claim, STORAGE_PROVISIONER) == Some(PROVISIONER);
    if !is_ours || !volume_name(claim).is_empty() || claim.metadata.deletion_timestamp.is_some() {
        return Plan::nothing();
    }
    let Some(class) = cx.cluster.get::<StorageClass>("", classes::of_claim(claim)) else {
        return Plan::nothing();
    };
    let volume = format!("pvc-{}", uid(claim));
    if cx.cluster.get::<PersistentVolume>("", &volume).is_some() {
        return Plan::nothing();
    }
    let zone = match annotation(claim, SELECTED_NODE) {
        Some(node) => match cx.cluster.get::<Node>("", node) {
            Some(node) => label(&*node, ZONE).map(str::to_owned),
            None => return Plan::retry(format!("node {node:?} is not known")),
        },
        None if classes::is_delayed(cx.cluster, claim) => return Plan::nothing(),
        None => first_zone(&class),
    };
    let object = volume_for(claim, &class, &volume, zone.as_deref());
    let Ok(object) = serde_json::from_value::<PersistentVolume>(object) else {
        return Plan::retry("the volume makes no sense");
    };
    let about = claim.clone();
    let write = Write::create(&object)
        .tolerating(&[409])
        .telling(move |outcome| {
            let message = format!("Successfully provisioned volume {volume}");
            let event = Event::normal(&about, "ProvisioningSucceeded", message);
            outcome.is_done().then_some(event)
        });
    let message = format!(
        "External provisioner is provisioning volume for claim \"{}\"",
        Key::of(claim)
    );
    Plan::write(write).event(Event::normal(claim, "Provisioning", message))
}

/// The first zone that the class allows, if it says any.
fn first_zone(class: &StorageClass) -> Option<String> {
    let terms = class.allowed_topologies.iter().flatten();
    let mut expressions = terms.flat_map(|term| term.match_label_expressions.iter().flatten());
    let zones = expressions.find(|expression| expression.key == ZONE)?;
    zones.values.first().cloned()
}

fn volume_for(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    volume: &str,
    zone: Option<&str>,
) -> Value {
    let spec = claim.spec.as_ref();
    let resources = spec.and_then(|spec| spec.resources.as_ref());
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    let storage = requests.and_then(|requests| requests.get("storage"));
    let mut object = json!({
        "metadata": {
            "name": volume,
            "annotations": {PROVISIONED_BY: PROVISIONER, BOUND_BY_CONTROLLER: "yes"},
        },
        "spec": {
            "capacity": {"storage": storage},
            "accessModes": spec.and_then(|spec| spec.access_modes.clone()),
            "volumeMode": spec.and_then(|spec| spec.volume_mode.clone()),
            "storageClassName": name(class),
            "persistentVolumeReclaimPolicy": class.reclaim_policy.as_deref().unwrap_or("Delete"),
            "mountOptions": class.mount_options,
            "claimRef": bound::reference(claim),
            "csi": {"driver": PROVISIONER, "volumeHandle": volume},
        },
    });
    if let Some(zone) = zone {
        object["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]},
        ]}});
    }
    object
}
