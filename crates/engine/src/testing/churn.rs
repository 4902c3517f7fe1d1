//! Random changes of everything that has to do with storage.

use super::World;
use super::storage::gib;
use crate::model::{
    AccessMode, ClaimRef, CsiMigration, Kind, Labels, NodeSelector, NodeSelectorTerm, Object, Op,
    PersistentVolume, PersistentVolumeClaim, Pod, Requirement, Selector, VolumeMode, VolumeSource,
};
use std::sync::Arc;
use stowplan_base::{Rng, Sym, sym};

/// The names of all nodes that come and go.
pub(crate) const NODES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
/// The names of all classes.
pub(crate) const CLASSES: [&str; 3] = ["local", "csi", "ebs"];

/// A world of storage in which anything may change next.
pub(crate) struct Churn {
    pub(crate) world: World,
    rng: Rng,
}

impl Churn {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            world: World::default(),
            rng: Rng::new(seed),
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.rng.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.rng.below(these.len())]
    }

    /// One of a few names of a kind.
    fn name(&mut self, prefix: &str, most: usize) -> String {
        format!("{prefix}{}", self.rng.below(most))
    }

    /// Something comes, changes or goes.
    pub(crate) fn change(&mut self) {
        let object = match self.rng.below(12) {
            0 => return self.remove(),
            1 => return self.change_node(),
            2..=4 => return self.change_pod(),
            5 | 6 => Object::PersistentVolume(Arc::new(self.volume())),
            7 | 8 => Object::PersistentVolumeClaim(Arc::new(self.claim())),
            9 => {
                let name = self.pick(&CLASSES);
                let provisioner = self.pick(&["csi", "kubernetes.io/aws-ebs", "other", ""]);
                Object::StorageClass(Arc::new(self.world.class(name, provisioner, true)))
            }
            10 => match self.chance(50) {
                true => self.csi_node(),
                false => self.attachment(),
            },
            _ => self.capacity(),
        };
        self.world.add(object);
    }

    fn remove(&mut self) {
        let (kind, namespace, name) = match self.rng.below(6) {
            0 => (Kind::PersistentVolume, "", self.name("pv", 8)),
            1 => (Kind::PersistentVolumeClaim, "ns", self.name("c", 8)),
            2 => (Kind::StorageClass, "", self.pick(&CLASSES).to_owned()),
            3 => (Kind::CSINode, "", self.pick(&NODES).to_owned()),
            4 => (Kind::VolumeAttachment, "", self.name("va", 6)),
            _ => (
                Kind::CSIStorageCapacity,
                "kube-system",
                self.name("room", 6),
            ),
        };
        let (namespace, name) = (self.world.sym(namespace), self.world.sym(&name));
        self.world.snapshot.remove(kind, namespace, name);
    }

    fn change_node(&mut self) {
        let name = self.pick(&NODES);
        if self.chance(30) {
            let name = self.world.sym(name);
            self.world.snapshot.remove(Kind::Node, Sym::EMPTY, name);
        } else {
            let zone = self.pick(&["a", "b"]);
            let labels = [
                ("zone", zone),
                ("host", name),
                ("topology.kubernetes.io/zone", zone),
            ];
            let count = 2 + self.rng.below(2);
            let node = self.world.node(name, &labels[..count]);
            self.world.add_node(node);
        }
    }

    fn change_pod(&mut self) {
        let uid = format!("ns/{}", self.name("p", 10));
        if self.chance(30) {
            self.world.snapshot.remove_pod(&uid);
        } else {
            let pod = self.pod(&uid);
            let node = self.pick(&NODES);
            self.world.add_pod(pod, node);
        }
    }

    pub(crate) fn pod(&mut self, uid: &str) -> Pod {
        let count = self.rng.below(4);
        let sources: Vec<_> = (0..count).map(|_| self.source()).collect();
        let mut pod = self.world.pod_with_volumes(uid, sources);
        let handle = self.world.sym("disk");
        for volume in &mut pod.volumes {
            if volume.source == VolumeSource::Other {
                volume.migration = Some(CsiMigration {
                    plugin: sym::AWS_EBS_PLUGIN,
                    handle: match self.rng.below(8) {
                        0 => Err("a volume that cannot be translated".into()),
                        _ => Ok(handle),
                    },
                });
            }
        }
        pod
    }

    fn source(&mut self) -> VolumeSource {
        let claim = self.name("c", 8);
        let claim = self.world.sym(&claim);
        match self.rng.below(8) {
            0 => VolumeSource::Other,
            1 => VolumeSource::Ephemeral { claim },
            2 => VolumeSource::AwsElasticBlockStore { id: claim },
            _ => VolumeSource::Claim { claim },
        }
    }

    pub(crate) fn volume(&mut self) -> PersistentVolume {
        let (name, class) = (self.name("pv", 8), self.pick(&CLASSES));
        let mut volume = self.world.volume(&name, class);
        volume.capacity = gib(self.pick(&[1, 5, 5, 10]));
        volume.terminating = self.chance(5);
        volume.node_affinity = self.node_affinity();
        if self.chance(10) {
            volume.phase = sym::BOUND;
        }
        if self.chance(10) {
            volume.volume_mode = VolumeMode::Block;
        }
        if self.chance(20) {
            volume.access_modes = [AccessMode::ReadOnlyMany].into();
        }
        if self.chance(20) {
            volume.labels = self.world.labels(&[("tier", "gold")]);
        }
        if self.chance(30) {
            let claim = self.name("c", 8);
            volume.claim_ref = Some(ClaimRef {
                namespace: self.world.sym("ns"),
                name: self.world.sym(&claim),
                uid: match self.rng.below(3) {
                    0 => "".into(),
                    1 => "other".into(),
                    _ => format!("ns/{claim}").into(),
                },
            });
        }
        if self.chance(30) {
            let zone = self.pick(&["a", "b"]);
            let key = self.pick(&[sym::ZONE, sym::ZONE_BETA]);
            volume.topology = [(key, [self.world.sym(zone)].into())].into();
        }
        match self.rng.below(3) {
            0 => volume.csi = self.world.csi("csi", &name),
            1 => volume.csi = self.world.csi("csi", "shared"),
            _ => {}
        }
        volume
    }

    fn node_affinity(&mut self) -> Option<NodeSelector> {
        let count = self.pick(&[0, 1, 1, 1, 2]);
        if count == 0 && self.chance(80) {
            return None;
        }
        let terms = (0..count).map(|_| self.term()).collect();
        Some(NodeSelector { terms })
    }

    fn term(&mut self) -> NodeSelectorTerm {
        let count = self.pick(&[0, 1, 1, 1, 2]);
        let expressions = (0..count).map(|_| self.requirement()).collect();
        NodeSelectorTerm {
            expressions,
            error: self.chance(5).then(|| "broken".into()),
            ..NodeSelectorTerm::default()
        }
    }

    fn requirement(&mut self) -> Requirement {
        let (key, values) = match self.chance(50) {
            true => ("zone", ["a", "b", "c"]),
            false => ("host", ["n0", "n1", "n2"]),
        };
        let count = 1 + self.rng.below(2);
        let values: Vec<_> = (0..count).map(|_| self.pick(&values)).collect();
        Requirement {
            key: self.world.sym(key),
            op: self.pick(&[Op::In, Op::In, Op::In, Op::NotIn, Op::Exists]),
            values: values.into_iter().map(|v| self.world.sym(v)).collect(),
        }
    }

    pub(crate) fn claim(&mut self) -> PersistentVolumeClaim {
        let name = format!("ns/{}", self.name("c", 8));
        if self.chance(40) {
            let volume = self.name("pv", 8);
            let mut claim = self.world.bound_claim(&name, &volume);
            if self.chance(30) {
                claim.annotations = Labels::default();
            }
            return claim;
        }
        let class = self.pick(&CLASSES);
        let mut claim = self.world.claim(&name, class);
        claim.request = self.chance(90).then_some(gib(self.pick(&[1, 4, 5, 9])));
        if self.chance(20) {
            claim.selector = Some(Ok(self.world.selector(&[("tier", "gold")])));
        }
        if self.chance(30) {
            claim.controller_uid = Some(format!("ns/{}", self.name("p", 10)).into());
        }
        claim
    }

    fn csi_node(&mut self) -> Object {
        let name = self.pick(&NODES);
        let limit = self.pick(&[None, Some(0), Some(1), Some(2), Some(3)]);
        let csi_node = self
            .world
            .csi_node(name, &[("csi", limit), ("ebs.csi.aws.com", Some(1))]);
        Object::CSINode(Arc::new(csi_node))
    }

    fn attachment(&mut self) -> Object {
        let (name, volume) = (self.name("va", 6), self.name("pv", 8));
        let (attacher, node) = (self.pick(&["csi", "csi", ""]), self.pick(&NODES));
        let mut attachment = self.world.attachment(attacher, node, &volume);
        attachment.name = self.world.sym(&name);
        attachment.volume_name = attachment.volume_name.filter(|_| self.chance(90));
        Object::VolumeAttachment(Arc::new(attachment))
    }

    fn capacity(&mut self) -> Object {
        let (name, class) = (self.name("room", 6), self.pick(&CLASSES));
        let zone = self.pick(&["a", "b"]);
        let room = self.pick(&[1, 5, 10]);
        let mut capacity = self.world.capacity(&name, class, zone, room);
        match self.rng.below(6) {
            0 => capacity.node_topology = Selector::Nothing,
            1 => capacity.node_topology = Selector::everything(),
            2 => {
                let requirements = [self.requirement(), self.requirement()];
                capacity.node_topology = Selector::All(requirements.into());
            }
            3 => capacity.capacity = None,
            _ => {}
        }
        Object::CSIStorageCapacity(Arc::new(capacity))
    }
}
