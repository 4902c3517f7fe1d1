//! Templates → pods.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

/// An `ownerReferences` entry that says who controls.
pub(super) fn controlled_by(api_version: &str, kind: &str, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The entry that says who controls an object.
pub(super) fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true))
}

/// A pod as a controller makes it.
pub(super) fn pod(
    template: &PodTemplateSpec,
    namespace: Option<&str>,
    name: &str,
    owner: OwnerReference,
) -> Pod {
    let metadata = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.map(str::to_owned),
            labels: metadata.labels,
            annotations: metadata.annotations,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// Sets labels.
pub(super) fn label(metadata: &mut ObjectMeta, labels: &[(&str, &str)]) {
    let to: &mut BTreeMap<String, String> = metadata.labels.get_or_insert_default();
    for (key, value) in labels {
        to.insert((*key).to_owned(), (*value).to_owned());
    }
}

/// A short name for a template, the same for the same template. It looks like upstream's but is not:
/// that one is a hash of Go's memory.
pub(super) fn hash(template: &PodTemplateSpec) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash: u32 = 0x811c_9dc5;
    for byte in format!("{template:?}").bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let digit = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    hash.to_string().bytes().map(digit).collect()
}

/// Whether a pod has run its course or is on its way out: its controller replaces it.
pub(super) fn is_active(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed")) && pod.metadata.deletion_timestamp.is_none()
}
