//! How much pods and nodes use: it follows from the pod and the time.

use crate::behaviour::Usage;
use crate::kubelet::{hash, mix};
use crate::world::{Entry, World};
use stowplan_base::Time;

/// How long an amount stays the same.
const WINDOW_MS: i64 = 15_000;
/// What a pod uses that requests nothing.
const LEAST_CPU_M: f64 = 1.0;
const LEAST_MEMORY: f64 = (10 << 20) as f64;
/// What a node uses for itself.
const NODE_CPU_M: i64 = 100;
const NODE_MEMORY: i64 = 512 << 20;

/// What a pod uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodUsage {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Thousandths of a cpu.
    pub cpu_m: i64,
    /// Bytes.
    pub memory: i64,
}

/// What a node uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeUsage {
    /// Its name.
    pub name: String,
    /// Thousandths of a cpu.
    pub cpu_m: i64,
    /// Bytes.
    pub memory: i64,
}

/// Cpu and memory that a pod uses; `None` if nothing of it runs.
fn of_entry(entry: &Entry, now: Time) -> Option<(i64, i64)> {
    let mut containers = entry.sim.containers.iter();
    if !containers.any(|one| one.running().is_some()) {
        return None;
    }
    if let Usage::Constant { cpu_m, memory } = entry.usage {
        return Some((cpu_m, memory));
    }
    let seed = hash(&[&entry.sim.uid]);
    let part = match entry.usage {
        Usage::Fraction(part) => part,
        Usage::Sine { low, high, period } => {
            // Pods are not in step with each other.
            let period = period.as_nanos().max(1) as f64;
            let phase = (seed % 1_000) as f64 / 1_000.0;
            let turn = now.as_nanos() as f64 / period + phase;
            let height = (1.0 + (turn * std::f64::consts::TAU).sin()) / 2.0;
            low + (high - low) * height
        }
        Usage::Constant { .. } => 0.0,
    };
    let window = now.as_millis().div_euclid(WINDOW_MS).cast_unsigned();
    let vary = |salt: u64| {
        let word = mix(seed ^ mix(window ^ salt));
        0.95 + 0.1 * (word % 1_000) as f64 / 1_000.0
    };
    let requests = &entry.sim.requests;
    let cpu = (requests.cpu_m as f64 * part * vary(1)).max(LEAST_CPU_M);
    let memory = (requests.memory as f64 * part * vary(2)).max(LEAST_MEMORY);
    Some((cpu as i64, memory as i64))
}

/// What each pod uses of which anything runs, on nodes that can be asked.
pub(crate) fn pod_usage(world: &World, now: Time) -> Vec<PodUsage> {
    let is_heard = |node: u32| world.nodes.get(node).is_some_and(|node| !node.is_silent());
    let all = world.pods.iter().filter(|(_, entry)| is_heard(entry.node));
    let usage = all.filter_map(|(_, entry)| {
        let (cpu_m, memory) = of_entry(entry, now)?;
        Some(PodUsage {
            namespace: entry.key.namespace.to_string(),
            name: entry.key.name.to_string(),
            cpu_m,
            memory,
        })
    });
    usage.collect()
}

/// What each node uses that can be asked.
pub(crate) fn node_usage(world: &World, now: Time) -> Vec<NodeUsage> {
    let all = world.nodes.iter().filter(|(_, node)| !node.is_silent());
    let usage = all.map(|(_, node)| {
        let pods = node.pods.iter().filter_map(|id| world.pods.get(*id));
        let pods = pods.filter_map(|entry| of_entry(entry, now));
        let (cpu_m, memory) = pods.fold((NODE_CPU_M, NODE_MEMORY), |sum, one| {
            (sum.0 + one.0, sum.1 + one.1)
        });
        NodeUsage {
            name: node.name.to_string(),
            cpu_m,
            memory,
        }
    });
    usage.collect()
}
