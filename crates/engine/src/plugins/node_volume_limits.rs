//! NodeVolumeLimits: how many volumes of a CSI driver can be attached to a node.
//! Upstream's `plugins/nodevolumelimits/csi.go`.

use super::claims::{check_owner, claim_not_found, uses_claim};
use super::csi_migration::{driver_of, is_on};
use crate::framework::{
    Action, ClusterEvent, Code, Cx, EventResource, Fit, Hint, Plugin, Point, PreFilter,
    Registration, Status,
};
use crate::model::{CsiMigration, CsiNode, Object, PersistentVolumeClaim, Pod, PodVolume};
use crate::{NodeInfo, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::Sym;

const LIMIT_EXCEEDED: &str = "node(s) exceed max volume count";

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeVolumeLimits;

/// A volume that a driver attaches. Two of a driver are one if they are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AttachedVolume {
    driver: Sym,
    id: VolumeId,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum VolumeId {
    /// The CSI volume handle.
    Handle(Sym),
    /// A claim whose volume is yet to be made, by (namespace, name).
    Claim(Sym, Sym),
}

/// What VolumeAttachments say is attached to each node.
type Attachments = Arc<BTreeMap<Sym, BTreeSet<AttachedVolume>>>;

impl Plugin for NodeVolumeLimits {
    const NAME: &'static str = "NodeVolumeLimits";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = Attachments;
    type Score = ();

    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<Self::Filter> {
        if pod.volumes.iter().any(may_be_attached) {
            PreFilter::Ready(attachments(cx.cluster))
        } else {
            PreFilter::Skip
        }
    }

    fn filter_unprepared(&self, cx: Cx<'_>, _pod: &Pod) -> Result<Self::Filter, Status> {
        Ok(attachments(cx.cluster))
    }

    fn filter(&self, cx: Cx<'_>, state: &Self::Filter, pod: &Pod, node: &NodeInfo) -> Fit {
        let cluster = cx.cluster;
        let csi_node = cluster.csi_nodes.get(Sym::EMPTY, node.node.name);
        let mut new = BTreeSet::new();
        add_volumes(
            cluster,
            pod,
            csi_node.is_some(),
            WhenMissing::Reject,
            &mut new,
        )?;
        let Some(csi_node) = csi_node else {
            return Ok(());
        };
        if new.is_empty() || csi_node.drivers.iter().all(|d| d.count.is_none()) {
            return Ok(());
        }
        let mut attached = BTreeSet::new();
        for other in &node.pods {
            add_volumes(cluster, other, true, WhenMissing::Ignore, &mut attached)?;
        }
        new.retain(|volume| !attached.contains(volume));
        // What a VolumeAttachment says of a new volume is not held against its being new.
        attached.extend(state.get(&node.node.name).into_iter().flatten());
        let count = |volumes: &BTreeSet<AttachedVolume>, driver| {
            volumes.iter().filter(|v| v.driver == driver).count() as i64
        };
        let exceeds = |volume: &AttachedVolume| {
            limit(csi_node, volume.driver).is_some_and(|limit| {
                count(&attached, volume.driver) + count(&new, volume.driver) > limit
            })
        };
        if new.iter().any(exceeds) {
            return Err(Status::unschedulable(LIMIT_EXCEEDED));
        }
        Ok(())
    }

    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::always(EventResource::CSINode, Action::ADD),
            Registration::hinted(EventResource::CSINode, Action::UPDATE),
            Registration::hinted(EventResource::Pod, Action::DELETE),
            Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD),
            Registration::hinted(EventResource::VolumeAttachment, Action::DELETE),
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
            (Some(Object::Pod(deleted)), _) => {
                (deleted.node_name.is_some() || deleted.nominated_node_name.is_some())
                    && deleted.volumes.iter().any(may_be_attached)
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => uses_claim(pod, claim),
            (Some(Object::VolumeAttachment(deleted)), _) => {
                return hint_detached(pod, deleted.attacher);
            }
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => raises_a_limit(old, new),
            _ => true,
        };
        Hint::queue_if(helps)
    }
}

/// Whether the volume can take up an attachment: it has a claim, or could be migrated.
fn may_be_attached(volume: &PodVolume) -> bool {
    volume.claim().is_some() || volume.migration.is_some()
}

/// What becomes of a claim that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenMissing {
    /// The pod cannot run without it.
    Reject,
    /// It is no longer there, or never was: it does not count.
    Ignore,
}

/// Adds the volumes of `pod` that take up attachments. Upstream's `filterAttachableVolumes`.
///
/// Migration counts only on nodes that have a CSINode.
fn add_volumes(
    cluster: &Snapshot,
    pod: &Pod,
    has_csi_node: bool,
    when_missing: WhenMissing,
    volumes: &mut BTreeSet<AttachedVolume>,
) -> Fit {
    for volume in &pod.volumes {
        let Some(name) = volume.claim() else {
            if let Some(migration) = volume.migration.as_ref().filter(|_| has_csi_node) {
                volumes.extend(inline_volume(cluster, volume, migration)?);
            }
            continue;
        };
        if name.is_empty() {
            return Err(Status::error("PersistentVolumeClaim had no name"));
        }
        let Some(claim) = cluster.claims.get(pod.namespace, name) else {
            if when_missing == WhenMissing::Ignore {
                continue;
            }
            let text = format!(
                "looking up PVC {}/{}: {}",
                pod.key.namespace,
                cluster.names.text(name),
                claim_not_found(name, &cluster.names)
            );
            return Err(Status::made(Code::UnschedulableAndUnresolvable, text));
        };
        if volume.is_ephemeral() {
            check_owner(pod, claim, &cluster.names).map_err(Status::error)?;
        }
        volumes.extend(claimed_volume(cluster, claim, has_csi_node));
    }
    Ok(())
}

