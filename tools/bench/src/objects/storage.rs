//! Volumes and claims.

use super::Maker;
use std::sync::Arc;
use stowplan_base::{Quantity, Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    AccessMode, ClaimRef, CsiMigration, CsiSource, Labels, MigratedVolume, Object,
    PersistentVolume, PersistentVolumeClaim, Pod, PodVolume, VolumeMode, VolumeSource,
};

/// What a persistent volume is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disk {
    /// `awsElasticBlockStore`.
    InTree,
    /// `csi`, by the EBS driver.
    Csi,
}

impl Maker {
    /// A claim with a volume of 1Gi that are bound to each other.
    pub(crate) fn bound_claim(
        &mut self,
        cluster: &mut Snapshot,
        namespace: Sym,
        claim: &str,
        volume: &str,
        disk: Disk,
    ) -> (PersistentVolume, PersistentVolumeClaim) {
        let mut claim = self.claim(cluster, namespace, claim, Sym::EMPTY);
        let names = &mut cluster.names;
        let name = names.intern(volume);
        claim.annotations = Labels::new([(sym::BIND_COMPLETED, names.intern("true"))]);
        claim.volume_name = name;
        claim.phase = sym::BOUND;
        claim.access_modes = [AccessMode::ReadOnlyMany].into();
        let migration = CsiMigration {
            plugin: sym::AWS_EBS_PLUGIN,
            handle: Ok(name),
        };
        let volume = PersistentVolume {
            name,
            labels: Labels::default(),
            annotations: Labels::default(),
            terminating: false,
            capacity: Quantity::from_units(1 << 30),
            access_modes: claim.access_modes.clone(),
            volume_mode: VolumeMode::Filesystem,
            storage_class: Sym::EMPTY,
            attributes_class: Sym::EMPTY,
            node_affinity: None,
            claim_ref: Some(ClaimRef {
                namespace,
                name: claim.name,
                uid: claim.uid.clone(),
            }),
            phase: sym::BOUND,
            topology: Box::default(),
            csi: (disk == Disk::Csi).then_some(CsiSource {
                driver: sym::AWS_EBS_DRIVER,
                handle: name,
            }),
            migrated: (disk == Disk::InTree).then_some(MigratedVolume {
                migration,
                node_affinity: None,
            }),
        };
        (volume, claim)
    }

    /// An unbound claim of 1Gi.
    pub(crate) fn claim(
        &mut self,
        cluster: &mut Snapshot,
        namespace: Sym,
        name: &str,
        class: Sym,
    ) -> PersistentVolumeClaim {
        PersistentVolumeClaim {
            namespace,
            name: cluster.names.intern(name),
            uid: self.uid(),
            annotations: Labels::default(),
            terminating: false,
            controller_uid: None,
            storage_class: class,
            attributes_class: Sym::EMPTY,
            volume_name: Sym::EMPTY,
            access_modes: [AccessMode::ReadWriteOnce].into(),
            volume_mode: VolumeMode::Filesystem,
            request: Some(Quantity::from_units(1 << 30)),
            selector: None,
            phase: Sym::EMPTY,
        }
    }
}

/// Gives a pod a claim as its one volume.
pub(crate) fn mount(cluster: &mut Snapshot, pod: &mut Pod, claim: Sym) {
    pod.volumes = [PodVolume {
        name: cluster.names.intern("vol"),
        source: VolumeSource::Claim { claim },
        migration: None,
    }]
    .into();
}

/// The two objects, in the order in which they are created.
pub(crate) fn volume_objects(
    (volume, claim): (PersistentVolume, PersistentVolumeClaim),
) -> Vec<Object> {
    vec![
        Object::PersistentVolume(Arc::new(volume)),
        Object::PersistentVolumeClaim(Arc::new(claim)),
    ]
}
