//! What the volume plugins say of claims, in upstream's words.

use crate::model::{PersistentVolumeClaim, Pod};
use stowplan_base::{Names, Sym};

/// The API's "not found" of a claim.
pub(super) fn claim_not_found(claim: Sym, names: &Names) -> String {
    format!("persistentvolumeclaim {:?} not found", names.text(claim))
}

/// Whether one of the pod's volumes names the claim. Claims of generic ephemeral volumes do not
/// count.
pub(super) fn names_claim(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    pod.namespace == claim.namespace
        && pod
            .volumes
            .iter()
            .any(|volume| volume.named_claim() == Some(claim.name))
}

/// Whether one of the pod's volumes uses the claim, be it named or ephemeral.
pub(super) fn uses_claim(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    pod.namespace == claim.namespace
        && pod
            .volumes
            .iter()
            .any(|volume| volume.claim() == Some(claim.name))
}
