//! PersistentVolumes and their claims: binding, reclaiming, simulated storage, protection.

mod binder;
mod bound;
mod classes;
mod matching;
mod protection;
mod provisioner;
mod resizer;
#[cfg(test)]
mod tests;
mod volumes;

pub use binder::Binder;
pub use protection::{ClaimProtection, ClassProtection, VolumeProtection};
pub use provisioner::{PROVISIONER, Provisioner};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};

/// The claim was bound to its volume once.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The controller chose the volume, or the claim; not the user.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Who made the volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The node that the scheduler chose for the claim's first consumer.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Who is to make a volume for the claim.
const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";

/// The index of pods by `namespace/claim`.
pub const PODS_BY_CLAIM: &str = "claims";

/// Files a pod under the claims that it uses, its ephemeral ones included.
pub fn claims_of(pod: &Pod) -> Vec<String> {
    let namespace = crate::common::namespace(pod);
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let names =
        volumes.filter_map(
            |volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
                (Some(source), _) => Some(source.claim_name.clone()),
                (None, Some(_)) => Some(format!("{}-{}", crate::common::name(pod), volume.name)),
                (None, None) => None,
            },
        );
    names.map(|name| format!("{namespace}/{name}")).collect()
}

fn claim_phase(claim: &PersistentVolumeClaim) -> &str {
    let phase = claim
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

fn volume_phase(volume: &PersistentVolume) -> &str {
    let phase = volume
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// The volume that a claim names; empty if it names none.
fn volume_name(claim: &PersistentVolumeClaim) -> &str {
    let name = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_deref());
    name.unwrap_or_default()
}
