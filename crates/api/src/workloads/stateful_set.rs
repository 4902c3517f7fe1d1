//! StatefulSets.
//!
//! Upstream: `pkg/controller/statefulset/stateful_set_utils.go`. All pods are made at once, whatever
//! `podManagementPolicy` says.

use super::template::label;
use super::{World, controlled_by, id, template};
use crate::load::{Loaded, Source};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, Volume,
};

/// The pods that a StatefulSet lacks, with their claims.
pub(super) fn expand(world: &mut World<'_>, at: &Source, set: &StatefulSet) {
    let Some(spec) = &set.spec else { return };
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let namespace = set.metadata.namespace.as_deref();
    let start = spec
        .ordinals
        .as_ref()
        .and_then(|ordinals| ordinals.start)
        .unwrap_or(0);
    let owner = controlled_by("apps/v1", "StatefulSet", &set.metadata);
    for ordinal in start..start.saturating_add(spec.replicas.unwrap_or(1)) {
        let pod_name = format!("{name}-{ordinal}");
        let mut pod = template::pod(&spec.template, namespace, &pod_name, owner.clone());
        label(
            &mut pod.metadata,
            &[
                ("statefulset.kubernetes.io/pod-name", &pod_name),
                ("apps.kubernetes.io/pod-index", &ordinal.to_string()),
            ],
        );
        let claims = claims(set, spec, ordinal);
        mount(&mut pod, spec, &claims);
        if !world.make(at, pod) {
            continue;
        }
        for claim in claims {
            if world.claims.insert(id(&claim.metadata)) {
                world.made.push(Loaded {
                    source: at.clone(),
                    object: claim.into(),
                });
            }
        }
    }
}

/// The claims of one pod, in the templates' order.
fn claims(set: &StatefulSet, spec: &StatefulSetSpec, ordinal: i32) -> Vec<PersistentVolumeClaim> {
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    let selected = spec.selector.match_labels.iter().flatten();
    let labels: Vec<_> = selected
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let templates = spec.volume_claim_templates.iter().flatten();
    templates
        .map(|template| {
            let mut claim = template.clone();
            let template_name = template.metadata.name.as_deref().unwrap_or_default();
            claim.metadata.name = Some(format!("{template_name}-{set_name}-{ordinal}"));
            claim.metadata.namespace = set.metadata.namespace.clone();
            label(&mut claim.metadata, &labels);
            claim
        })
        .collect()
}

/// Claims take the place of volumes of the same name.
fn mount(pod: &mut Pod, spec: &StatefulSetSpec, claims: &[PersistentVolumeClaim]) {
    let templates = spec.volume_claim_templates.as_deref().unwrap_or_default();
    let Some(pod_spec) = &mut pod.spec else {
        return;
    };
    let mut volumes: Vec<Volume> = templates
        .iter()
        .zip(claims)
        .map(|(template, claim)| Volume {
            name: template.metadata.name.clone().unwrap_or_default(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.metadata.name.clone().unwrap_or_default(),
                read_only: None,
            }),
            ..Volume::default()
        })
        .collect();
    let claimed = volumes.len();
    for volume in pod_spec.volumes.take().into_iter().flatten() {
        if !volumes[..claimed]
            .iter()
            .any(|claim| claim.name == volume.name)
        {
            volumes.push(volume);
        }
    }
    pod_spec.volumes = Some(volumes);
}
