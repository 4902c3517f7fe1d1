//! Whether a node can have a pod's volumes. Upstream's `FindPodVolumes`
//! (`plugins/volumebinding/binder.go`).

use super::matching::node_affinity_matches;
use super::pod_claims::{PodClaims, Provision};
use crate::Snapshot;
use crate::framework::{Code, Reason, Reasons, Status};
use crate::model::{Node, PersistentVolume, PersistentVolumeClaim};
use crate::plugins::csi_migration::is_on;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
const VOLUME_MISSING: &str =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// What must be bound or made if the pod goes to one node.
#[derive(Debug, Default)]
pub(super) struct PodVolumes {
    /// Existing volumes and the claims that get them.
    pub(super) bindings: Vec<(Arc<PersistentVolume>, Arc<PersistentVolumeClaim>)>,
    /// Claims whose volumes are to be made.
    pub(super) provisions: Vec<Arc<PersistentVolumeClaim>>,
}

/// The volumes that the pod gets on `node`, or why it cannot have them.
pub(super) fn find_pod_volumes(
    cluster: &Snapshot,
    claims: &PodClaims,
    node: &Node,
) -> Result<PodVolumes, Status> {
    let bound = check_bound(cluster, claims, node)?;
    let mut volumes = PodVolumes::default();
    let unbound = find_unbound(cluster, claims, node, &mut volumes)?;
    let reasons = [
        (bound == Some(BoundConflict::Node)).then_some(NODE_CONFLICT),
        (unbound == Some(UnboundConflict::NoVolume)).then_some(BIND_CONFLICT),
        (unbound == Some(UnboundConflict::NoSpace)).then_some(NOT_ENOUGH_SPACE),
        (bound == Some(BoundConflict::Missing)).then_some(VOLUME_MISSING),
    ];
    if bound.is_none() && unbound.is_none() {
        return Ok(volumes);
    }
    Err(Status {
        code: Code::UnschedulableAndUnresolvable,
        reasons: Reasons::Many(reasons.into_iter().flatten().map(Reason::Text).collect()),
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
    node: &Node,
) -> Result<Option<BoundConflict>, Status> {
    for volume in &claims.bound {
        let Some(volume) = volume else {
            return Ok(Some(BoundConflict::Missing));
        };
        let affinity = match &volume.migrated {
            Some(migrated) if is_migrated_on(cluster, migrated.migration.plugin, node) => {
                if let Err(error) = &migrated.migration.handle {
                    return Err(Status::error(format!("could not translate pv: {error}")));
                }
                &migrated.node_affinity
            }
            _ => &volume.node_affinity,
        };
        if !node_affinity_matches(affinity.as_ref(), &node.labels, &cluster.names) {
            return Ok(Some(BoundConflict::Node));
        }
    }
    Ok(None)
}

/// Whether the node has handed the in-tree plugin over to its CSI driver.
fn is_migrated_on(cluster: &Snapshot, plugin: Sym, node: &Node) -> bool {
    is_on(plugin)
        && cluster
            .csi_nodes
            .get(Sym::EMPTY, node.name)
            .is_some_and(|csi_node| csi_node.migrated_plugins.contains(&plugin))
}

/// Finds or plans a volume for each unbound claim; returns the first conflict.
fn find_unbound(
    cluster: &Snapshot,
    claims: &PodClaims,
    node: &Node,
    volumes: &mut PodVolumes,
) -> Result<Option<UnboundConflict>, Status> {
    if claims
        .promised
        .iter()
        .any(|(promised, _)| *promised != node.name)
    {
        return Ok(Some(UnboundConflict::NoVolume));
    }
    let mut unmatched = Vec::new();
    for unbound in &claims.unbound {
        let candidates = match &unbound.candidates {
            Ok(candidates) => candidates,
            Err(error) => return Err(Status::error(error.clone())),
        };
        let taken = |name: Sym| volumes.bindings.iter().any(|(pv, _)| pv.name == name);
        match candidates.choose(&node.labels, &cluster.names, taken) {
            Some(volume) => {
                let claim = unbound.provision.claim.clone();
                volumes.bindings.push((volume.clone(), claim));
            }
            None => unmatched.push(&unbound.provision),
        }
    }
    let promised = claims.promised.iter().map(|(_, provision)| provision);
    for provision in promised.chain(unmatched) {
        if let Some(conflict) = check_provision(cluster, provision, node) {
            return Ok(Some(conflict));
        }
        volumes.provisions.push(provision.claim.clone());
    }
    Ok(None)
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
    let has_space = provision.capacities.as_ref().is_none_or(|capacities| {
        capacities
            .iter()
            .any(|capacity| capacity.node_topology.matches(&node.labels, names))
    });
    (!has_space).then_some(UnboundConflict::NoSpace)
}
