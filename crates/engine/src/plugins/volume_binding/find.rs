//! Whether a node can have a pod's volumes. Upstream's `FindPodVolumes`
//! (`plugins/volumebinding/binder.go`).

use super::matching::node_affinity_matches;
use super::pod_claims::{PodClaims, Provision};
use crate::framework::{Code, Fit, Reason, Reasons, Status};
use crate::model::csi_migration::is_on;
use crate::model::{Labels, Node, PersistentVolume, PersistentVolumeClaim};
use crate::{NodeInfo, Snapshot};
use std::iter;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
const VOLUME_MISSING: &str =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// What must be bound or made if the pod goes to one node.
#[derive(Clone, Debug, Default)]
pub(super) struct PodVolumes {
    /// Existing volumes and the claims that get them.
    pub(super) bindings: Vec<(Arc<PersistentVolume>, Arc<PersistentVolumeClaim>)>,
    /// Claims whose volumes are to be made.
    pub(super) provisions: Vec<Arc<PersistentVolumeClaim>>,
}

/// Whether the pod can have its volumes on `node`.
pub(super) fn check_pod_volumes(cluster: &Snapshot, claims: &PodClaims, node: &NodeInfo) -> Fit {
    choose_volumes(cluster, claims, node).map(drop)
}

/// The volumes that the pod gets on `node`, or why it cannot have them.
pub(super) fn find_pod_volumes(
    cluster: &Snapshot,
    claims: &PodClaims,
    node: &NodeInfo,
) -> Result<PodVolumes, Status> {
    let chosen = choose_volumes(cluster, claims, node)?;
    let mut volumes = PodVolumes::default();
    let promised = claims.promised.iter();
    let promised = promised.map(|(_, provision)| provision.claim.clone());
    volumes.provisions.extend(promised);
    for (unbound, chosen) in claims.unbound.iter().zip(chosen.iter()) {
        let claim = unbound.provision.claim.clone();
        match chosen {
            Some(volume) => volumes.bindings.push((volume.clone(), claim)),
            None => volumes.provisions.push(claim),
        }
    }
    Ok(volumes)
}

/// The volume that each unbound claim gets, in their order; `None` if one has to be made.
///
/// Most pods have one such claim at most: that much is kept without allocating.
#[derive(Default)]
struct Chosen<'a> {
    first: Option<Option<&'a Arc<PersistentVolume>>>,
    others: Vec<Option<&'a Arc<PersistentVolume>>>,
}

impl<'a> Chosen<'a> {
    fn push(&mut self, volume: Option<&'a Arc<PersistentVolume>>) {
        match self.first {
            None => self.first = Some(volume),
            Some(_) => self.others.push(volume),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Option<&'a Arc<PersistentVolume>>> {
        self.first.iter().chain(&self.others).copied()
    }

    fn has(&self, name: Sym) -> bool {
        self.iter().flatten().any(|volume| volume.name == name)
    }
}

fn choose_volumes<'a>(
    cluster: &'a Snapshot,
    claims: &'a PodClaims,
    node: &'a NodeInfo,
) -> Result<Chosen<'a>, Status> {
    let bound = check_bound(cluster, claims, node)?;
    let mut chosen = Chosen::default();
    let unbound = find_unbound(cluster, claims, node, &mut chosen)?;
    if bound.is_none() && unbound.is_none() {
        return Ok(chosen);
    }
    let reasons = [
        (bound == Some(BoundConflict::Node)).then_some(NODE_CONFLICT),
        (unbound == Some(UnboundConflict::NoVolume)).then_some(BIND_CONFLICT),
        (unbound == Some(UnboundConflict::NoSpace)).then_some(NOT_ENOUGH_SPACE),
        (bound == Some(BoundConflict::Missing)).then_some(VOLUME_MISSING),
    ];
    let mut reasons = reasons.into_iter().flatten().map(Reason::Text);
    let code = Code::UnschedulableAndUnresolvable;
    Err(match (reasons.next(), reasons.next()) {
        (Some(only), None) => Status::new(code, only),
        (first, second) => Status {
            code,
            reasons: Reasons::Many(first.into_iter().chain(second).collect()),
        },
    })
}

/// What can be wrong with the volume of a bound claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundConflict {
    /// The node cannot reach it.
    Node,
    /// It does not exist.
    Missing,
}

