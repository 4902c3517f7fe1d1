//! `persistentvolume-binder-controller`: which claim has which volume.
//!
//! Upstream: `pkg/controller/volume/persistentvolume`. Claims have a namespace in their keys, volumes do
//! not.

use super::bound::bind;
use super::matching::{best, is_bound_to, mismatch};
use super::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, PODS_BY_CLAIM, SELECTED_NODE,
    STORAGE_PROVISIONER, bound, claims_of, classes, volume_name, volumes,
};
use crate::common::{annotation, is_pod_finished, name};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use std::sync::Arc;
use std::time::Duration;

/// How often a claim that waits is looked at. Upstream's resync period.
const RESYNC: Duration = Duration::from_secs(15);

/// The index of claims that have no volume, by class.
const WAITING: &str = "waiting";

/// The controller.
#[derive(Default)]
pub struct Binder;

impl Controller for Binder {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(PODS_BY_CLAIM, claims_of);
        watches.index::<PersistentVolumeClaim>(WAITING, |claim| match volume_name(claim) {
            "" => vec![classes::of_claim(claim).to_owned()],
            _ => Vec::new(),
        });
        watches.reads::<Node>();
        watches.on::<StorageClass>(|cluster, delta, keys| {
            let class = name(&**delta.object());
            waiting(cluster, class, keys);
            waiting(cluster, "", keys);
        });
        watches.on::<PersistentVolumeClaim>(|_, delta, keys| {
            keys.add_object(&**delta.object());
            let volumes = [Some(delta.object()), delta.before()].into_iter().flatten();
            for volume in volumes
                .map(|claim| volume_name(claim))
                .filter(|v| !v.is_empty())
            {
                keys.add(Key::new("", volume));
            }
        });
        watches.on::<PersistentVolume>(volume_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        if key.namespace.is_empty() {
            let volume = cx.cluster.get::<PersistentVolume>("", &key.name);
            return volume.map_or_else(Plan::nothing, |volume| volumes::sync(cx, &volume));
        }
        let claim = cx
            .cluster
            .get::<PersistentVolumeClaim>(&key.namespace, &key.name);
        match claim {
            None => Plan::nothing(),
            Some(claim) if annotation(&*claim, BIND_COMPLETED).is_some() => bound::sync(cx, &claim),
            Some(claim) => unbound(cx, &claim),
        }
    }

    fn component(&self) -> Option<&'static str> {
        Some("persistentvolume-controller")
    }
}

fn waiting(cluster: &Cluster, class: &str, keys: &mut Keys) {
    for claim in cluster
        .of::<PersistentVolumeClaim>()
        .indexed(WAITING, class)
    {
        keys.add_object(&*claim);
    }
}

fn volume_changed(cluster: &Cluster, delta: &Delta<'_, PersistentVolume>, keys: &mut Keys) {
    let volume = delta.object();
    keys.add_object(&**volume);
    match volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref())
    {
        Some(reference) => {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            keys.add(Key::new(
                &text(&reference.namespace),
                &text(&reference.name),
            ));
        }
        None => waiting(cluster, classes::of_volume(volume), keys),
    }
}

/// A claim that has no volume yet. Upstream's `syncUnboundClaim`.
fn unbound(cx: &Cx<'_>, claim: &Arc<PersistentVolumeClaim>) -> Plan {
    if volume_name(claim).is_empty() {
        return without_volume(cx, claim);
    }
    let Some(volume) = cx.cluster.get::<PersistentVolume>("", volume_name(claim)) else {
        return bound::pending(claim).requeue_after(RESYNC);
    };
    let has_claim = volume
        .spec
        .as_ref()
        .is_some_and(|spec| spec.claim_ref.is_some());
    if !has_claim {
        return match mismatch(&volume, claim) {
            None => bind(cx, &volume, claim),
            Some(why) => {
                let message = format!(
                    "Cannot bind to requested volume {:?}: {why}",
                    name(&*volume)
                );
                let event = Event::warning(&**claim, "VolumeMismatch", message);
                bound::pending(claim).event(event).requeue_after(RESYNC)
            }
        };
    }
    if is_bound_to(&volume, claim) {
        return bind(cx, &volume, claim);
    }
    let message = format!(
        "volume {:?} already bound to a different claim.",
        name(&*volume)
    );
    let event = Event::warning(&**claim, "FailedBinding", message.clone());
    match annotation(&**claim, BOUND_BY_CONTROLLER) {
        None => bound::pending(claim).event(event).requeue_after(RESYNC),
        Some(_) => Plan::retry(message).event(event),
    }
}

