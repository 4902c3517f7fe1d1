//! Which volumes take up attachments.

use crate::model::csi_migration::{driver_of, is_on};
use crate::model::{CsiMigration, CsiNode, PersistentVolumeClaim, Pod, PodVolume};
use crate::{NodeInfo, Snapshot};
use stowplan_base::Sym;

/// A volume that a driver attaches. Two of a driver are one if they are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct AttachedVolume {
    /// The driver.
    pub(crate) driver: Sym,
    id: VolumeId,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum VolumeId {
    /// The CSI volume handle.
    Handle(Sym),
    /// A claim whose volume is yet to be made, by (namespace, name).
    Claim(Sym, Sym),
}

/// What keeps a pod's volumes from being counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Uncounted {
    /// This claim does not exist.
    Missing(Sym),
    /// Something is wrong with a volume.
    Broken(String),
}

/// What is attached to a node with a CSINode, or will be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attached {
    /// The volumes of its pods, sorted.
    of_pods: Box<[AttachedVolume]>,
    /// How many volumes each driver has, those included that only VolumeAttachments tell of.
    counts: Box<[(Sym, i64)]>,
}

impl Attached {
    /// What is attached to the node. A pod whose volumes cannot be counted is an error.
    pub(crate) fn of(cluster: &Snapshot, node: &NodeInfo) -> Result<Self, String> {
        let mut volumes = Vec::new();
        for pod in &node.pods {
            for volume in &pod.volumes {
                match attachable_volume(cluster, pod, volume, true) {
                    Ok(volume) => volumes.extend(volume),
                    // It is no longer there, or never was.
                    Err(Uncounted::Missing(_)) => {}
                    Err(Uncounted::Broken(error)) => return Err(error),
                }
            }
        }
        sort(&mut volumes);
        let of_pods = volumes.as_slice().into();
        volumes.extend(cluster.attachments_on(node.node.name));
        sort(&mut volumes);
        let mut counts: Vec<(Sym, i64)> = Vec::new();
        for volume in &volumes {
            match counts.last_mut() {
                Some((driver, count)) if *driver == volume.driver => *count += 1,
                _ => counts.push((volume.driver, 1)),
            }
        }
        Ok(Self {
            of_pods,
            counts: counts.into(),
        })
    }

    /// How many volumes of the driver there are.
    pub(crate) fn count(&self, driver: Sym) -> i64 {
        let mut counts = self.counts.iter();
        counts
            .find(|(name, _)| *name == driver)
            .map_or(0, |(_, count)| *count)
    }

    /// Whether the node's pods use the volume.
    pub(crate) fn is_in_use(&self, volume: &AttachedVolume) -> bool {
        self.of_pods.binary_search(volume).is_ok()
    }
}

fn sort(volumes: &mut Vec<AttachedVolume>) {
    volumes.sort_unstable();
    volumes.dedup();
}

/// The volumes of a new pod that take up attachments. Upstream's `filterAttachableVolumes`
/// (`plugins/nodevolumelimits/csi.go`).
pub(crate) fn attachable_volumes(
    cluster: &Snapshot,
    pod: &Pod,
    has_csi_node: bool,
) -> Result<Box<[AttachedVolume]>, Uncounted> {
    let mut volumes = Vec::new();
    for volume in &pod.volumes {
        volumes.extend(attachable_volume(cluster, pod, volume, has_csi_node)?);
    }
    sort(&mut volumes);
    Ok(volumes.into())
}

/// The attachment that one volume of `pod` takes up, if it does. Migration counts only on nodes
/// that have a CSINode.
fn attachable_volume(
    cluster: &Snapshot,
    pod: &Pod,
    volume: &PodVolume,
    has_csi_node: bool,
) -> Result<Option<AttachedVolume>, Uncounted> {
    let Some(name) = volume.claim() else {
        return match &volume.migration {
            Some(migration) if has_csi_node => inline_volume(cluster, volume, migration),
            _ => Ok(None),
        };
    };
    if name.is_empty() {
        let text = "PersistentVolumeClaim had no name";
        return Err(Uncounted::Broken(text.to_owned()));
    }
    let claim = cluster.claims.get(pod.namespace, name);
    let claim = claim.ok_or(Uncounted::Missing(name))?;
    if volume.is_ephemeral() {
        let owned = claim.check_owner(pod, &cluster.names);
        owned.map_err(Uncounted::Broken)?;
    }
    Ok(claimed_volume(cluster, claim, has_csi_node))
}

/// An in-tree volume of a pod, on a node with a CSINode.
fn inline_volume(
    cluster: &Snapshot,
    volume: &PodVolume,
    migration: &CsiMigration,
) -> Result<Option<AttachedVolume>, Uncounted> {
    let Some(driver) = driver_of(migration.plugin).filter(|_| is_on(migration.plugin)) else {
        return Ok(None);
    };
    match &migration.handle {
        Ok(handle) => Ok(Some(AttachedVolume {
            driver,
            id: VolumeId::Handle(*handle),
        })),
        Err(error) => {
            let name = cluster.names.text(volume.name);
            let text = format!("converting volume({name}) from inline to csi: {error}");
            Err(Uncounted::Broken(text))
        }
    }
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

impl Snapshot {
    /// What VolumeAttachments say is attached to a node. Upstream's `getNodeVolumeAttachmentInfo`.
    fn attachments_on(&self, node: Sym) -> impl Iterator<Item = AttachedVolume> {
        self.storage
            .attachments
            .on(node)
            .filter_map(|name| self.volume_attachments.get(Sym::EMPTY, name))
            .filter(|attachment| !attachment.attacher.is_empty())
            .filter_map(|attachment| {
                let volume = self.volumes.get(Sym::EMPTY, attachment.volume_name?)?;
                Some(AttachedVolume {
                    driver: attachment.attacher,
                    id: VolumeId::Handle(volume.csi?.handle),
                })
            })
    }
}

/// How many volumes of the driver the node can hold; `None` for no limit.
pub(crate) fn volume_limit(node: &CsiNode, driver: Sym) -> Option<i64> {
    node.drivers
        .iter()
        .rev()
        .filter(|d| d.name == driver)
        .find_map(|d| d.count)
        .map(i64::from)
}
