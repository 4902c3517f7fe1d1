//! The pod and the claims of an ordinal.
//!
//! Upstream: `pkg/controller/statefulset/stateful_set_utils.go`.

use crate::common::{label, labels, name, namespace, pod_from_template};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodSpec, Volume,
};
use std::ops::Range;

const POD_NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";
const REVISION_LABEL: &str = "controller-revision-hash";

/// The name of the set and the ordinal that the name of a pod is made of; a number that is too large is no
/// ordinal. Upstream's `getParentNameAndOrdinal`.
pub(super) fn parent_and_ordinal(pod: &str) -> Option<(&str, Option<i32>)> {
    let (parent, digits) = pod.rsplit_once('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (parent, digits.parse().ok()))
}

/// The ordinal of a pod.
pub(super) fn ordinal(pod: &Pod) -> Option<i32> {
    parent_and_ordinal(name(pod))?.1
}

/// Whether the name of a pod is that of a member of the set. Upstream's `isMemberOf`.
pub(super) fn is_member_of(set: &StatefulSet, pod: &Pod) -> bool {
    parent_and_ordinal(name(pod)).is_some_and(|(parent, _)| parent == name(set))
}

/// The ordinals that a set should have: as many as replicas, from `spec.ordinals.start`.
pub fn ordinals(spec: &StatefulSetSpec) -> Range<i32> {
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start);
    let start = start.unwrap_or(0);
    start..start.saturating_add(spec.replicas.unwrap_or(1))
}

/// The name of the pod of an ordinal.
pub fn pod_name(set: &StatefulSet, ordinal: i32) -> String {
    format!("{}-{ordinal}", name(set))
}

/// The name of a claim of an ordinal. Upstream's `getPersistentVolumeClaimName`.
pub(super) fn claim_name(
    set: &StatefulSet,
    template: &PersistentVolumeClaim,
    ordinal: i32,
) -> String {
    format!("{}-{}-{ordinal}", name(template), name(set))
}

/// The templates of claims.
pub(super) fn claim_templates(set: &StatefulSet) -> &[PersistentVolumeClaim] {
    let spec = set.spec.as_ref();
    spec.and_then(|spec| spec.volume_claim_templates.as_deref())
        .unwrap_or_default()
}

/// The claims of an ordinal, in the templates' order. Upstream's `getPersistentVolumeClaims`.
pub fn claims(set: &StatefulSet, ordinal: i32) -> Vec<PersistentVolumeClaim> {
    let spec = set.spec.as_ref();
    let selected = spec.and_then(|spec| spec.selector.match_labels.as_ref());
    let claim = |template: &PersistentVolumeClaim| {
        let mut claim = template.clone();
        claim.status = None;
        claim.metadata.name = Some(claim_name(set, template, ordinal));
        claim.metadata.namespace = Some(namespace(set).to_owned());
        if let Some(selected) = selected {
            let labels = claim.metadata.labels.get_or_insert_default();
            labels.extend(selected.clone());
        }
        claim
    };
    claim_templates(set).iter().map(claim).collect()
}

/// Claims take the place of volumes of the same name. Upstream's `updateStorage`.
pub(super) fn mount_claims(set: &StatefulSet, ordinal: i32, spec: &mut PodSpec) {
    let templates = claim_templates(set);
    if templates.is_empty() {
        return;
    }
    let volume = |template: &PersistentVolumeClaim| Volume {
        name: name(template).to_owned(),
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: claim_name(set, template, ordinal),
            read_only: None,
        }),
        ..Volume::default()
    };
    let is_claimed = |volume: &Volume| {
        templates
            .iter()
            .any(|template| name(template) == volume.name)
    };
    let mut volumes: Vec<Volume> = templates.iter().map(volume).collect();
    let given = spec.volumes.take().unwrap_or_default();
    volumes.extend(given.into_iter().filter(|volume| !is_claimed(volume)));
    spec.volumes = Some(volumes);
}

/// Labels that say which pod it is. Upstream's `updateIdentity`.
pub(super) fn identify(set: &StatefulSet, ordinal: i32, pod: &mut Pod) {
    let pod_name = pod_name(set, ordinal);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(POD_NAME_LABEL.to_owned(), pod_name.clone());
    labels.insert(POD_INDEX_LABEL.to_owned(), ordinal.to_string());
    pod.metadata.name = Some(pod_name);
    pod.metadata.namespace = Some(namespace(set).to_owned());
}

/// The pod of an ordinal, without a revision. Upstream's `newStatefulSetPod`.
pub fn new_pod(set: &StatefulSet, ordinal: i32) -> Pod {
    let Some(spec) = set.spec.as_ref() else {
        return Pod::default();
    };
    let mut pod = pod_from_template(&spec.template, set);
    identify(set, ordinal, &mut pod);
    let pod_name = pod.metadata.name.clone();
    let pod_spec = pod.spec.get_or_insert_default();
    pod_spec.hostname = pod_name;
    pod_spec.subdomain = spec.service_name.clone().filter(|name| !name.is_empty());
    mount_claims(set, ordinal, pod_spec);
    pod
}

/// The revision of a pod. Upstream's `getPodRevision`.
pub(super) fn pod_revision(pod: &Pod) -> &str {
    label(pod, REVISION_LABEL).unwrap_or_default()
}

/// Says of which revision a pod is.
pub(super) fn set_pod_revision(pod: &mut Pod, revision: &str) {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION_LABEL.to_owned(), revision.to_owned());
}

/// Whether a pod has the labels of its ordinal. Upstream's `identityMatches`.
pub(super) fn identity_matches(set: &StatefulSet, pod: &Pod) -> bool {
    let is_canonical = ordinal(pod).is_some_and(|ordinal| pod_name(set, ordinal) == name(pod));
    is_canonical && labels(pod).get(POD_NAME_LABEL).map(String::as_str) == Some(name(pod))
}

/// Whether a pod has the claims of its ordinal as volumes. Upstream's `storageMatches`.
pub(super) fn storage_matches(set: &StatefulSet, pod: &Pod) -> bool {
    let Some(ordinal) = ordinal(pod) else {
        return false;
    };
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref());
    let volumes = volumes.unwrap_or_default();
    claim_templates(set).iter().all(|template| {
        let volume = volumes.iter().rfind(|volume| volume.name == name(template));
        let claim = volume.and_then(|volume| volume.persistent_volume_claim.as_ref());
        claim.is_some_and(|claim| claim.claim_name == claim_name(set, template, ordinal))
    })
}
