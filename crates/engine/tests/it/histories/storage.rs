//! Random volumes, claims and what provisions and attaches them.

use super::maker::{Maker, RACK, ZONE};
use std::sync::Arc;
use stowplan_base::{Quantity, Sym, sym};
use stowplan_engine::model::{
    AccessMode, BindingMode, ClaimRef, CsiDriver, CsiDriverLimit, CsiMigration, CsiNode, CsiSource,
    CsiStorageCapacity, Labels, MigratedVolume, NodeSelector, NodeSelectorTerm, Object,
    PersistentVolume, PersistentVolumeClaim, Pod, PodVolume, Requirement, Selector, StorageClass,
    VolumeAttachment, VolumeMode, VolumeSource,
};

const CLASSES: [&str; 4] = ["waits", "waits-local", "immediate", "broken"];
const CLAIMS: [&str; 5] = ["data-0", "data-1", "data-2", "data-3", "data-4"];
const VOLUMES: [&str; 6] = ["pv0", "pv1", "pv2", "pv3", "pv4", "pv5"];
const HANDLES: [&str; 4] = ["h0", "h1", "h2", "h3"];
const DRIVERS: [&str; 2] = ["ebs.csi.aws.com", "csi.example.com"];
const MODES: [AccessMode; 4] = [
    AccessMode::ReadWriteOnce,
    AccessMode::ReadWriteOnce,
    AccessMode::ReadWriteMany,
    AccessMode::ReadWriteOncePod,
];

fn gib(n: i64) -> Quantity {
    Quantity::from_units(n << 30)
}

