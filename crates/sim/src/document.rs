//! The outcome for machines.

use crate::{PackingUse, PodName, SimulationReport, Use};
use serde::Serialize;
use std::collections::BTreeMap;
use stowplan_report::exact;

/// `-o json` and `-o yaml`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    api_version: &'static str,
    kind: &'static str,
    seed: u64,
    summary: Summary,
    placements: Vec<Placement>,
    pending: Vec<Pending>,
    preemptions: Vec<Preemption>,
    nodes: Vec<Node>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packing: Option<Packing>,
}

/// The same for `--pack all`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    api_version: &'static str,
    kind: &'static str,
    seed: u64,
    policies: Vec<Policy>,
}

#[derive(Serialize)]
struct Policy {
    #[serde(flatten)]
    packing: Packing,
    summary: Summary,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packing {
    policy: String,
    nodes_used: usize,
    lower_bound: usize,
    /// The resource that the bound comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_by: Option<String>,
    /// What the nodes in use have.
    allocatable: BTreeMap<&'static str, String>,
    /// What the pods on them ask for.
    requested: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Summary {
    placed: usize,
    pending: usize,
    preempted: usize,
    nodes: usize,
}

#[derive(Serialize)]
struct Pod {
    namespace: String,
    name: String,
    priority: i32,
}

#[derive(Serialize)]
struct Placement {
    pod: Pod,
    node: String,
    attempts: u32,
}

#[derive(Serialize)]
struct Pending {
    pod: Pod,
    reason: &'static str,
    message: String,
    attempts: u32,
}

#[derive(Serialize)]
struct Preemption {
    pod: Pod,
    node: String,
    victims: Vec<Pod>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    allocatable: BTreeMap<String, String>,
    requested_before: BTreeMap<String, String>,
    requested: BTreeMap<String, String>,
}

fn pod(name: &PodName) -> Pod {
    Pod {
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        priority: name.priority,
    }
}

impl Document {
    /// The document of one simulation.
    pub fn of(outcome: &SimulationReport, seed: u64) -> Self {
        let placements = outcome.placed.iter().map(|placed| Placement {
            pod: pod(&placed.pod),
            node: placed.node.clone(),
            attempts: placed.attempts,
        });
        let pending = outcome.pending.iter().map(|pending| Pending {
            pod: pod(&pending.pod),
            reason: pending.reason,
            message: pending.message.clone(),
            attempts: pending.attempts,
        });
        let preemptions = outcome.preemptions.iter().map(|preemption| Preemption {
            pod: pod(&preemption.preemptor),
            node: preemption.node.clone(),
            victims: preemption.victims.iter().map(pod).collect(),
        });
        Self {
            api_version: "stowplan.dev/v1",
            kind: "Simulation",
            seed,
            summary: summary(outcome),
            placements: placements.collect(),
            pending: pending.collect(),
            preemptions: preemptions.collect(),
            nodes: nodes(outcome),
            packing: outcome.packing.as_ref().map(packing),
        }
    }
}

impl Comparison {
    /// The document of a simulation per policy.
    pub fn of(outcomes: &[SimulationReport], seed: u64) -> Self {
        let policy = |outcome: &SimulationReport| {
            Some(Policy {
                packing: packing(outcome.packing.as_ref()?),
                summary: summary(outcome),
            })
        };
        Self {
            api_version: "stowplan.dev/v1",
            kind: "PackingComparison",
            seed,
            policies: outcomes.iter().filter_map(policy).collect(),
        }
    }
}

fn summary(outcome: &SimulationReport) -> Summary {
    Summary {
        placed: outcome.placed.len(),
        pending: outcome.pending.len(),
        preempted: outcome.preemptions.iter().map(|p| p.victims.len()).sum(),
        nodes: outcome.nodes.len(),
    }
}

fn packing(used: &PackingUse) -> Packing {
    let amounts = |cpu, memory| {
        let pairs = [("cpu", cpu), ("memory", memory)];
        let exact = pairs.map(|(name, amount)| (name, exact(name, amount)));
        exact.into()
    };
    Packing {
        policy: used.policy.clone(),
        nodes_used: used.nodes_used,
        lower_bound: used.lower_bound,
        bound_by: used.bound_by.clone(),
        allocatable: amounts(used.cpu.1, used.memory.1),
        requested: amounts(used.cpu.0, used.memory.0),
    }
}

fn nodes(outcome: &SimulationReport) -> Vec<Node> {
    let nodes = outcome.nodes.iter();
    nodes
        .map(|node| {
            let uses = || outcome.resources.iter().zip(&node.uses);
            let amounts = |of: fn(&Use) -> i64| {
                let shown = uses().filter(|(_, used)| used.allocatable > 0 || used.now > 0);
                let exact = |(name, used): (&String, &Use)| (name.clone(), exact(name, of(used)));
                shown.map(exact).collect::<BTreeMap<_, _>>()
            };
            Node {
                name: node.name.clone(),
                allocatable: amounts(|used| used.allocatable),
                requested_before: amounts(|used| used.before),
                requested: amounts(|used| used.now),
            }
        })
        .collect()
}