/// An in-tree volume of a pod, on a node with a CSINode.
fn inline_volume(
    cluster: &Snapshot,
    volume: &PodVolume,
    migration: &CsiMigration,
) -> Result<Option<AttachedVolume>, Status> {
    let Some(driver) = driver_of(migration.plugin).filter(|_| is_on(migration.plugin)) else {
        return Ok(None);
    };
    match &migration.handle {
        Ok(handle) => Ok(Some(AttachedVolume {
            driver,
            id: VolumeId::Handle(*handle),
        })),
        Err(error) => Err(Status::error(translation_error(cluster, volume, error))),
    }
}

fn translation_error(cluster: &Snapshot, volume: &PodVolume, error: &str) -> String {
    let name = cluster.names.text(volume.name);
    format!("converting volume({name}) from inline to csi: {error}")
}

/// The volume behind a claim. Upstream's `getCSIDriverInfo`.
fn claimed_volume(
    cluster: &Snapshot,
    claim: &PersistentVolumeClaim,
    has_csi_node: bool,
) -> Option<AttachedVolume> {
    let volume = cluster.volumes.get(Sym::EMPTY, claim.volume_name);
    // The volume of a bound claim may be missing: its class is the next best thing to count by.
    let Some(volume) = volume.filter(|_| !claim.volume_name.is_empty()) else {
        return volume_to_be(cluster, claim, has_csi_node);
    };
    let (driver, handle) = match (&volume.csi, &volume.migrated) {
        (Some(csi), _) => (csi.driver, csi.handle),
        (None, Some(migrated)) if has_csi_node && is_on(migrated.migration.plugin) => {
            let driver = driver_of(migrated.migration.plugin)?;
            (driver, *migrated.migration.handle.as_ref().ok()?)
        }
        _ => return None,
    };
    (!driver.is_empty() && !handle.is_empty()).then_some(AttachedVolume {
        driver,
        id: VolumeId::Handle(handle),
    })
}

/// The volume that the claim's class will make. Upstream's `getCSIDriverInfoFromSC`.
fn volume_to_be(
    cluster: &Snapshot,
    claim: &PersistentVolumeClaim,
    has_csi_node: bool,
) -> Option<AttachedVolume> {
    if claim.storage_class.is_empty() {
        return None;
    }
    let class = cluster
        .storage_classes
        .get(Sym::EMPTY, claim.storage_class)?;
    let driver = match driver_of(class.provisioner) {
        Some(driver) if has_csi_node && is_on(class.provisioner) => driver,
        Some(_) => return None,
        None => class.provisioner,
    };
    (!driver.is_empty()).then_some(AttachedVolume {
        driver,
        id: VolumeId::Claim(claim.namespace, claim.name),
    })
}

/// What is attached to each node. Upstream's `getNodeVolumeAttachmentInfo`.
fn attachments(cluster: &Snapshot) -> Attachments {
    let mut by_node: BTreeMap<Sym, BTreeSet<AttachedVolume>> = BTreeMap::new();
    for attachment in cluster.volume_attachments.iter() {
        let volume = attachment
            .volume_name
            .filter(|_| !attachment.attacher.is_empty())
            .and_then(|name| cluster.volumes.get(Sym::EMPTY, name));
        if let Some(csi) = volume.and_then(|volume| volume.csi) {
            by_node
                .entry(attachment.node_name)
                .or_default()
                .insert(AttachedVolume {
                    driver: attachment.attacher,
                    id: VolumeId::Handle(csi.handle),
                });
        }
    }
    Arc::new(by_node)
}

/// How many volumes of the driver the node can hold; `None` for no limit.
fn limit(node: &CsiNode, driver: Sym) -> Option<i64> {
    node.drivers
        .iter()
        .rev()
        .filter(|d| d.name == driver)
        .find_map(|d| d.count)
        .map(i64::from)
}

fn raises_a_limit(old: &CsiNode, new: &CsiNode) -> bool {
    new.drivers.iter().any(|driver| {
        let before = old.drivers.iter().rev().find(|d| d.name == driver.name);
        driver.count.unwrap_or(0) > before.and_then(|d| d.count).unwrap_or(0)
    })
}

/// Could the pod use the room that a detached volume of `attacher` leaves?
fn hint_detached(pod: &Pod, attacher: Sym) -> Hint {
    for volume in &pod.volumes {
        if volume.named_claim().is_some() {
            return Hint::Queue;
        }
        let Some(migration) = &volume.migration else {
            continue;
        };
        if let Err(error) = &migration.handle {
            return Hint::Error(error.to_string());
        }
        if driver_of(migration.plugin) == Some(attacher) {
            return Hint::Queue;
        }
    }
    Hint::Skip
}

#[cfg(test)]
mod tests;
