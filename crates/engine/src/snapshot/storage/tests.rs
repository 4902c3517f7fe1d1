//! What is kept against a walk over everything, after random changes.

use super::*;
use crate::testing::churn::Churn;
use std::collections::BTreeMap;

/// What VolumeAttachments say is attached to the node.
fn attachments_walked(cluster: &Snapshot, node: Sym) -> BTreeSet<(Sym, Sym)> {
    let attachments = cluster.volume_attachments.iter();
    attachments
        .filter(|a| a.node_name == node && !a.attacher.is_empty())
        .filter_map(|a| {
            let volume = cluster.volumes.get(Sym::EMPTY, a.volume_name?)?;
            Some((a.attacher, volume.csi?.handle))
        })
        .collect()
}

#[test]
fn what_is_attached_is_known_on_every_node_with_limits() {
    let mut known = 0;
    for seed in 0..20 {
        let mut churn = Churn::new(seed);
        for step in 0..400 {
            churn.change();
            let cluster = &churn.world.snapshot;
            for info in cluster.nodes() {
                let csi_node = cluster.csi_nodes.get(Sym::EMPTY, info.node.name);
                assert_eq!(info.csi_node.as_ref(), csi_node, "seed {seed} step {step}");
                let has_limits = csi_node.is_some_and(|node| node.has_limits());
                let counted = Attached::of(cluster, info).ok().filter(|_| has_limits);
                assert_eq!(info.attached(), counted.as_ref(), "seed {seed} step {step}");
                known += usize::from(counted.is_some_and(|c| c != Attached::default()));
                let found = cluster.storage.attachments.on(info.node.name);
                let found: BTreeSet<_> = found
                    .filter_map(|name| cluster.volume_attachments.get(Sym::EMPTY, name))
                    .filter(|a| !a.attacher.is_empty())
                    .filter_map(|a| {
                        let volume = cluster.volumes.get(Sym::EMPTY, a.volume_name?)?;
                        Some((a.attacher, volume.csi?.handle))
                    })
                    .collect();
                assert_eq!(found, attachments_walked(cluster, info.node.name));
            }
        }
    }
    assert!(known > 1000, "{known} nodes with something attached");
}

#[test]
fn claims_know_their_users() {
    for seed in 0..20 {
        let mut churn = Churn::new(seed);
        for step in 0..400 {
            churn.change();
            let cluster = &churn.world.snapshot;
            let mut named = BTreeSet::new();
            let mut nodes: BTreeMap<(Sym, Sym), BTreeSet<Sym>> = BTreeMap::new();
            for info in cluster.nodes() {
                for pod in &info.pods {
                    let claim = |name| (pod.namespace, name);
                    let volumes = pod.volumes.iter();
                    named.extend(volumes.filter_map(|v| v.named_claim()).map(claim));
                    for name in pod.volumes.iter().filter_map(|v| v.claim()) {
                        nodes.entry(claim(name)).or_default().insert(info.node.name);
                    }
                }
            }
            let ns = churn.world.sym("ns");
            for i in 0..8 {
                let claim = churn.world.sym(&format!("c{i}"));
                let cluster = &churn.world.snapshot;
                let in_use = cluster.is_claim_in_use(ns, claim);
                assert_eq!(in_use, named.contains(&(ns, claim)), "seed {seed} {step}");
                let users: BTreeSet<_> = cluster.storage.users.nodes(ns, claim).collect();
                let walked = nodes.get(&(ns, claim)).cloned().unwrap_or_default();
                assert_eq!(users, walked, "seed {seed} step {step}");
            }
        }
    }
}

#[test]
fn nothing_is_left_of_what_is_gone() {
    let mut churn = Churn::new(1);
    for _ in 0..2000 {
        churn.change();
    }
    let cluster = &mut churn.world.snapshot;
    let volumes: Vec<_> = cluster.volumes.iter().map(|v| v.name).collect();
    for volume in volumes {
        cluster.remove(crate::model::Kind::PersistentVolume, Sym::EMPTY, volume);
    }
    let capacities: Vec<_> = cluster.storage_capacities.iter().cloned().collect();
    for c in capacities {
        cluster.remove(crate::model::Kind::CSIStorageCapacity, c.namespace, c.name);
    }
    for class in crate::testing::churn::CLASSES {
        let class = churn.world.sym(class);
        let cluster = &churn.world.snapshot;
        assert!(cluster.free_volumes(class).is_none());
        assert!(cluster.capacities(class).is_none());
    }
    let (ns, claim) = (churn.world.sym("ns"), churn.world.sym("c1"));
    let cluster = &churn.world.snapshot;
    assert_eq!(cluster.volumes_claimed_by(ns, claim).count(), 0);
}
