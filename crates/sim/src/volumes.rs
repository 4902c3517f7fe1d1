//! Volumes as their controllers would make and bind them.

use std::sync::Arc;
use stowplan_base::{Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    ClaimRef, CsiSource, Labels, NodeSelector, NodeSelectorTerm, Object, Op, PersistentVolume,
    PersistentVolumeClaim, Requirement,
};

/// A write of the scheduler, and what follows from it at once: a volume that was given to a claim is
/// bound to it, and a claim that got a node gets a volume that can be reached from its zone.
pub fn follow(cluster: &mut Snapshot, written: Object) -> Vec<Object> {
    match &written {
        Object::PersistentVolume(volume) => {
            let claim = volume.claim_ref.as_ref();
            let claim = claim.and_then(|claim| cluster.claims.get(claim.namespace, claim.name));
            match claim.cloned() {
                Some(claim) => bound(cluster, claim.as_ref().clone(), volume.as_ref().clone()),
                None => vec![written],
            }
        }
        Object::PersistentVolumeClaim(claim) if claim.volume_name.is_empty() => {
            match claim.annotations.get(sym::SELECTED_NODE) {
                Some(node) => {
                    let volume = provisioned(cluster, claim, node);
                    bound(cluster, claim.as_ref().clone(), volume)
                }
                None => vec![written],
            }
        }
        _ => vec![written],
    }
}

fn bound(
    cluster: &mut Snapshot,
    mut claim: PersistentVolumeClaim,
    mut volume: PersistentVolume,
) -> Vec<Object> {
    let phase = cluster.names.intern("Bound");
    let completed = cluster.names.intern("pv.kubernetes.io/bind-completed");
    claim.annotations = Labels::new(claim.annotations.iter().chain([(completed, sym::YES)]));
    claim.volume_name = volume.name;
    claim.phase = phase;
    volume.phase = phase;
    volume.claim_ref = Some(ClaimRef {
        namespace: claim.namespace,
        name: claim.name,
        uid: claim.uid.clone(),
    });
    vec![
        Object::PersistentVolume(Arc::new(volume)),
        Object::PersistentVolumeClaim(Arc::new(claim)),
    ]
}

/// A new volume for the claim. Where it can be reached from only its driver knows; that it is the
/// node's zone holds for the disks of most clouds.
fn provisioned(
    cluster: &mut Snapshot,
    claim: &PersistentVolumeClaim,
    node: Sym,
) -> PersistentVolume {
    let class = claim.storage_class;
    let driver = cluster
        .storage_classes
        .get(Sym::EMPTY, class)
        .map_or(Sym::EMPTY, |class| class.provisioner);
    let zone = cluster
        .node(node)
        .and_then(|node| node.node.labels.get(sym::ZONE));
    let node_affinity = zone.map(|zone| NodeSelector {
        terms: [NodeSelectorTerm {
            expressions: [Requirement {
                key: sym::ZONE,
                op: Op::In,
                values: [zone].into(),
            }]
            .into(),
            ..NodeSelectorTerm::default()
        }]
        .into(),
    });
    let name = cluster.names.intern(&format!("pvc-{}", claim.uid));
    PersistentVolume {
        name,
        labels: Labels::default(),
        annotations: Labels::default(),
        terminating: false,
        capacity: claim.request.unwrap_or_default(),
        access_modes: claim.access_modes.clone(),
        volume_mode: claim.volume_mode,
        storage_class: class,
        attributes_class: claim.attributes_class,
        node_affinity,
        claim_ref: None,
        phase: Sym::EMPTY,
        topology: Box::default(),
        csi: Some(CsiSource {
            driver,
            handle: name,
        }),
        migrated: None,
    }
}
