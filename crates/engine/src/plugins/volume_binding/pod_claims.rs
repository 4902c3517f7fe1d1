//! What PreFilter finds out about a pod's claims, once for all nodes.
//! Upstream's `podHasPVCs` and `GetPodVolumeClaims`.

use super::find::PodVolumes;
use super::matching::Candidates;
use crate::Snapshot;
use crate::framework::{Code, Status};
use crate::model::{BindingMode, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use crate::plugins::claims::claim_not_found;
use std::sync::{Arc, OnceLock};
use stowplan_base::{Quantity, Sym, sym};

/// A pod's claims by what is left to do for them, with everything that no node decides worked out.
#[derive(Clone, Debug, Default)]
pub struct PodClaims {
    /// The volumes of bound claims, in the pod's order; `None` where the volume does not exist.
    /// Those that every node can reach are left out.
    pub(super) bound: Vec<Option<Arc<PersistentVolume>>>,
    /// Unbound claims that were promised to a node, in the pod's order.
    pub(super) promised: Vec<(Sym, Provision)>,
    /// Other unbound claims, smallest first.
    pub(super) unbound: Vec<UnboundClaim>,
    /// What Reserve found for the pod's node.
    pub(super) planned: OnceLock<(Sym, PodVolumes)>,
}

/// A claim for which a volume must be found or made.
#[derive(Clone, Debug)]
pub(super) struct UnboundClaim {
    /// The existing volumes that would do, or why the claim cannot be matched at all.
    pub(super) candidates: Result<Candidates, Arc<str>>,
    /// How to make one.
    pub(super) provision: Provision,
}

/// How a claim's volume can be made.
#[derive(Clone, Debug)]
pub(super) struct Provision {
    /// The claim.
    pub(super) claim: Arc<PersistentVolumeClaim>,
    /// Its class.
    pub(super) class: Arc<StorageClass>,
    /// For how many bytes there must be room; `None` if nobody asks.
    pub(super) room: Option<i64>,
}

impl PodClaims {
    /// The claims of `pod`; `None` if it has none.
    pub(super) fn of(cluster: &Snapshot, pod: &Pod) -> Result<Option<Self>, Status> {
        let claims = existing_claims(cluster, pod)
            .map_err(|text| Status::made(Code::UnschedulableAndUnresolvable, text))?;
        if claims.is_empty() {
            return Ok(None);
        }
        let mut sorted = Self::default();
        let mut unbound_immediate = false;
        for claim in claims {
            if claim.is_fully_bound() {
                let volume = cluster.volumes.get(Sym::EMPTY, claim.volume_name);
                if !volume.is_some_and(|volume| is_reachable_everywhere(volume)) {
                    sorted.bound.push(volume.cloned());
                }
                continue;
            }
            match waiting_class(cluster, claim)? {
                // A claim that names its volume is not for the scheduler to bind.
                Some(class) if claim.volume_name.is_empty() => {
                    sorted.add(cluster, claim, class, pod.volumes.len());
                }
                _ => unbound_immediate = true,
            }
        }
        if unbound_immediate {
            return Err(Status::unresolvable(
                "pod has unbound immediate PersistentVolumeClaims",
            ));
        }
        sorted
            .unbound
            .sort_by_key(|unbound| unbound.provision.claim.request.unwrap_or(Quantity::ZERO));
        Ok(Some(sorted))
    }

    fn add(
        &mut self,
        cluster: &Snapshot,
        claim: &Arc<PersistentVolumeClaim>,
        class: &Arc<StorageClass>,
        claims: usize,
    ) {
        let provision = Provision {
            claim: claim.clone(),
            class: class.clone(),
            room: room_for(cluster, claim, class),
        };
        if let Some(node) = claim.annotations.get(sym::SELECTED_NODE) {
            self.promised.push((node, provision));
        } else {
            self.unbound.push(UnboundClaim {
                candidates: Candidates::of(cluster, claim, claims),
                provision,
            });
        }
    }

    /// Whether nothing is left to bind.
    pub(super) fn all_bound(&self) -> bool {
        self.promised.is_empty() && self.unbound.is_empty()
    }
}

/// The claims of the pod's volumes, in their order, or what is wrong with one of them.
fn existing_claims<'a>(
    cluster: &'a Snapshot,
    pod: &Pod,
) -> Result<Vec<&'a Arc<PersistentVolumeClaim>>, String> {
    let names = &cluster.names;
    let mut claims = Vec::new();
    for volume in &pod.volumes {
        let Some(name) = volume.claim() else {
            continue;
        };
        let claim = cluster.claims.get(pod.namespace, name).ok_or_else(|| {
            if volume.is_ephemeral() {
                format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}",
                    names.text(name)
                )
            } else {
                claim_not_found(name, names)
            }
        })?;
        if claim.phase == sym::LOST {
            return Err(format!(
                "persistentvolumeclaim {:?} bound to non-existent persistentvolume {:?}",
                names.text(name),
                names.text(claim.volume_name)
            ));
        }
        if claim.terminating {
            let name = names.text(name);
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if volume.is_ephemeral() {
            claim.check_owner(pod, names)?;
        }
        claims.push(claim);
    }
    Ok(claims)
}

/// The claim's class, if it waits for a pod before it binds. Upstream's `IsDelayBindingMode`.
fn waiting_class<'a>(
    cluster: &'a Snapshot,
    claim: &PersistentVolumeClaim,
) -> Result<Option<&'a Arc<StorageClass>>, Status> {
    if claim.storage_class.is_empty() {
        return Ok(None);
    }
    let class = cluster.storage_classes.get(Sym::EMPTY, claim.storage_class);
    match class.map(|class| (class, class.binding_mode)) {
        Some((class, Some(BindingMode::WaitForFirstConsumer))) => Ok(Some(class)),
        Some((_, Some(BindingMode::Immediate))) | None => Ok(None),
        Some((_, None)) => Err(Status::error(format!(
            "VolumeBindingMode not set for StorageClass {:?}",
            cluster.names.text(claim.storage_class)
        ))),
    }
}

/// Whether no node is in the way of a bound volume.
fn is_reachable_everywhere(volume: &PersistentVolume) -> bool {
    volume.node_affinity.is_none()
        && volume.migrated.as_ref().is_none_or(|migrated| {
            migrated.node_affinity.is_none() && migrated.migration.handle.is_ok()
        })
}

/// For how many bytes a published capacity must have room; `None` if the driver does not publish
/// any. Upstream's `hasEnoughCapacity`, without the node.
fn room_for(
    cluster: &Snapshot,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
) -> Option<i64> {
    let driver = cluster.csi_drivers.get(Sym::EMPTY, class.provisioner)?;
    let size = claim.request?.value();
    driver.storage_capacity.then_some(size)
}
