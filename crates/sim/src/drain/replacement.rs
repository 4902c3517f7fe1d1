//! The pod that a controller makes in place of one that goes.

use super::filters;
use crate::{Simulation, interner};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Sym;
use stowplan_bridge::convert::api_object;
use stowplan_engine::model::{
    Labels, Object, PersistentVolumeClaim, Pod, PodKey, PodVolume, VolumeSource,
};
use stowplan_manifest::Loaded;

/// When the replacement of an evicted pod is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplacementTime {
    /// As soon as the pod is on its way out.
    AtOnce,
    /// When it is gone.
    Afterwards,
    /// Somebody has done so already.
    Already,
    /// Never.
    Never,
}

impl ReplacementTime {
    /// What the owner of a pod does. Of owners that are not Kubernetes' own nothing is known: they are
    /// taken to wait.
    pub(super) fn of(pod: &core::Pod, simulation: &Simulation) -> Self {
        let Some(owner) = filters::controller(pod).filter(|_| !filters::is_finished(pod)) else {
            return Self::Never;
        };
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        match owner.kind.as_str() {
            "ReplicaSet" | "ReplicationController" if is_leaving => Self::Already,
            "ReplicaSet" | "ReplicationController" => Self::AtOnce,
            "DaemonSet" => Self::Never,
            "Job" if replaces_failed_only(pod, &owner.name, simulation) => Self::Afterwards,
            "Job" if is_leaving => Self::Already,
            "Job" => Self::AtOnce,
            _ => Self::Afterwards,
        }
    }
}

/// Whether a Job waits for pods to be gone: `podReplacementPolicy`, whose default depends on whether
/// there is a `podFailurePolicy`.
fn replaces_failed_only(pod: &core::Pod, name: &str, simulation: &Simulation) -> bool {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut jobs = simulation.prepared.objects.iter();
    jobs.any(|loaded| match &loaded.object {
        ApiObject::Job(job) if loaded.object.name() == name => {
            let spec = job.spec.as_ref();
            let policy = spec.and_then(|spec| spec.pod_replacement_policy.as_deref());
            let fails = spec.is_some_and(|spec| spec.pod_failure_policy.is_some());
            loaded.object.namespace() == namespace
                && match policy {
                    Some(policy) => policy == "Failed",
                    None => fails,
                }
        }
        _ => false,
    })
}

/// The replacement of `old`, pending: by its owner's template where that is known and makes pods that
/// differ from each other in nothing but names, else the pod itself once more.
pub(super) fn replacement(simulation: &mut Simulation, given: &core::Pod, old: &Pod) -> Arc<Pod> {
    let owner = filters::controller(given).map(|owner| owner.kind.as_str());
    let keeps_name = owner == Some("StatefulSet");
    let template = match owner {
        Some("ReplicaSet" | "ReplicationController") => from_template(simulation, given),
        _ => None,
    };
    let mut new = template.unwrap_or_else(|| old.clone());
    let name = match keeps_name {
        true => old.key.name.to_string(),
        false => format!("{}'", old.key.name),
    };
    let names = &mut simulation.scheduler.cluster_mut().names;
    new.name = names.intern(&name);
    new.key = PodKey {
        namespace: old.key.namespace.clone(),
        name: name.into(),
    };
    new.uid = format!("{}'", old.uid).into();
    new.node_name = None;
    new.nominated_node_name = None;
    new.start_time = None;
    new.terminating = false;
    new.preempted_by_scheduler = false;
    new.finished = false;
    if !keeps_name {
        renew_claims(simulation, old, &mut new);
    }
    Arc::new(new)
}

fn from_template(simulation: &mut Simulation, given: &core::Pod) -> Option<Pod> {
    let owner = filters::controller(given)?;
    let namespace = given.metadata.namespace.as_deref().unwrap_or_default();
    let is_owner = |loaded: &&Loaded| {
        let object = &loaded.object;
        object.kind().as_str() == owner.kind
            && object.namespace() == namespace
            && object.name() == owner.name
    };
    let prepared = simulation.prepared.clone();
    let made = prepared.one_more(prepared.objects.iter().find(is_owner)?)?;
    let pod = made
        .iter()
        .find(|made| matches!(made.object, ApiObject::Pod(_)))?;
    match api_object(
        &mut interner(simulation.scheduler.cluster_mut()),
        &pod.object,
    ) {
        Ok(Some(Object::Pod(pod))) => Some(Pod::clone(&pod)),
        _ => None,
    }
}

/// Ephemeral volumes are made anew with each pod: their claims wait for a node again.
fn renew_claims(simulation: &mut Simulation, old: &Pod, new: &mut Pod) {
    let mut claims = Vec::new();
    let mut volumes: Vec<PodVolume> = new.volumes.to_vec();
    let cluster = simulation.scheduler.cluster_mut();
    for volume in &mut volumes {
        let like = old.volumes.iter().find(|like| like.name == volume.name);
        let claim = like.filter(|like| like.is_ephemeral());
        let claim = claim.and_then(PodVolume::claim);
        let claim = claim.and_then(|claim| cluster.claims.get(old.namespace, claim).cloned());
        let (Some(claim), true) = (claim, volume.is_ephemeral()) else {
            continue;
        };
        let name = format!("{}'", cluster.names.text(claim.name));
        let name = cluster.names.intern(&name);
        volume.source = VolumeSource::Ephemeral { claim: name };
        claims.push(PersistentVolumeClaim {
            name,
            uid: format!("{}'", claim.uid).into(),
            annotations: Labels::default(),
            controller_uid: Some(new.uid.clone()),
            volume_name: Sym::EMPTY,
            phase: Sym::EMPTY,
            ..PersistentVolumeClaim::clone(&claim)
        });
    }
    new.volumes = volumes.into();
    for claim in claims {
        let claim = Object::PersistentVolumeClaim(Arc::new(claim));
        crate::play::upsert(simulation, claim);
    }
}
