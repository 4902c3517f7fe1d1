//! VolumeRestrictions: disks that cannot be shared, and claims that only one pod may use.
//! Upstream's `plugins/volumerestrictions/volume_restrictions.go`.

use super::claims::{claim_not_found, names_claim};
use crate::NodeInfo;
use crate::cast::count;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, EventResource, Filter,
    FilterState, Fit, Hint, NodesToCheck, Plugin, PluginBuilder, PreFilter, PreFilterExtensions,
    PreFilterResult, Registration, Scope, Status,
};
use crate::model::{AccessMode, Object, Pod, PodVolume, VolumeSource};
use std::sync::Arc;
use stowplan_base::Sym;

const DISK_CONFLICT: &str = "node(s) had no available disk";
const READ_WRITE_ONCE_POD_CONFLICT: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct VolumeRestrictions;

/// The pod's claims that no other pod may use, and who uses them.
#[derive(Clone, Debug, Default)]
pub struct ReadWriteOncePodState {
    /// The claims, each once; `None` if PreFilter did not look for them.
    claims: Option<Arc<[Sym]>>,
    /// How often other pods refer to them. PreFilter counts a claim once, however many pods use
    /// it; dry runs count every reference, whatever its namespace.
    conflicts: i64,
}

impl ReadWriteOncePodState {
    /// How often `other` refers to the claims.
    fn references(&self, other: &Pod) -> i64 {
        let Some(claims) = &self.claims else {
            return 0;
        };
        let named = other.volumes.iter().filter_map(PodVolume::named_claim);
        count(named.filter(|claim| claims.contains(claim)).count())
    }
}

impl VolumeRestrictions {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .pre_filter_extensions()
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for VolumeRestrictions {
    type FilterState = ReadWriteOncePodState;
    type ScoreState = ();
}

impl PreFilter for VolumeRestrictions {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Self::FilterState> {
        let claims = match read_write_once_pod_claims(cx, pod) {
            Ok(claims) => claims,
            Err(status) => return PreFilterResult::Rejected(status),
        };
        let in_use = |claim: &&Sym| cx.cluster.is_claim_in_use(pod.namespace, **claim);
        let conflicts = count(claims.iter().filter(in_use).count());
        let has_disks = pod.has_restricted_disks();
        if !has_disks && conflicts == 0 {
            return PreFilterResult::Skip;
        }
        PreFilterResult::Ready(ReadWriteOncePodState {
            claims: Some(claims.into()),
            conflicts,
        })
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::FilterState, Status> {
        Ok(ReadWriteOncePodState::default())
    }
}

impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(
        &self,
        _cx: Cx<'_>,
        state: &mut Self::FilterState,
        _pod: &Pod,
        other: &Pod,
        _node: &NodeInfo,
    ) {
        state.conflicts += state.references(other);
    }

    fn remove_pod(
        &self,
        _cx: Cx<'_>,
        state: &mut Self::FilterState,
        _pod: &Pod,
        other: &Pod,
        _node: &NodeInfo,
    ) {
        state.conflicts -= state.references(other);
    }
}

impl Filter for VolumeRestrictions {
    fn filter(&self, _cx: Cx<'_>, state: &Self::FilterState, pod: &Pod, node: &NodeInfo) -> Fit {
        let disks_conflict = |other: &Arc<Pod>| disks_conflict(pod, other);
        if node.pods_with_disks.iter().any(disks_conflict) {
            return Err(Status::unschedulable(DISK_CONFLICT));
        }
        if state.claims.is_none() {
            return Err(Status::error(
                "cannot read \"PreFilterVolumeRestrictions\" from cycleState",
            ));
        }
        if state.conflicts > 0 {
            return Err(Status::unschedulable(READ_WRITE_ONCE_POD_CONFLICT));
        }
        Ok(())
    }
}

impl FilterState<VolumeRestrictions> for ReadWriteOncePodState {
    const SCOPE: Scope = Scope::Cluster;

    fn ignores(_plugin: &VolumeRestrictions, pod: &Pod) -> bool {
        let ignores = |v: &PodVolume| v.named_claim().is_none() && !v.source.is_restricted_disk();
        pod.volumes.iter().all(ignores)
    }