fn without_volume(cx: &Cx<'_>, claim: &Arc<PersistentVolumeClaim>) -> Plan {
    let is_delayed = classes::is_delayed(cx.cluster, claim);
    if let Some(volume) = best(cx.cluster, claim, is_delayed) {
        return bind(cx, &volume, claim);
    }
    if !classes::is_named(claim)
        && let Some(class) = classes::default(cx.cluster)
    {
        let mut changed = PersistentVolumeClaim::clone(claim);
        let spec = changed.spec.get_or_insert_default();
        spec.storage_class_name = Some(name(&*class).to_owned());
        return Plan::write(Write::update(&changed));
    }
    let plan = bound::pending(claim).requeue_after(RESYNC);
    if is_delayed && annotation(&**claim, SELECTED_NODE).is_none() {
        return plan.event(waits(cx, claim));
    }
    if classes::of_claim(claim).is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        return plan.event(Event::normal(&**claim, "FailedBinding", message));
    }
    provision(cx, claim, plan)
}

/// Whom a claim waits for that is bound when its first consumer is placed.
fn waits(cx: &Cx<'_>, claim: &PersistentVolumeClaim) -> Event {
    let pods = cx.cluster.of::<Pod>();
    let pods = pods.indexed(PODS_BY_CLAIM, &Key::of(claim).to_string());
    let is_unplaced = |pod: &&Arc<Pod>| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        !is_pod_finished(pod) && node.unwrap_or_default().is_empty()
    };
    let names: Vec<&str> = pods
        .iter()
        .filter(is_unplaced)
        .map(|pod| name(&**pod))
        .collect();
    match names.as_slice() {
        [] => {
            let message = "waiting for first consumer to be created before binding";
            Event::normal(claim, "WaitForFirstConsumer", message)
        }
        [one] => {
            let message = format!("waiting for pod {one} to be scheduled");
            Event::normal(claim, "WaitForPodScheduled", message)
        }
        many => {
            let message = format!("waiting for pods {} to be scheduled", many.join(","));
            Event::normal(claim, "WaitForPodScheduled", message)
        }
    }
}

/// Says who is to make a volume. Upstream's `provisionClaimOperationExternal`: no provisioner is built in.
fn provision(cx: &Cx<'_>, claim: &Arc<PersistentVolumeClaim>, mut plan: Plan) -> Plan {
    let class_name = classes::of_claim(claim);
    let Some(class) = cx.cluster.get::<StorageClass>("", class_name) else {
        let message = format!("storageclass.storage.k8s.io {class_name:?} not found");
        return plan.event(Event::warning(&**claim, "ProvisioningFailed", message));
    };
    let provisioner = &class.provisioner;
    if provisioner == "kubernetes.io/no-provisioner" {
        let message = "storageclass does not support dynamic provisioning";
        return plan.event(Event::warning(&**claim, "ProvisioningFailed", message));
    }
    if annotation(&**claim, STORAGE_PROVISIONER) != Some(provisioner) {
        let mut changed = PersistentVolumeClaim::clone(claim);
        let annotations = changed.metadata.annotations.get_or_insert_default();
        for key in [STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER] {
            annotations.insert(key.to_owned(), provisioner.clone());
        }
        // The status is looked at when this is seen.
        plan.writes = vec![Write::update(&changed)];
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
         system administrator. If volume creation is delayed, please verify that the provisioner is running and \
         correctly registered."
    );
    plan.event(Event::normal(&**claim, "ExternalProvisioning", message))
}
