//! Verdicts against those of a walk over all pods and VolumeAttachments.

use super::*;
use crate::model::PersistentVolumeClaim;
use crate::model::csi_migration::is_on;
use crate::testing::churn::Churn;
use std::collections::{BTreeMap, BTreeSet};

/// The drivers of volumes by their unique names.
type Names = BTreeMap<String, Sym>;

fn claimed(cluster: &Snapshot, claim: &PersistentVolumeClaim) -> Option<(String, Sym)> {
    if let Some(volume) = cluster.volumes.get(Sym::EMPTY, claim.volume_name) {
        let csi = volume.csi?;
        return Some((format!("{:?}/{:?}", csi.driver, csi.handle), csi.driver));
    }
    let class = cluster
        .storage_classes
        .get(Sym::EMPTY, claim.storage_class)?;
    let driver = match driver_of(class.provisioner) {
        Some(driver) => Some(driver).filter(|_| is_on(class.provisioner))?,
        None => Some(class.provisioner).filter(|name| !name.is_empty())?,
    };
    Some((format!("claim {:?}", claim.name), driver))
}

/// The volumes of a pod on a node with a CSINode; `None` if one of them is broken.
fn volumes(cluster: &Snapshot, pod: &Pod) -> Option<Names> {
    let mut names = Names::new();
    for volume in &pod.volumes {
        if let Some(migration) = &volume.migration {
            let handle = migration.handle.as_ref().ok()?;
            let driver = driver_of(migration.plugin)?;
            names.insert(format!("{driver:?}/{handle:?}"), driver);
        }
        let claim = volume.claim();
        let Some(claim) = claim.and_then(|name| cluster.claims.get(pod.namespace, name)) else {
            continue;
        };
        if volume.is_ephemeral() && claim.controller_uid.as_ref() != Some(&pod.uid) {
            return None;
        }
        names.extend(claimed(cluster, claim));
    }
    Some(names)
}

/// Upstream's filter, step by step, for a node with a CSINode; `None` if it fails.
fn fits_walked(cluster: &Snapshot, pod: &Pod, node: &NodeInfo) -> Option<bool> {
    let mut new = volumes(cluster, pod)?;
    let csi_node = cluster.csi_nodes.get(Sym::EMPTY, node.node.name)?;
    let limits: BTreeMap<Sym, i32> = csi_node
        .drivers
        .iter()
        .filter_map(|driver| Some((driver.name, driver.count?)))
        .collect();
    if new.is_empty() || limits.is_empty() {
        return Some(true);
    }
    let mut attached = Names::new();
    for other in &node.pods {
        attached.extend(volumes(cluster, other)?);
    }
    new.retain(|name, _| !attached.contains_key(name));
    for attachment in cluster.volume_attachments.iter() {
        let on_node = attachment.node_name == node.node.name;
        let volume = attachment.volume_name.filter(|_| on_node);
        let volume = volume.and_then(|name| cluster.volumes.get(Sym::EMPTY, name));
        if let Some(csi) = volume.and_then(|volume| volume.csi)
            && !attachment.attacher.is_empty()
        {
            let driver = attachment.attacher;
            attached.insert(format!("{driver:?}/{:?}", csi.handle), driver);
        }
    }
    let count = |names: &Names, driver| names.values().filter(|d| **d == driver).count();
    let exceeds = |driver: Sym| {
        let limit = limits.get(&driver);
        limit.is_some_and(|limit| count(&attached, driver) + count(&new, driver) > *limit as usize)
    };
    let drivers: BTreeSet<Sym> = new.values().copied().collect();
    Some(!drivers.into_iter().any(exceeds))
}

#[test]
fn verdicts_are_those_of_a_walk() {
    let mut seen = BTreeMap::new();
    for seed in 0..40 {
        let mut churn = Churn::new(seed);
        for step in 0..300 {
            churn.change();
            let pod = churn.pod("ns/p0");
            let (cx, cluster) = (churn.world.cx(), &churn.world.snapshot);
            let missing = |claim: Sym| cluster.claims.get(pod.namespace, claim).is_none();
            if pod.volumes.iter().filter_map(|v| v.claim()).any(missing) {
                continue;
            }
            let PreFilterResult::Ready(new) = NodeVolumeLimits.pre_filter(cx, &pod) else {
                continue;
            };
            for node in cluster.nodes().iter().filter(|n| n.csi_node.is_some()) {
                // As it is, and as if one of its pods were gone.
                let mut dry_run = node.clone();
                if let Some(first) = node.pods.first() {
                    dry_run.remove_this_pod(first);
                }
                for node in [node, &dry_run] {
                    let fits = match NodeVolumeLimits.filter(cx, &new, &pod, node) {
                        Ok(()) => Some(true),
                        Err(status) if status.code == Code::Error => None,
                        Err(_) => Some(false),
                    };
                    let walked = fits_walked(cluster, &pod, node);
                    assert_eq!(fits, walked, "seed {seed} step {step}");
                    *seen.entry(fits).or_insert(0) += 1;
                }
            }
        }
    }
    for verdict in [Some(true), Some(false), None] {
        let count = seen.get(&verdict).copied().unwrap_or(0);
        assert!(count > 100, "{verdict:?} came up {count} times");
    }
}