    fn nodes_to_check(&self, _plugin: &VolumeRestrictions, cx: Cx<'_>, _pod: &Pod) -> NodesToCheck {
        match self.claims.is_some() && self.conflicts <= 0 {
            true => NodesToCheck::These(cx.cluster.nodes_with_disks().collect()),
            false => NodesToCheck::All,
        }
    }
}

impl EnqueueExtensions for VolumeRestrictions {
    fn events(&self) -> Vec<Registration> {
        let node = Action::ADD.or(Action::UPDATE_NODE_TAINT);
        vec![
            Registration::hinted(EventResource::Pod, Action::DELETE),
            Registration::always(EventResource::Node, node),
            Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD),
        ]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let helps = match (old, new) {
            (Some(Object::Pod(deleted)), _) => frees_a_volume(pod, deleted),
            (_, Some(Object::PersistentVolumeClaim(claim))) => names_claim(pod, claim),
            _ => true,
        };
        Hint::queue_if(helps)
    }
}

/// The pod's claims with the access mode ReadWriteOncePod. Claims of generic ephemeral volumes are
/// not looked at.
fn read_write_once_pod_claims(cx: Cx<'_>, pod: &Pod) -> Result<Vec<Sym>, Status> {
    let mut exclusive = Vec::new();
    for name in pod.volumes.iter().filter_map(|v| v.named_claim()) {
        let claim = cx.cluster.claims.get(pod.namespace, name).ok_or_else(|| {
            let text = claim_not_found(name, &cx.cluster.names);
            Status::made(Code::UnschedulableAndUnresolvable, text)
        })?;
        let is_exclusive = claim.access_modes.contains(&AccessMode::ReadWriteOncePod);
        if is_exclusive && !exclusive.contains(&name) {
            exclusive.push(name);
        }
    }
    Ok(exclusive)
}

fn disks_conflict(pod: &Pod, other: &Pod) -> bool {
    pod.volumes.iter().any(|mine| {
        mine.source.is_restricted_disk()
            && other
                .volumes
                .iter()
                .any(|theirs| sources_conflict(&mine.source, &theirs.source))
    })
}

/// Upstream's `isVolumeConflict`: the same disk, unless both mount it read-only and its kind allows
/// that.
fn sources_conflict(a: &VolumeSource, b: &VolumeSource) -> bool {
    use VolumeSource::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
    match (a, b) {
        (
            GcePersistentDisk { name, read_only },
            GcePersistentDisk {
                name: other_name,
                read_only: other_read_only,
            },
        ) => name == other_name && !(*read_only && *other_read_only),
        (AwsElasticBlockStore { id }, AwsElasticBlockStore { id: other_id }) => id == other_id,
        (
            Iscsi { iqn, read_only },
            Iscsi {
                iqn: other_iqn,
                read_only: other_read_only,
            },
        ) => iqn == other_iqn && !(*read_only && *other_read_only),
        (
            Rbd {
                monitors,
                pool,
                image,
                read_only,
            },
            Rbd {
                monitors: other_monitors,
                pool: other_pool,
                image: other_image,
                read_only: other_read_only,
            },
        ) => {
            monitors.iter().any(|m| other_monitors.contains(m))
                && pool == other_pool
                && image == other_image
                && !(*read_only && *other_read_only)
        }
        _ => false,
    }
}

/// The pods on a node with disks that `pod` cannot share.
pub(crate) fn disk_holders(pod: &Pod, node: &NodeInfo) -> Vec<Arc<Pod>> {
    let holders = node.pods_with_disks.iter();
    holders
        .filter(|other| disks_conflict(pod, other))
        .cloned()
        .collect()
}

/// The pods on any node that use claims which `pod` must have for itself.
pub(crate) fn claim_holders(cx: Cx<'_>, pod: &Pod) -> Vec<Arc<Pod>> {
    let claims = read_write_once_pod_claims(cx, pod).unwrap_or_default();
    if claims.is_empty() {
        return Vec::new();
    }
    let uses = |other: &Pod| {
        let mut named = other.volumes.iter().filter_map(|v| v.named_claim());
        other.namespace == pod.namespace && named.any(|claim| claims.contains(&claim))
    };
    let placed = cx.cluster.nodes().iter().flat_map(|node| &node.pods);
    placed.filter(|other| uses(other)).cloned().collect()
}

fn frees_a_volume(pod: &Pod, deleted: &Pod) -> bool {
    if deleted.namespace != pod.namespace {
        return false;
    }
    let shares_a_claim = || {
        deleted
            .volumes
            .iter()
            .filter_map(|volume| volume.named_claim())
            .any(|claim| pod.volumes.iter().any(|v| v.named_claim() == Some(claim)))
    };
    disks_conflict(pod, deleted) || shares_a_claim()
}

#[cfg(test)]
mod tests;
