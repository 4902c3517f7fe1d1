//! Volumes and claims on their way to the API.

use super::Engine;
use crate::effects::{ClaimKey, VolumeWrite};
use stowplan_base::sym;
use stowplan_engine::model::Object;

impl Engine {
    /// A write that PreBind asks for.
    pub(super) fn volume_write(&self, object: &Object) -> Option<VolumeWrite> {
        match object {
            Object::PersistentVolume(volume) => {
                let claim = volume.claim_ref.as_ref()?;
                Some(VolumeWrite::Volume {
                    name: self.text(volume.name),
                    claim: ClaimKey {
                        namespace: self.text(claim.namespace),
                        name: self.text(claim.name),
                        uid: claim.uid.clone(),
                    },
                    bound_by_controller: volume.annotations.has(sym::BOUND_BY_CONTROLLER),
                })
            }
            Object::PersistentVolumeClaim(claim) => Some(VolumeWrite::Claim(ClaimKey {
                namespace: self.text(claim.namespace),
                name: self.text(claim.name),
                uid: claim.uid.clone(),
            })),
            _ => None,
        }
    }
}
