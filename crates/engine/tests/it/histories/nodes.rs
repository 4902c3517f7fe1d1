//! Random nodes and what becomes of them.

use super::maker::{DISK, FEATURES, HOSTNAME, Maker, RACK, REGION, RESOURCES, SIZE, ZONE};
use stowplan_base::{Quantity, Sym, sym};
use stowplan_engine::model::{
    Effect, Labels, Node, NodeImage, ResourceList, Resources, Taint, Toleration, TolerationOp,
};

const EFFECTS: [Effect; 3] = [
    Effect::NoSchedule,
    Effect::PreferNoSchedule,
    Effect::NoExecute,
];
const TAINT_KEYS: [&str; 3] = ["dedicated", "special", "node.kubernetes.io/unschedulable"];
const TAINT_VALUES: [&str; 3] = ["", "a", "b"];
/// (millicpu, mebibytes, pods): little enough that nodes fill up.
const MACHINES: [(i64, i64, i64); 4] = [
    (2000, 2048, 6),
    (1000, 2048, 4),
    (2500, 1024, 8),
    (1500, 1500, 3),
];
const IMAGES: [&str; 5] = ["img0", "img1", "img2", "img3", "img4"];

impl Maker<'_> {
    pub(super) fn node(&mut self, name: Sym) -> Node {
        let allocatable_list = self.allocatable();
        Node {
            name,
            uid: self.names.text(name).into(),
            labels: self.node_labels(name),
            annotations: Labels::default(),
            unschedulable: self.plan.features.taints && self.dice.chance(5),
            taints: self.taints(),
            allocatable_list,
            allocatable: Resources::default(),
            conditions: Box::default(),
            images: self.node_images(),
            declared_features: self.declared_features(),
        }
    }

    fn node_labels(&mut self, name: Sym) -> Labels {
        let mut pairs = Vec::new();
        let hostname = match self.dice.below(20) {
            0 => None,
            1 => Some(self.sym("shared-host")),
            _ => Some(name),
        };
        pairs.extend(hostname.map(|host| (self.sym(HOSTNAME), host)));
        if self.dice.chance(90) {
            let zone = format!("z{}", self.dice.below(self.plan.zones));
            pairs.push((self.sym(ZONE), self.sym(&zone)));
            pairs.push((self.sym(REGION), self.one_of(&["e", "w"])));
        }
        if self.dice.chance(80) {
            let rack = format!("r{}", self.dice.below(self.plan.racks));
            pairs.push((self.sym(RACK), self.sym(&rack)));
        }
        if self.dice.chance(60) {
            pairs.push((self.sym(DISK), self.one_of(&["ssd", "hdd"])));
        }
        if self.dice.chance(40) {
            pairs.push((self.sym(SIZE), self.one_of(&["1", "2", "30", "big"])));
        }
        Labels::new(pairs)
    }

    fn taints(&mut self) -> Box<[Taint]> {
        if !self.plan.features.taints || self.dice.chance(65) {
            return Box::default();
        }
        let count = 1 + self.dice.below(2);
        (0..count)
            .map(|_| Taint {
                key: self.one_of(&TAINT_KEYS),
                value: self.one_of(&TAINT_VALUES),
                effect: *self.dice.pick(&EFFECTS),
            })
            .collect()
    }

    pub(super) fn toleration(&mut self) -> Toleration {
        let key = match self.dice.below(5) {
            0 => Sym::EMPTY,
            _ => self.one_of(&TAINT_KEYS),
        };
        Toleration {
            key,
            op: *self.dice.pick(&[
                TolerationOp::Exists,
                TolerationOp::Exists,
                TolerationOp::Equal,
                TolerationOp::Equal,
                TolerationOp::Unknown,
            ]),
            value: self.one_of(&TAINT_VALUES),
            effect: match self.dice.below(3) {
                0 => None,
                _ => Some(*self.dice.pick(&EFFECTS)),
            },
        }
    }

    /// What one of a few machines has, or now and then something else.
    fn allocatable(&mut self) -> ResourceList {
        let machine = self.dice.below(self.plan.machines);
        let (mut cpu, mut memory, mut pods) = MACHINES[machine];
        if !self.plan.features.tight {
            (cpu, memory, pods) = (4 * cpu, 4 * memory, 10 * pods);
        }
        if self.dice.chance(6) {
            cpu = *self.dice.pick(&[0, 500, 1500, 10_000]);
            memory = *self.dice.pick(&[0, 256, 1024, 10_000]);
            pods = *self.dice.pick(&[0, 1, 3, 110]);
        }
        let mut amounts = self.amounts(cpu, memory);
        amounts.push((sym::PODS, Quantity::from_units(pods)));
        if self.plan.features.extended_resources {
            for resource in self.dice.some_of(&RESOURCES[..3], 70) {
                let amount = Quantity::from_units(*self.dice.pick(&[0, 1, 4, 4, 4]));
                amounts.push((self.sym(resource), amount));
            }
        }
        super::maker::resource_list(amounts)
    }

    fn node_images(&mut self) -> Box<[NodeImage]> {
        if !self.plan.features.images {
            return Box::default();
        }
        let held = self.dice.some_of(&IMAGES, 35);
        held.into_iter()
            .map(|image| {
                let also = format!("{image}@sha256:1");
                NodeImage {
                    names: match self.dice.below(3) {
                        0 => [self.sym(image), self.sym(&also)].into(),
                        _ => [self.sym(image)].into(),
                    },
                    size_bytes: *self.dice.pick(&[10, 40, 200, 700, 1500]) << 20,
                }
            })
            .collect()
    }

    pub(super) fn pod_images(&mut self) -> Box<[Sym]> {
        let images = self.dice.some_of(&IMAGES, 40);
        self.syms(&images)
    }

    fn declared_features(&mut self) -> Box<[Sym]> {
        if !self.plan.features.declared_features {
            return Box::default();
        }
        let declared = self.dice.some_of(&FEATURES, 60);
        self.syms(&declared)
    }

    /// The node after some change, or none at all that a rule could see.
    pub(super) fn changed_node(&mut self, node: &Node) -> Node {
        let mut node = node.clone();
        match self.dice.below(10) {
            0 | 1 => node.labels = self.relabelled_node(&node),
            2 => node.labels = self.node_labels(node.name),
            3 => node.taints = self.taints(),
            4 => node.unschedulable = self.dice.chance(15),
            5 => node.allocatable_list = self.allocatable(),
            6 => node.allocatable_list = self.more_allocatable(&node),
            7 => node.images = self.node_images(),
            8 => node.declared_features = self.declared_features(),
            _ => node.conditions = [(self.sym("Ready"), self.one_of(&["True", "False"]))].into(),
        }
        node
    }

    fn relabelled_node(&mut self, node: &Node) -> Labels {
        let (key, value) = self.node_label();
        let without = node.labels.iter().filter(|(k, _)| *k != key);
        let kept: Vec<_> = without.collect();
        let put = self.dice.chance(70).then_some((key, value));
        Labels::new(kept.into_iter().chain(put))
    }

    /// One resource more, or another amount of it: maybe one that nobody had before.
    fn more_allocatable(&mut self, node: &Node) -> ResourceList {
        let resource = self.one_of(&RESOURCES);
        let amount = Quantity::from_units(self.dice.between(0, 4));
        let kept = node.allocatable_list.iter();
        let kept: Vec<_> = kept.filter(|(name, _)| *name != resource).collect();
        ResourceList::new(kept.into_iter().chain([(resource, amount)]))
    }
}
