//! Claims that pods use, and volumes that claims use, are not deleted under them.
//!
//! Upstream: `pkg/controller/volume/{pvcprotection,pvprotection}`.

use super::{PODS_BY_CLAIM, claims_of, volume_phase};
use crate::common::{finalizers, is_deleting, is_pod_finished};
use crate::{Controller, Cx, Delta, Key, Object, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";

/// `persistentvolumeclaim-protection-controller`.
#[derive(Default)]
pub struct ClaimProtection;

impl Controller for ClaimProtection {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(PODS_BY_CLAIM, claims_of);
        watches.on_each::<PersistentVolumeClaim>();
        watches.on::<Pod>(|_, delta, keys| {
            // A pod that goes or ends may have been the last one.
            let is_over = matches!(delta, Delta::Deleted(_)) || is_pod_finished(delta.object());
            if !is_over {
                return;
            }
            for claim in claims_of(delta.object()) {
                if let Some((namespace, name)) = claim.split_once('/') {
                    keys.add(Key::new(namespace, name));
                }
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let claim = cx
            .cluster
            .get::<PersistentVolumeClaim>(&key.namespace, &key.name);
        let Some(claim) = claim else {
            return Plan::nothing();
        };
        let is_used = || {
            let pods = cx
                .cluster
                .of::<Pod>()
                .indexed(PODS_BY_CLAIM, &key.to_string());
            pods.iter().any(|pod| {
                let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
                !node.unwrap_or_default().is_empty() && !is_pod_finished(pod)
            })
        };
        protect(&*claim, CLAIM_FINALIZER, is_used)
    }
}

/// `persistentvolume-protection-controller`.
#[derive(Default)]
pub struct VolumeProtection;

impl Controller for VolumeProtection {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<PersistentVolume>();
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(volume) = cx.cluster.get::<PersistentVolume>("", &key.name) else {
            return Plan::nothing();
        };
        protect(&*volume, VOLUME_FINALIZER, || {
            volume_phase(&volume) == "Bound"
        })
    }
}

/// Objects have the finalizer until they are deleted and nobody uses them.
fn protect<K: Object>(object: &K, finalizer: &str, is_used: impl Fn() -> bool) -> Plan {
    let has = finalizers(object).iter().any(|held| held == finalizer);
    let mut changed = object.clone();
    let held = changed.metadata_mut().finalizers.get_or_insert_default();
    match (is_deleting(object), has) {
        (false, false) => held.push(finalizer.to_owned()),
        (true, true) if !is_used() => held.retain(|held| held != finalizer),
        _ => return Plan::nothing(),
    }
    Plan::write(Write::update(&changed).tolerating(&[404]))
}
