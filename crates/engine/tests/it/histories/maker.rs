//! Seeded choices, and the small vocabulary that everything is made of.

use super::plan::Plan;
use stowplan_base::{Names, Quantity, Rng, Sym, sym};
use stowplan_engine::model::{Labels, Op, Requirement, ResourceList, Selector};

/// A seeded source of choices.
pub(super) struct Dice(Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// One of `0..bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// One of `low..=high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).expect("low <= high");
        low + i64::try_from(self.below(span)).expect("a small span")
    }

    /// True that often in a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Each kept that often in a hundred.
    pub(super) fn some_of<T: Clone>(&mut self, from: &[T], percent: usize) -> Vec<T> {
        let kept = from.iter().filter(|_| self.chance(percent));
        kept.cloned().collect()
    }

    /// Another order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

pub(super) const NAMESPACES: [&str; 4] = ["ns0", "ns1", "ns2", "ns3"];
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const REGION: &str = "topology.kubernetes.io/region";
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
pub(super) const RACK: &str = "rack";
pub(super) const DISK: &str = "disk";
pub(super) const SIZE: &str = "size";
/// Labels that differ between the pods of one template.
pub(super) const SHARD: &str = "shard";
pub(super) const POD_NAME: &str = "pod-name";
/// Keys by which terms and constraints make domains.
pub(super) const TOPOLOGY_KEYS: [&str; 5] = [ZONE, HOSTNAME, RACK, ZONE, DISK];
pub(super) const RESOURCES: [&str; 4] = [
    "example.com/gpu",
    "example.com/fpga",
    "hugepages-2Mi",
    "example.com/late",
];
pub(super) const FEATURES: [&str; 3] = ["F0", "F1", "F2"];

/// Makes objects at random.
pub(super) struct Maker<'a> {
    pub(super) dice: &'a mut Dice,
    pub(super) names: &'a mut Names,
    pub(super) plan: &'a Plan,
}