impl Maker<'_> {
    pub(super) fn pod_volumes(&mut self) -> Box<[PodVolume]> {
        let count = *self.dice.pick(&[1, 1, 1, 2]);
        (0..count)
            .map(|i| {
                let source = self.volume_source();
                let migration = match source {
                    VolumeSource::AwsElasticBlockStore { .. } | VolumeSource::Other => {
                        Some(self.migration())
                    }
                    _ => None,
                };
                PodVolume {
                    name: self.sym(&format!("v{i}")),
                    source,
                    migration,
                }
            })
            .collect()
    }

    fn volume_source(&mut self) -> VolumeSource {
        let read_only = self.dice.chance(40);
        match self.dice.below(16) {
            0 => VolumeSource::Ephemeral { claim: Sym::EMPTY },
            1 => VolumeSource::Csi {
                driver: self.one_of(&DRIVERS),
            },
            2 | 3 => VolumeSource::GcePersistentDisk {
                name: self.one_of(&["disk0", "disk1"]),
                read_only,
            },
            4 => VolumeSource::AwsElasticBlockStore {
                id: self.one_of(&HANDLES),
            },
            5 => VolumeSource::Iscsi {
                iqn: self.one_of(&["iqn0", "iqn1"]),
                read_only,
            },
            6 => VolumeSource::Rbd {
                monitors: [self.one_of(&["m0", "m1"]), self.one_of(&["m1", "m2"])].into(),
                pool: self.one_of(&["pool"]),
                image: self.one_of(&["image0", "image1"]),
                read_only,
            },
            7 => VolumeSource::Other,
            _ => VolumeSource::Claim {
                claim: self.one_of(&CLAIMS),
            },
        }
    }

    fn migration(&mut self) -> CsiMigration {
        CsiMigration {
            plugin: *self.dice.pick(&[
                sym::AWS_EBS_PLUGIN,
                sym::AWS_EBS_PLUGIN,
                sym::VSPHERE_PLUGIN,
            ]),
            handle: match self.dice.below(10) {
                0 => Err("no such disk".into()),
                _ => Ok(self.one_of(&HANDLES)),
            },
        }
    }

    /// Some object of storage, new or in place of an old one.
    pub(super) fn storage_object(&mut self) -> Object {
        match self.dice.below(20) {
            0..=5 => Object::PersistentVolumeClaim(Arc::new(self.claim())),
            6..=10 => Object::PersistentVolume(Arc::new(self.volume())),
            11 | 12 => Object::StorageClass(Arc::new(self.storage_class())),
            13..=15 => Object::CSINode(Arc::new(self.csi_node())),
            16 => Object::CSIDriver(Arc::new(CsiDriver {
                name: self.one_of(&DRIVERS),
                storage_capacity: self.dice.chance(50),
            })),
            17 => Object::CSIStorageCapacity(Arc::new(self.capacity())),
            _ => Object::VolumeAttachment(Arc::new(self.attachment())),
        }
    }

    /// What a cluster has to begin with.
    pub(super) fn storage(&mut self) -> Vec<Object> {
        let mut objects: Vec<_> = CLASSES
            .iter()
            .map(|name| Object::StorageClass(Arc::new(self.storage_class_named(name))))
            .collect();
        objects.extend((0..30).map(|_| self.storage_object()));
        objects
    }

    fn claim(&mut self) -> PersistentVolumeClaim {
        let (namespace, name) = (self.namespace(), self.one_of(&CLAIMS));
        self.claim_named(namespace, name)
    }

    fn claim_named(&mut self, namespace: Sym, name: Sym) -> PersistentVolumeClaim {
        let bound = self.dice.chance(45);
        let mut annotations = Vec::new();
        if bound && self.dice.chance(90) {
            annotations.push((sym::BIND_COMPLETED, sym::YES));
        }
        if !bound && self.dice.chance(10) {
            annotations.push((sym::SELECTED_NODE, self.node_name()));
        }
        PersistentVolumeClaim {
            namespace,
            name,
            uid: format!("claim-{}", name.index()).into(),
            annotations: Labels::new(annotations),
            terminating: self.dice.chance(4),
            controller_uid: None,
            storage_class: match self.dice.below(12) {
                0 => Sym::EMPTY,
                1 => self.one_of(&CLASSES[2..]),
                2 => self.one_of(&["missing"]),
                _ => self.one_of(&CLASSES[..2]),
            },
            attributes_class: Sym::EMPTY,
            volume_name: if bound {
                self.one_of(&VOLUMES)
            } else {
                Sym::EMPTY
            },
            access_modes: [*self.dice.pick(&MODES)].into(),
            volume_mode: self.volume_mode(),
            request: self
                .dice
                .chance(95)
                .then(|| gib(*self.dice.pick(&[1, 5, 10]))),
            selector: match self.dice.below(20) {
                0 => Some(Err("a selector that cannot be parsed".into())),
                1 => Some(Ok(self.map_selector())),
                _ => None,
            },
            phase: match self.dice.below(25) {
                0 => sym::LOST,
                _ if bound => sym::BOUND,
                _ => Sym::EMPTY,
            },
        }
    }

    /// The claim that the ephemeral volume controller makes for a pod.
    pub(super) fn ephemeral_claim_of(&mut self, pod: &Pod, name: Sym) -> PersistentVolumeClaim {
        PersistentVolumeClaim {
            controller_uid: self.dice.chance(90).then(|| pod.uid.clone()),
            ..self.claim_named(pod.namespace, name)
        }
    }

    fn volume_mode(&mut self) -> VolumeMode {
        *self.dice.pick(&[
            VolumeMode::Filesystem,
            VolumeMode::Filesystem,
            VolumeMode::Filesystem,
            VolumeMode::Block,
        ])
    }

    fn volume(&mut self) -> PersistentVolume {
        let zone = format!("z{}", self.dice.below(self.plan.zones));
        let (zone_key, zone) = (self.sym(ZONE), self.sym(&zone));
        let in_zone = self.dice.chance(40);
        let (csi, migrated) = match self.dice.below(4) {
            0 => (None, None),
            1 => (None, Some(self.migrated_volume())),
            _ => (Some(self.csi_source()), None),
        };
        PersistentVolume {
            name: self.one_of(&VOLUMES),
            labels: self.pod_labels(),
            annotations: Labels::default(),
            terminating: self.dice.chance(4),
            capacity: gib(*self.dice.pick(&[1, 5, 10, 20])),
            access_modes: [*self.dice.pick(&MODES), AccessMode::ReadWriteOnce].into(),
            volume_mode: self.volume_mode(),
            storage_class: self.one_of(&CLASSES[..2]),
            attributes_class: Sym::EMPTY,
            node_affinity: self.dice.chance(40).then(|| self.volume_affinity()),
            claim_ref: self.dice.chance(25).then(|| self.claim_ref()),
            phase: match self.dice.below(6) {
                0 => sym::BOUND,
                _ => sym::AVAILABLE,
            },
            topology: if in_zone {
                [(zone_key, [zone].into())].into()
            } else {
                Box::default()
            },
            csi,
            migrated,
        }
    }

    fn volume_affinity(&mut self) -> NodeSelector {
        let zone = format!("z{}", self.dice.below(self.plan.zones));
        let rack = format!("r{}", self.dice.below(self.plan.racks));
        let requirement = match self.dice.below(3) {
            0 => Requirement::equals(self.sym(RACK), self.sym(&rack)),
            _ => Requirement::equals(self.sym(ZONE), self.sym(&zone)),
        };
        let term = NodeSelectorTerm {
            expressions: [requirement].into(),
            ..NodeSelectorTerm::default()
        };
        NodeSelector {
            terms: [term].into(),
        }
    }

    fn claim_ref(&mut self) -> ClaimRef {
        let name = self.one_of(&CLAIMS);
        ClaimRef {
            namespace: self.namespace(),
            name,
            uid: match self.dice.below(2) {
                0 => "".into(),
                _ => format!("claim-{}", name.index()).into(),
            },
        }
    }

    fn csi_source(&mut self) -> CsiSource {
        CsiSource {
            driver: self.one_of(&DRIVERS),
            handle: self.one_of(&HANDLES),
        }
    }

    fn migrated_volume(&mut self) -> MigratedVolume {
        MigratedVolume {
            migration: self.migration(),
            node_affinity: self.dice.chance(50).then(|| self.volume_affinity()),
        }
    }

    fn storage_class(&mut self) -> StorageClass {
        let name = *self.dice.pick(&CLASSES);
        self.storage_class_named(name)
    }

    fn storage_class_named(&mut self, name: &str) -> StorageClass {
        let provisioner = match name {
            "waits-local" => sym::NO_PROVISIONER,
            _ => *self.dice.pick(&[sym::AWS_EBS_PLUGIN, sym::AWS_EBS_DRIVER]),
        };
        let allowed = self.dice.chance(30).then(|| self.volume_affinity().terms);
        StorageClass {
            name: self.sym(name),
            provisioner,
            binding_mode: match name {
                "broken" => None,
                "immediate" => Some(BindingMode::Immediate),
                _ => Some(BindingMode::WaitForFirstConsumer),
            },
            allowed_topologies: allowed.unwrap_or_default(),
        }
    }

    fn csi_node(&mut self) -> CsiNode {
        let drivers = self.dice.some_of(&DRIVERS, 80);
        CsiNode {
            name: self.node_name(),
            migrated_plugins: match self.dice.below(2) {
                0 => [sym::AWS_EBS_PLUGIN].into(),
                _ => Box::default(),
            },
            drivers: drivers
                .into_iter()
                .map(|driver| CsiDriverLimit {
                    name: self.sym(driver),
                    count: *self.dice.pick(&[None, Some(0), Some(1), Some(1), Some(2)]),
                })
                .collect(),
        }
    }

    fn capacity(&mut self) -> CsiStorageCapacity {
        let zone = format!("z{}", self.dice.below(self.plan.zones));
        let in_zone = Requirement::equals(self.sym(ZONE), self.sym(&zone));
        CsiStorageCapacity {
            namespace: self.namespace(),
            name: self.one_of(&["cap0", "cap1"]),
            storage_class: self.one_of(&CLASSES[..2]),
            node_topology: match self.dice.below(5) {
                0 => Selector::Nothing,
                1 => Selector::everything(),
                _ => Selector::All([in_zone].into()),
            },
            capacity: Some(gib(*self.dice.pick(&[0, 4, 100]))),
            maximum_volume_size: self.dice.chance(20).then(|| gib(4)),
        }
    }

    fn attachment(&mut self) -> VolumeAttachment {
        let (node_name, volume) = (self.node_name(), self.one_of(&VOLUMES));
        let name = format!("{}-{}", self.names.text(node_name), self.names.text(volume));
        VolumeAttachment {
            name: self.sym(&name),
            attacher: self.one_of(&DRIVERS),
            node_name,
            volume_name: self.dice.chance(90).then_some(volume),
        }
    }
}
