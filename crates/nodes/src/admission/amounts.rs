//! Amounts of resources: what pods request and nodes offer.

use super::{Refusal, Room};
use crate::kubelet::pod_spec;
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::amounts::{Amounts as _, of_containers};

/// Amounts in the units in which a kubelet compares them: thousandths of a cpu, bytes, pieces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Amounts {
    pub(crate) cpu_m: i64,
    pub(crate) memory: i64,
    storage: i64,
    /// All others by name. Most pods have none.
    others: Vec<(Arc<str>, i64)>,
}

type List = BTreeMap<String, Quantity>;

fn parsed(quantity: &Quantity) -> stowplan_base::Quantity {
    quantity.0.parse().unwrap_or_default()
}

/// In whole units.
pub(super) fn value(quantity: &Quantity) -> i64 {
    parsed(quantity).value()
}

impl Amounts {
    /// The amounts of a list.
    pub(super) fn of(list: Option<&List>) -> Self {
        let list = list.into_iter().flatten();
        let mut amounts = Self::default();
        for (name, quantity) in list {
            amounts.put(name, parsed(quantity));
        }
        amounts
    }

    fn put(&mut self, name: &str, quantity: stowplan_base::Quantity) {
        match name {
            "cpu" => self.cpu_m = quantity.milli_value(),
            "memory" => self.memory = quantity.value(),
            "ephemeral-storage" => self.storage = quantity.value(),
            "pods" => {}
            name => self.others.push((name.into(), quantity.value())),
        }
    }

    fn other(&self, name: &str) -> Option<i64> {
        let mut others = self.others.iter();
        others
            .find(|(other, _)| **other == *name)
            .map(|(_, amount)| *amount)
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.shift(more, 1);
    }

    pub(super) fn subtract(&mut self, less: &Self) {
        self.shift(less, -1);
    }

    fn shift(&mut self, by: &Self, sign: i64) {
        self.cpu_m += sign * by.cpu_m;
        self.memory += sign * by.memory;
        self.storage += sign * by.storage;
        for (name, amount) in &by.others {
            match self.others.iter_mut().find(|(other, _)| other == name) {
                Some((_, here)) => *here += sign * amount,
                None => self.others.push((name.clone(), sign * amount)),
            }
        }
    }

    /// What the node has too little of. Extended resources that the node does not know are not its
    /// business.
    pub(super) fn first_short(&self, room: &Room) -> Option<Refusal> {
        let refusal = |name: &str, requested: i64, used: i64, capacity: i64| Refusal {
            reason: format!("OutOf{name}"),
            message: format!(
                "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
            ),
        };
        if room.pods + 1 > room.pods_max {
            return Some(refusal("pods", 1, room.pods, room.pods_max));
        }
        let (used, all) = (&room.used, &room.allocatable);
        for (name, wanted, used, all) in [
            ("cpu", self.cpu_m, used.cpu_m, all.cpu_m),
            ("memory", self.memory, used.memory, all.memory),
            ("ephemeral-storage", self.storage, used.storage, all.storage),
        ] {
            if wanted > 0 && wanted > all - used {
                return Some(refusal(name, wanted, used, all));
            }
        }
        self.others.iter().find_map(|(name, wanted)| {
            let is_native = !name.contains('/') || name.contains("kubernetes.io/");
            let all = match all.other(name) {
                None if !is_native => return None,
                all => all.unwrap_or(0),
            };
            let used = used.other(name).unwrap_or(0);
            (*wanted > 0 && *wanted > all - used).then(|| refusal(name, *wanted, used, all))
        })
    }
}

type Exact = BTreeMap<String, stowplan_base::Quantity>;

fn exact(list: Option<&List>) -> Exact {
    let list = list.into_iter().flatten();
    list.map(|(name, quantity)| (name.clone(), parsed(quantity)))
        .collect()
}

/// What all containers come to, with what the pod as a whole says in their stead, and its overhead.
/// Upstream's `PodRequests` and `PodLimits`.
fn total(pod: &Pod, of: fn(&ResourceRequirements) -> Option<&List>, is_limit: bool) -> Exact {
    let spec = pod_spec(pod);
    let list = |one: &Container| exact(one.resources.as_ref().and_then(of));
    let init = spec.init_containers.iter().flatten();
    let is_sidecar = |one: &Container| one.restart_policy.as_deref() == Some("Always");
    let mut sum = of_containers(
        spec.containers.iter().map(list),
        init.map(|one| (list(one), is_sidecar(one))),
    );
    for (name, amount) in exact(spec.resources.as_ref().and_then(of)) {
        sum.insert(name, amount);
    }
    let overhead = exact(spec.overhead.as_ref());
    match is_limit {
        false => sum.add(&overhead),
        true => {
            for (name, amount) in overhead {
                if let Some(limit) = sum.get_mut(&name) {
                    *limit = *limit + amount;
                }
            }
        }
    }
    sum
}

fn amounts(list: &Exact) -> Amounts {
    let mut amounts = Amounts::default();
    for (name, quantity) in list {
        amounts.put(name, *quantity);
    }
    amounts
}

/// What a pod requests.
pub(crate) fn requests_of(pod: &Pod) -> Amounts {
    amounts(&total(pod, |one| one.requests.as_ref(), false))
}

/// What a kubelet reports that a pod as a whole has: `status.resources`.
pub(crate) fn reported(pod: &Pod) -> Value {
    let mut reported = json!({});
    let list = |exact: Exact| -> Value {
        let texts = exact.into_iter().map(|(name, amount)| {
            let text = text(&name, amount);
            (name, text.into())
        });
        Value::Object(texts.collect())
    };
    let requests = total(pod, |one| one.requests.as_ref(), false);
    if !requests.is_empty() {
        reported["requests"] = list(requests);
    }
    let limits = total(pod, |one| one.limits.as_ref(), true);
    if !limits.is_empty() {
        reported["limits"] = list(limits);
    }
    reported
}

/// A quantity in its usual form: `100m`, `2`, `64Mi`.
fn text(name: &str, amount: stowplan_base::Quantity) -> String {
    let millis = amount.milli_value();
    if millis % 1_000 != 0 {
        return format!("{millis}m");
    }
    let value = amount.value();
    let units = [
        (1_i64 << 40, "Ti"),
        (1 << 30, "Gi"),
        (1 << 20, "Mi"),
        (1 << 10, "Ki"),
    ];
    let binary = units
        .iter()
        .find(|(unit, _)| value != 0 && value % unit == 0);
    match binary.filter(|_| matches!(name, "memory" | "ephemeral-storage")) {
        Some((unit, suffix)) => format!("{}{suffix}", value / unit),
        None => value.to_string(),
    }
}