/// What can be wrong with an unbound claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnboundConflict {
    /// No volume can be found or made for it.
    NoVolume,
    /// A volume could be made were there room.
    NoSpace,
}

/// The first thing that is wrong with bound claims. Upstream's `checkBoundClaims`.
fn check_bound(
    cluster: &Snapshot,
    claims: &PodClaims,
    node: &NodeInfo,
) -> Result<Option<BoundConflict>, Status> {
    for volume in &claims.bound {
        let Some(volume) = volume else {
            return Ok(Some(BoundConflict::Missing));
        };
        let affinity = match &volume.migrated {
            Some(migrated) if is_migrated_on(migrated.migration.plugin, node) => {
                if let Err(error) = &migrated.migration.handle {
                    return Err(Status::error(format!("could not translate pv: {error}")));
                }
                &migrated.node_affinity
            }
            _ => &volume.node_affinity,
        };
        if !node_affinity_matches(affinity.as_ref(), &node.node.labels, &cluster.names) {
            return Ok(Some(BoundConflict::Node));
        }
    }
    Ok(None)
}

/// Whether the node has handed the in-tree plugin over to its CSI driver.
fn is_migrated_on(plugin: Sym, node: &NodeInfo) -> bool {
    let csi_node = node.csi_node.as_ref();
    is_on(plugin) && csi_node.is_some_and(|node| node.migrated_plugins.contains(&plugin))
}

/// Chooses a volume for each unbound claim, or sees whether one can be made; returns the first
/// conflict.
fn find_unbound<'a>(
    cluster: &'a Snapshot,
    claims: &'a PodClaims,
    node: &'a NodeInfo,
    chosen: &mut Chosen<'a>,
) -> Result<Option<UnboundConflict>, Status> {
    let node = &*node.node;
    let mut promised = claims.promised.iter();
    if promised.any(|(promised, _)| *promised != node.name) {
        return Ok(Some(UnboundConflict::NoVolume));
    }
    for unbound in &claims.unbound {
        let candidates = match &unbound.candidates {
            Ok(candidates) => candidates,
            Err(error) => return Err(Status::error(error.clone())),
        };
        let taken = |name| chosen.has(name);
        let claim = &unbound.provision.claim;
        chosen.push(candidates.choose(cluster, claim, &node.labels, taken));
    }
    let promised = claims.promised.iter().map(|(_, provision)| provision);
    let unmatched = claims.unbound.iter().zip(chosen.iter());
    let unmatched = unmatched.filter(|(_, chosen)| chosen.is_none());
    let mut provisions = promised.chain(unmatched.map(|(unbound, _)| &unbound.provision));
    Ok(provisions.find_map(|provision| check_provision(cluster, provision, node)))
}

/// What keeps a volume from being made. Upstream's `checkVolumeProvisions`, for one claim.
fn check_provision(
    cluster: &Snapshot,
    provision: &Provision,
    node: &Node,
) -> Option<UnboundConflict> {
    let (class, names) = (&provision.class, &cluster.names);
    if class.provisioner.is_empty() || class.provisioner == sym::NO_PROVISIONER {
        return Some(UnboundConflict::NoVolume);
    }
    let topologies = &class.allowed_topologies;
    if !topologies.is_empty() && !topologies.iter().any(|term| term.matches(node, names)) {
        return Some(UnboundConflict::NoVolume);
    }
    let has_room = |size| has_room(cluster, class.name, size, &node.labels);
    let has_room = provision.room.is_none_or(has_room);
    (!has_room).then_some(UnboundConflict::NoSpace)
}

/// Whether a node with these labels can get a volume of so many bytes.
pub(super) fn has_room(cluster: &Snapshot, class: Sym, size: i64, node_labels: &Labels) -> bool {
    let Some(capacities) = cluster.capacities(class) else {
        return false;
    };
    let mut nearby = iter::once(capacities.unlabelled()).chain(capacities.labelled(node_labels));
    nearby.any(|capacities| {
        let mut sufficient = capacities.range((size, Sym::EMPTY, Sym::EMPTY)..);
        sufficient.any(|(_, capacity)| capacity.node_topology.matches(node_labels, &cluster.names))
    })
}
