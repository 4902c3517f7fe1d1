//! Volumes and claims on their way to the API.

use super::Engine;
use crate::effects::{ClaimKey, VolumeWrite};
use stowplan_api::load::Object as ApiObject;
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

    /// Whether a volume can be reached from a node. Upstream's `CheckNodeAffinity` within
    /// `checkBindings`.
    pub(super) fn check_volume(&mut self, given: &ApiObject, node: &str) -> Result<(), String> {
        let Some(Object::PersistentVolume(volume)) = self.convert(given)? else {
            return Ok(());
        };
        let at = self.sym(node);
        let cluster = self.scheduler.cluster();
        let Some(on) = cluster.node(at) else {
            return Err(format!(
                "failed to get node {node:?}: node {node:?} not found"
            ));
        };
        match &volume.node_affinity {
            Some(affinity) if !affinity.matches(&on.node, &cluster.names) => {
                let name = cluster.names.text(volume.name);
                Err(format!(
                    "pv {name:?} node affinity doesn't match node {node:?}: no matching \
                     NodeSelectorTerms"
                ))
            }
            _ => Ok(()),
        }
    }
}
