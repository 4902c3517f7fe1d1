//! Plain storage objects for tests.

use super::World;
use crate::model::{
    AccessMode, BindingMode, CsiDriver, CsiDriverLimit, CsiNode, CsiSource, CsiStorageCapacity,
    Labels, NodeSelector, NodeSelectorTerm, Object, Op, PersistentVolume, PersistentVolumeClaim,
    Pod, PodVolume, Requirement, StorageClass, VolumeAttachment, VolumeMode, VolumeSource,
};
use std::sync::Arc;
use stowplan_base::{Quantity, Sym, sym};

impl World {
    /// A free file system of 10Gi that any node can reach and anybody may use.
    pub(crate) fn volume(&mut self, name: &str, class: &str) -> PersistentVolume {
        PersistentVolume {
            name: self.sym(name),
            labels: Labels::default(),
            annotations: Labels::default(),
            terminating: false,
            capacity: gib(10),
            access_modes: [AccessMode::ReadWriteOnce].into(),
            volume_mode: VolumeMode::Filesystem,
            storage_class: self.sym(class),
            attributes_class: Sym::EMPTY,
            node_affinity: None,
            claim_ref: None,
            phase: sym::AVAILABLE,
            topology: Box::default(),
            csi: None,
            migrated: None,
        }
    }

    /// An unbound claim of 5Gi; `name` is `namespace/name` and serves as the uid.
    pub(crate) fn claim(&mut self, name: &str, class: &str) -> PersistentVolumeClaim {
        let (namespace, short) = name.split_once('/').expect("namespace/name");
        PersistentVolumeClaim {
            namespace: self.sym(namespace),
            name: self.sym(short),
            uid: name.into(),
            annotations: Labels::default(),
            terminating: false,
            controller_uid: None,
            storage_class: self.sym(class),
            attributes_class: Sym::EMPTY,
            volume_name: Sym::EMPTY,
            access_modes: [AccessMode::ReadWriteOnce].into(),
            volume_mode: VolumeMode::Filesystem,
            request: Some(gib(5)),
            selector: None,
            phase: Sym::EMPTY,
        }
    }

    /// The same, bound to a volume.
    pub(crate) fn bound_claim(&mut self, name: &str, volume: &str) -> PersistentVolumeClaim {
        let mut claim = self.claim(name, "");
        claim.volume_name = self.sym(volume);
        claim.annotations = Labels::new([(sym::BIND_COMPLETED, sym::YES)]);
        claim
    }

    /// A class that binds as soon as it can, or when its first pod comes.
    pub(crate) fn class(&mut self, name: &str, provisioner: &str, waits: bool) -> StorageClass {
        StorageClass {
            name: self.sym(name),
            provisioner: self.sym(provisioner),
            binding_mode: Some(if waits {
                BindingMode::WaitForFirstConsumer
            } else {
                BindingMode::Immediate
            }),
            allowed_topologies: Box::default(),
        }
    }

    /// `key in (value)`.
    pub(crate) fn node_selector(&mut self, key: &str, value: &str) -> NodeSelector {
        let term = NodeSelectorTerm {
            expressions: [Requirement {
                key: self.sym(key),
                op: Op::In,
                values: [self.sym(value)].into(),
            }]
            .into(),
            ..NodeSelectorTerm::default()
        };
        NodeSelector {
            terms: [term].into(),
        }
    }

    pub(crate) fn csi(&mut self, driver: &str, handle: &str) -> Option<CsiSource> {
        Some(CsiSource {
            driver: self.sym(driver),
            handle: self.sym(handle),
        })
    }

    pub(crate) fn csi_node(&mut self, name: &str, drivers: &[(&str, Option<i32>)]) -> CsiNode {
        CsiNode {
            name: self.sym(name),
            migrated_plugins: Box::default(),
            drivers: drivers
                .iter()
                .map(|(driver, count)| CsiDriverLimit {
                    name: self.sym(driver),
                    count: *count,
                })
                .collect(),
        }
    }

    pub(crate) fn csi_driver(&mut self, name: &str, storage_capacity: bool) -> CsiDriver {
        CsiDriver {
            name: self.sym(name),
            storage_capacity,
        }
    }

    /// So much of a class can be had in a zone.
    pub(crate) fn capacity(
        &mut self,
        name: &str,
        class: &str,
        zone: &str,
        gibibytes: i64,
    ) -> CsiStorageCapacity {
        CsiStorageCapacity {
            namespace: self.sym("kube-system"),
            name: self.sym(name),
            storage_class: self.sym(class),
            node_topology: self.selector(&[("zone", zone)]),
            capacity: Some(gib(gibibytes)),
            maximum_volume_size: None,
        }
    }

    pub(crate) fn attachment(
        &mut self,
        attacher: &str,
        node: &str,
        volume: &str,
    ) -> VolumeAttachment {
        VolumeAttachment {
            name: self.sym(&format!("{attacher}-{node}-{volume}")),
            attacher: self.sym(attacher),
            node_name: self.sym(node),
            volume_name: Some(self.sym(volume)),
        }
    }

    /// A pod that names these claims.
    pub(crate) fn pod_with_claims(&mut self, name: &str, claims: &[&str]) -> Pod {
        let sources = claims
            .iter()
            .map(|claim| VolumeSource::Claim {
                claim: self.sym(claim),
            })
            .collect::<Vec<_>>();
        self.pod_with_volumes(name, sources)
    }

    /// A pod with a generic ephemeral volume `scratch`.
    pub(crate) fn pod_with_ephemeral(&mut self, name: &str) -> Pod {
        let (_, short) = name.split_once('/').expect("namespace/name");
        let claim = self.sym(&format!("{short}-scratch"));
        self.pod_with_volumes(name, [VolumeSource::Ephemeral { claim }])
    }

    pub(crate) fn pod_with_volumes(
        &mut self,
        name: &str,
        sources: impl IntoIterator<Item = VolumeSource>,
    ) -> Pod {
        let mut pod = self.pod(name, &[]);
        pod.volumes = sources
            .into_iter()
            .enumerate()
            .map(|(i, source)| PodVolume {
                name: self.sym(&format!("v{i}")),
                source,
                migration: None,
            })
            .collect();
        pod
    }

    pub(crate) fn add_volume(&mut self, volume: PersistentVolume) {
        self.add(Object::PersistentVolume(Arc::new(volume)));
    }

    pub(crate) fn add_claim(&mut self, claim: PersistentVolumeClaim) {
        self.add(Object::PersistentVolumeClaim(Arc::new(claim)));
    }

    pub(crate) fn add_class(&mut self, class: StorageClass) {
        self.add(Object::StorageClass(Arc::new(class)));
    }

    pub(crate) fn add(&mut self, object: Object) {
        self.snapshot.upsert(object);
    }
}

/// So many gibibytes.
pub(crate) fn gib(n: i64) -> Quantity {
    Quantity::from_units(n << 30)
}
