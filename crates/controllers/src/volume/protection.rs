//! Claims that pods use, volumes that claims use, and classes that both use are not deleted under them.
//!
//! Upstream: `pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}`.

use super::{PODS_BY_CLAIM, claims_of, volume_phase};
use crate::common::{finalizers, is_controlled_by, is_deleting, is_pod_finished, name, namespace};
use crate::ephemeral::claim_name;
use crate::{Controller, Cx, Delta, Key, Kind, Object, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::api::storage::v1::VolumeAttributesClass;
use std::sync::Arc;

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";
const CLASS_FINALIZER: &str = "kubernetes.io/vac-protection";

/// The index of claims and volumes by the classes of attributes that they have or should get.
const BY_CLASS: &str = "volume-attributes-class";

/// `persistentvolumeclaim-protection-controller`.
#[derive(Default)]
pub struct ClaimProtection;

impl Controller for ClaimProtection {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(PODS_BY_CLAIM, claims_of);
        watches.on_each::<PersistentVolumeClaim>();
        watches.on::<Pod>(|_, delta, keys| {
            // A pod that goes or ends may have been the last one.
            let pod = delta.object();
            let is_gone = matches!(delta, Delta::Deleted(_));
            if !is_gone && !is_deleting(&**pod) && !is_pod_finished(pod) {
                return;
            }
            for claim in claims_of(pod) {
                if let Some((namespace, name)) = claim.split_once('/') {
                    keys.add(Key::new(namespace, name));
                }
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let claims = cx.cluster.of::<PersistentVolumeClaim>();
        let Some(claim) = claims.get(&key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let pods = cx.cluster.of::<Pod>();
        let is_used = || {
            let pods = pods.indexed(PODS_BY_CLAIM, &key.to_string());
            pods.iter().any(|pod| uses(pod, &claim))
        };
        match protect(&*claim, CLAIM_FINALIZER, is_used) {
            Some(write) if is_deleting(&*claim) => release(claim, write),
            Some(write) => Plan::write(write),
            None => Plan::nothing(),
        }
    }
}

/// Whether a pod that a kubelet knows of uses a claim: also one that has ended. Upstream's
/// `podUsesPVCForDeletion`.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let Some(spec) = pod.spec.as_ref() else {
        return false;
    };
    let is_on_node = spec.node_name.as_ref().is_some_and(|node| !node.is_empty());
    let is_shut_down = is_deleting(pod) && pod.metadata.deletion_grace_period_seconds == Some(0);
    let is_it = |volume: &Volume| {
        let source = volume.persistent_volume_claim.as_ref();
        let is_named = source.is_some_and(|source| source.claim_name == name(claim));
        let is_made = volume.ephemeral.is_some()
            && !is_shut_down
            && claim_name(pod, volume) == name(claim)
            && is_controlled_by(claim, pod);
        is_named || is_made
    };
    is_on_node && spec.volumes.iter().flatten().any(is_it)
}

/// Lets a claim go, unless the server knows of a pod that is not known here yet.
fn release(claim: Arc<PersistentVolumeClaim>, write: Write) -> Plan {
    let path = Kind::of::<Pod>().path(namespace(&*claim));
    Plan::read(vec![path], move |_, answers| {
        let items = match answers {
            [Ok(list)] => list["items"].as_array().cloned().unwrap_or_default(),
            [Err(failure)] => return Plan::retry(failure.message.clone()),
            _ => return Plan::nothing(),
        };
        let pods = items.into_iter();
        let mut pods = pods.filter_map(|pod| serde_json::from_value::<Pod>(pod).ok());
        match pods.any(|pod| uses(&pod, &claim)) {
            true => Plan::nothing(),
            false => Plan::write(write),
        }
    })
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
        let is_used = || volume_phase(&volume) == "Bound";
        protect(&*volume, VOLUME_FINALIZER, is_used).map_or_else(Plan::nothing, Plan::write)
    }
}

/// `volumeattributesclass-protection-controller`.
#[derive(Default)]
pub struct ClassProtection;

impl Controller for ClassProtection {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<PersistentVolumeClaim>(BY_CLASS, classes_of_claim);
        watches.index::<PersistentVolume>(BY_CLASS, classes_of_volume);
        watches.on_each::<VolumeAttributesClass>();
        watches.on::<PersistentVolumeClaim>(|_, delta, keys| {
            let before = match delta {
                Delta::Deleted(claim) | Delta::Updated(claim, _) => classes_of_claim(claim),
                Delta::Added(_) => Vec::new(),
            };
            before
                .iter()
                .for_each(|class| keys.add(Key::new("", class)));
        });
        watches.on::<PersistentVolume>(|_, delta, keys| {
            let before = match delta {
                Delta::Deleted(volume) | Delta::Updated(volume, _) => classes_of_volume(volume),
                Delta::Added(_) => Vec::new(),
            };
            before
                .iter()
                .for_each(|class| keys.add(Key::new("", class)));
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(class) = cx.cluster.get::<VolumeAttributesClass>("", &key.name) else {
            return Plan::nothing();
        };
        let is_used = || {
            let claims = cx.cluster.of::<PersistentVolumeClaim>();
            let volumes = cx.cluster.of::<PersistentVolume>();
            !claims.indexed(BY_CLASS, &key.name).is_empty()
                || !volumes.indexed(BY_CLASS, &key.name).is_empty()
        };
        protect(&*class, CLASS_FINALIZER, is_used).map_or_else(Plan::nothing, Plan::write)
    }
}

fn classes_of_claim(claim: &PersistentVolumeClaim) -> Vec<String> {
    let wanted = claim.spec.as_ref();
    let wanted = wanted.and_then(|spec| spec.volume_attributes_class_name.clone());
    let status = claim.status.as_ref();
    let current = status.and_then(|status| status.current_volume_attributes_class_name.clone());
    let target = status.and_then(|status| {
        let change = status.modify_volume_status.as_ref()?;
        change.target_volume_attributes_class_name.clone()
    });
    let classes = [wanted, current, target].into_iter().flatten();
    classes.filter(|class| !class.is_empty()).collect()
}

fn classes_of_volume(volume: &PersistentVolume) -> Vec<String> {
    let spec = volume.spec.as_ref();
    let class = spec.and_then(|spec| spec.volume_attributes_class_name.clone());
    class
        .into_iter()
        .filter(|class| !class.is_empty())
        .collect()
}

/// Objects have the finalizer until they are deleted and nobody uses them.
fn protect<K: Object>(object: &K, finalizer: &str, is_used: impl Fn() -> bool) -> Option<Write> {
    let has = finalizers(object).iter().any(|held| held == finalizer);
    let mut changed = object.clone();
    let held = changed.metadata_mut().finalizers.get_or_insert_default();
    match (is_deleting(object), has) {
        (false, false) => held.push(finalizer.to_owned()),
        (true, true) if !is_used() => held.retain(|held| held != finalizer),
        _ => return None,
    }
    Some(Write::update(&changed).tolerating(&[404]))
}