impl Maker<'_> {
    pub(super) fn sym(&mut self, text: &str) -> Sym {
        self.names.intern(text)
    }

    pub(super) fn syms(&mut self, texts: &[&str]) -> Box<[Sym]> {
        texts.iter().map(|text| self.sym(text)).collect()
    }

    pub(super) fn one_of(&mut self, texts: &[&str]) -> Sym {
        let text = *self.dice.pick(texts);
        self.sym(text)
    }

    /// The name of a node, most often of one that exists.
    pub(super) fn node_name(&mut self) -> Sym {
        let n = self.dice.below(self.plan.nodes_max);
        self.sym(&format!("n{n}"))
    }

    pub(super) fn namespace(&mut self) -> Sym {
        self.one_of(&NAMESPACES[..self.plan.namespaces])
    }

    /// A label that pods bear, at random.
    pub(super) fn pod_label(&mut self) -> (Sym, Sym) {
        let keys = if self.plan.features.own_labels {
            60
        } else {
            40
        };
        let (key, values): (_, &[_]) = match self.dice.below(keys) {
            0..20 => ("app", &["web", "db", "cache"]),
            20..30 => ("tier", &["front", "back"]),
            30..38 => ("version", &["v1", "v2"]),
            38 => (POD_NAME, &["p1", "p5", "p30"]),
            _ => (SHARD, &["0", "1"]),
        };
        (self.sym(key), self.one_of(values))
    }

    pub(super) fn pod_labels(&mut self) -> Labels {
        let count = *self.dice.pick(&[0, 1, 1, 2, 2, 3]);
        let pairs: Vec<_> = (0..count).map(|_| self.pod_label()).collect();
        Labels::new(pairs)
    }

    /// What selects pods.
    pub(super) fn pod_selector(&mut self) -> Selector {
        match self.dice.below(20) {
            0 => Selector::Nothing,
            1 => Selector::everything(),
            2..=4 => Selector::All([self.pod_requirement(), self.pod_requirement()].into()),
            _ => Selector::All([self.pod_requirement()].into()),
        }
    }

    fn pod_requirement(&mut self) -> Requirement {
        let (key, value) = self.pod_label();
        let (_, other) = self.pod_label();
        let op = *self
            .dice
            .pick(&[Op::In, Op::In, Op::In, Op::In, Op::NotIn, Op::Exists]);
        let values: Box<[Sym]> = match op {
            Op::Exists => [].into(),
            _ if self.dice.chance(20) => [value, other].into(),
            _ => [value].into(),
        };
        Requirement { key, op, values }
    }

    /// What selects by a plain map; nothing at all if it is empty.
    pub(super) fn map_selector(&mut self) -> Selector {
        let labels = self.pod_labels();
        if labels.is_empty() {
            return Selector::Nothing;
        }
        Selector::All(
            labels
                .iter()
                .map(|(key, value)| Requirement::equals(key, value))
                .collect(),
        )
    }

    /// A label that nodes may bear.
    pub(super) fn node_label(&mut self) -> (Sym, Sym) {
        let zones = self.plan.zones;
        let racks = self.plan.racks;
        let (key, value) = match self.dice.below(6) {
            0 | 1 => (ZONE, format!("z{}", self.dice.below(zones))),
            2 => (RACK, format!("r{}", self.dice.below(racks))),
            3 => (SIZE, (*self.dice.pick(&["1", "2", "30", "big"])).to_owned()),
            _ => (DISK, (*self.dice.pick(&["ssd", "hdd"])).to_owned()),
        };
        (self.sym(key), self.sym(&value))
    }

    /// A condition on node labels.
    pub(super) fn node_requirement(&mut self) -> Requirement {
        let (key, value) = self.node_label();
        let (_, other) = self.node_label();
        match self.dice.below(10) {
            0 => Requirement {
                key: self.sym(SIZE),
                op: Op::Gt(self.dice.between(0, 3)),
                values: [].into(),
            },
            1 => Requirement {
                key: self.sym(SIZE),
                op: Op::Lt(self.dice.between(1, 40)),
                values: [].into(),
            },
            2 => Requirement {
                key,
                op: Op::Exists,
                values: [].into(),
            },
            3 => Requirement {
                key,
                op: Op::DoesNotExist,
                values: [].into(),
            },
            4 | 5 => Requirement {
                key,
                op: Op::NotIn,
                values: [value].into(),
            },
            6 => Requirement {
                key,
                op: Op::In,
                values: [value, other].into(),
            },
            _ => Requirement::equals(key, value),
        }
    }

    pub(super) fn topology_key(&mut self) -> Sym {
        self.one_of(&TOPOLOGY_KEYS)
    }

    /// Amounts of native resources, and of others now and then.
    pub(super) fn amounts(&mut self, cpu_milli: i64, memory_mib: i64) -> Vec<(Sym, Quantity)> {
        let mut amounts = vec![
            (sym::CPU, Quantity::from_millis(cpu_milli)),
            (sym::MEMORY, Quantity::from_units(memory_mib << 20)),
        ];
        if self.plan.features.huge && self.dice.chance(20) {
            let most = *self.dice.pick(&[i64::MAX, i64::MAX / 2, i64::MAX / 100]);
            amounts[1].1 = Quantity::from_units(most);
        }
        if self.dice.chance(20) {
            let storage = Quantity::from_units(self.dice.between(1, 4) << 30);
            amounts.push((sym::EPHEMERAL_STORAGE, storage));
        }
        amounts
    }
}

/// A list of amounts, without those that are mentioned twice.
pub(super) fn resource_list(mut amounts: Vec<(Sym, Quantity)>) -> ResourceList {
    amounts.sort_by_key(|(name, _)| *name);
    amounts.dedup_by_key(|(name, _)| *name);
    ResourceList::new(amounts)
}
