//! `ephemeral-volume-controller`: claims for the ephemeral volumes of pods.
//!
//! Upstream: `pkg/controller/volume/ephemeral`. A claim belongs to its pod and goes with it.

#[cfg(test)]
mod tests;

use crate::common::{controller_ref, is_controlled_by, is_deleting, name, namespace};
use crate::{Controller, Cx, Delta, Event, Key, Outcome, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::sync::Arc;

/// The index of pods by the claims of their ephemeral volumes.
const BY_CLAIM: &str = "ephemeral-claims";

/// `ephemeral-volume-controller`.
#[derive(Default)]
pub struct EphemeralVolumes;

impl Controller for EphemeralVolumes {
    fn watch(&self, watches: &mut Watches) {
        // The spec of a pod does not change, and claims go with their pods.
        watches.on::<Pod>(|_, delta, keys| {
            if let Delta::Added(pod) = delta
                && !is_deleting(&***pod)
                && volumes(pod).next().is_some()
            {
                keys.add_object(&***pod);
            }
        });
        watches.index::<Pod>(BY_CLAIM, |pod| {
            let claim = |volume| format!("{}/{}", namespace(pod), claim_name(pod, volume));
            volumes(pod).map(claim).collect()
        });
        watches.on::<PersistentVolumeClaim>(|cluster, delta, keys| {
            if let Delta::Deleted(claim) = delta {
                let claim = format!("{}/{}", namespace(&***claim), name(&***claim));
                let pods = cluster.of::<Pod>().indexed(BY_CLAIM, &claim);
                pods.iter().for_each(|pod| keys.add_object(&**pod));
            }
        });
    }

    fn component(&self) -> Option<&'static str> {
        Some("ephemeral_volume")
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        match cx.cluster.get::<Pod>(&key.namespace, &key.name) {
            Some(pod) if !is_deleting(&*pod) => sync(cx, &pod),
            _ => Plan::nothing(),
        }
    }
}

fn sync(cx: &Cx<'_>, pod: &Arc<Pod>) -> Plan {
    let mut writes = Vec::new();
    for volume in volumes(pod) {
        let Some(claim) = claim(pod, volume) else {
            continue;
        };
        match cx
            .cluster
            .get::<PersistentVolumeClaim>(namespace(&**pod), name(&claim))
        {
            None => writes.push(create(pod, &volume.name, &claim)),
            Some(known) if is_controlled_by(&*known, &**pod) => {}
            Some(known) => {
                let why = format!(
                    "PVC {}/{} was not created for pod {}/{} (pod is not owner)",
                    namespace(&*known),
                    name(&*known),
                    namespace(&**pod),
                    name(&**pod)
                );
                let mut plan = Plan::sequence(writes).event(failed(pod, &volume.name, &why));
                plan.error = Some(why);
                return plan;
            }
        }
    }
    Plan::sequence(writes)
}

fn create(pod: &Arc<Pod>, volume: &str, claim: &PersistentVolumeClaim) -> Write {
    let (pod, volume, of) = (pod.clone(), volume.to_owned(), name(claim).to_owned());
    Write::create(claim).telling(move |outcome: &Outcome| {
        let failure = outcome.failure()?;
        let why = format!("create PVC {of}: {}", failure.message);
        Some(failed(&pod, &volume, &why))
    })
}

fn failed(pod: &Pod, volume: &str, why: &str) -> Event {
    Event::warning(
        pod,
        "FailedBinding",
        format!("ephemeral volume {volume}: {why}"),
    )
}

/// The ephemeral volumes of a pod.
pub fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let spec = pod.spec.as_ref();
    let volumes = spec
        .and_then(|spec| spec.volumes.as_deref())
        .unwrap_or_default();
    volumes.iter().filter(|volume| volume.ephemeral.is_some())
}

/// The name of the claim of an ephemeral volume. Upstream's `VolumeClaimName`.
pub fn claim_name(pod: &Pod, volume: &Volume) -> String {
    format!("{}-{}", name(pod), volume.name)
}

/// The claim of an ephemeral volume, if it has a template for one.
pub fn claim(pod: &Pod, volume: &Volume) -> Option<PersistentVolumeClaim> {
    let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
    let given = template.metadata.clone().unwrap_or_default();
    Some(PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(claim_name(pod, volume)),
            namespace: Some(namespace(pod).to_owned()),
            labels: given.labels,
            annotations: given.annotations,
            owner_references: Some(vec![controller_ref(pod)]),
            ..ObjectMeta::default()
        },
        spec: Some(template.spec.clone()),
        status: None,
    })
}
