//! What changes when a pod's volumes are bound. Upstream's `AssumePodVolumes` and
//! `GetBindVolumeToClaim`.

use super::find::{PodVolumes, find_pod_volumes};
use super::matching::refers_to;
use super::pod_claims::PodClaims;
use crate::Snapshot;
use crate::framework::{Expect, FieldChange, Patch, Status, Target};
use crate::model::{ClaimRef, Labels, Object, PersistentVolume, PersistentVolumeClaim};
use std::sync::Arc;
use stowplan_base::{Names, Sym, sym};

/// A volume or claim as it will be.
pub(super) struct Change {
    /// The object.
    pub(super) object: Object,
    /// Whether it differs from what it is now.
    pub(super) dirty: bool,
}

impl Change {
    /// The change for the API: what it has is read, changed and written, for others may have
    /// changed it meanwhile.
    pub(super) fn patch(&self, names: &Names) -> Patch {
        let (namespace, name) = self.object.key();
        let target = |uid: Arc<str>| Target {
            key: (self.object.kind(), namespace, name),
            uid,
            resource_version: "".into(),
        };
        let annotation = |labels: &Labels, key: Sym| {
            let value = labels.get(key).map(|value| names.shared(value))?;
            Some(FieldChange::Annotation(names.shared(key), Some(value)))
        };
        match &self.object {
            Object::PersistentVolume(volume) => {
                let claim = volume.claim_ref.clone();
                let expect = claim.as_ref().map(|claim| Expect {
                    field: "/spec/claimRef/uid",
                    value: claim.uid.clone(),
                    otherwise: format!(
                        "pv {:?} was bound to another claim",
                        names.text(volume.name)
                    )
                    .into(),
                });
                let by_controller = annotation(&volume.annotations, sym::BOUND_BY_CONTROLLER);
                let changes = claim.map(FieldChange::ClaimRef).into_iter();
                Patch {
                    target: target("".into()),
                    changes: changes.chain(by_controller).collect(),
                    expect,
                }
            }
            Object::PersistentVolumeClaim(claim) => Patch {
                target: target(claim.uid.clone()),
                changes: Vec::from_iter(annotation(&claim.annotations, sym::SELECTED_NODE)),
                expect: None,
            },
            // Nothing else changes with volumes.
            _ => Patch {
                target: target("".into()),
                changes: Vec::new(),
                expect: None,
            },
        }
    }
}

/// The volumes and claims that change when the pod goes to `node`.
///
/// Nothing changes if all claims are bound already. It is an error if the node cannot have the pod's
/// volumes (any more).
pub(super) fn changes(
    cluster: &Snapshot,
    claims: Option<&PodClaims>,
    node: Sym,
) -> Result<Vec<Change>, Status> {
    let Some(claims) = claims.filter(|claims| !claims.all_bound()) else {
        return Ok(Vec::new());
    };
    let PodVolumes {
        bindings,
        provisions,
    } = planned(cluster, claims, node)?;
    let bound = bindings
        .iter()
        .map(|(volume, claim)| bind_volume(volume, claim));
    let promised = provisions.iter().map(|claim| promise_claim(claim, node));
    Ok(bound.chain(promised).collect())
}

/// What Reserve found for the node: what happens until PreBind does not change it any more.
fn planned(cluster: &Snapshot, claims: &PodClaims, node: Sym) -> Result<PodVolumes, Status> {
    if let Some((_, volumes)) = claims.planned.get().filter(|(on, _)| *on == node) {
        return Ok(volumes.clone());
    }
    let volumes = cluster
        .node(node)
        .and_then(|node| find_pod_volumes(cluster, claims, node).ok())
        .ok_or_else(|| {
            let node = cluster.names.text(node);
            Status::error(format!("no pod volume found for node {node}"))
        })?;
    // A plan for another node stays: that one is asked again.
    let _ = claims.planned.set((node, volumes.clone()));
    Ok(volumes)
}

/// The volume with a complete reference to the claim.
fn bind_volume(volume: &Arc<PersistentVolume>, claim: &PersistentVolumeClaim) -> Change {
    let mut bound = PersistentVolume::clone(volume);
    bound.claim_ref = Some(ClaimRef {
        namespace: claim.namespace,
        name: claim.name,
        uid: claim.uid.clone(),
    });
    // A volume that its owner reserved for the claim stays so after the claim is gone.
    if !refers_to(volume, claim) && !bound.annotations.has(sym::BOUND_BY_CONTROLLER) {
        bound.annotations = with(&bound.annotations, sym::BOUND_BY_CONTROLLER, sym::YES);
    }
    Change {
        dirty: bound != **volume,
        object: Object::PersistentVolume(Arc::new(bound)),
    }
}

/// The claim with the node on which its volume is to be made.
fn promise_claim(claim: &PersistentVolumeClaim, node: Sym) -> Change {
    let mut promised = claim.clone();
    promised.annotations = with(&promised.annotations, sym::SELECTED_NODE, node);
    Change {
        object: Object::PersistentVolumeClaim(Arc::new(promised)),
        dirty: true,
    }
}

fn with(annotations: &Labels, key: Sym, value: Sym) -> Labels {
    Labels::new(annotations.iter().chain([(key, value)]))
}
