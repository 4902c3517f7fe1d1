//! What a simulation came to.

use crate::{PackingUse, Playback, Simulation, play};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::Sym;
use stowplan_base::resource_names::is_native;
use stowplan_engine::Snapshot;
use stowplan_engine::framework::Framework;
use stowplan_engine::model::{Pod, ResourceId};
use stowplan_engine::queue::QueuePart;
use stowplan_report::requests;

/// What a simulation came to.
pub struct SimulationReport {
    /// Pods that found a place and kept it, in the order of placement.
    pub placed: Vec<PlacedPod>,
    /// Pods that did not, in the order of the input.
    pub pending: Vec<PendingPod>,
    /// Who made room for himself, in order.
    pub preemptions: Vec<PreemptedPods>,
    /// Every node, by name.
    pub nodes: Vec<NodeUse>,
    /// Resources that some node has, cpu, memory and pods first.
    pub resources: Vec<String>,
    /// How many nodes are in use, if nodes are chosen by a packing policy.
    pub packing: Option<PackingUse>,
}

/// A pod's name and rank.
#[derive(Clone)]
pub struct PodName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: i32,
}

/// A pod that found a place.
pub struct PlacedPod {
    /// The pod.
    pub pod: PodName,
    /// Its node.
    pub node: String,
    /// How often it was tried.
    pub attempts: u32,
    /// What it asks for, by resource.
    pub requests: Vec<(String, i64)>,
}

/// A pod that found none.
pub struct PendingPod {
    /// The pod.
    pub pod: PodName,
    /// `Unschedulable`, `SchedulingGated`, `SchedulerError`, as in the condition PodScheduled; or
    /// `OtherScheduler`.
    pub reason: &'static str,
    /// What the user is told.
    pub message: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// A pod that made room for itself.
pub struct PreemptedPods {
    /// The pod.
    pub preemptor: PodName,
    /// Where.
    pub node: String,
    /// Who had to go.
    pub victims: Vec<PodName>,
}

/// How much of a node is in use.
pub struct NodeUse {
    /// Its name.
    pub name: String,
    /// By resource, as in [`SimulationReport::resources`].
    pub uses: Vec<Use>,
}

/// How much of a resource is in use.
#[derive(Clone, Copy)]
pub struct Use {
    /// Before the simulation.
    pub before: i64,
    /// What is left of that.
    pub kept: i64,
    /// After the simulation.
    pub now: i64,
    /// What there is.
    pub allocatable: i64,
}

impl SimulationReport {
    /// Plays the simulation. `policy` is the packing policy to count the nodes in use for.
    pub fn of(simulation: &mut Simulation, seed: u64, policy: Option<String>) -> Self {
        let columns = columns(simulation.scheduler.cluster());
        let before = in_use(simulation.scheduler.cluster(), &columns, |_| true);
        let playback = play(simulation, seed);
        let cluster = simulation.scheduler.cluster();
        let now = in_use(cluster, &columns, |_| true);
        let new: BTreeSet<&str> = playback.bound.iter().map(|(pod, _)| &*pod.uid).collect();
        let kept = in_use(cluster, &columns, |pod| !new.contains(&*pod.uid));
        Self {
            placed: placed(simulation, &playback),
            pending: pending(simulation, &playback),
            preemptions: preemptions(cluster, &playback),
            nodes: node_uses(cluster, &columns, [&before, &kept, &now]),
            resources: columns.into_iter().map(|(name, _)| name).collect(),
            packing: policy
                .map(|policy| PackingUse::of(cluster, policy, |pod| new.contains(&*pod.uid))),
        }
    }
}

fn pod_name(pod: &Pod) -> PodName {
    PodName {
        namespace: pod.key.namespace.to_string(),
        name: pod.key.name.to_string(),
        priority: pod.priority,
    }
}

fn placed(simulation: &Simulation, playback: &Playback) -> Vec<PlacedPod> {
    let cluster = simulation.scheduler.cluster();
    let stayed = playback
        .bound
        .iter()
        .filter(|(pod, _)| cluster.pod(&pod.uid).is_some());
    stayed
        .map(|(pod, node)| PlacedPod {
            pod: pod_name(pod),
            node: cluster.names.text(*node).to_owned(),
            attempts: playback.attempts.get(&pod.uid).copied().unwrap_or(0),
            requests: requests(cluster, pod),
        })
        .collect()
}

/// Every pod that is still on no node, with the reason.
fn pending(simulation: &Simulation, playback: &Playback) -> Vec<PendingPod> {
    let scheduler = &simulation.scheduler;
    let mut seen = BTreeSet::new();
    let mut pending = Vec::new();
    for pod in &simulation.pending {
        let Some(listed) = scheduler.cluster().listed_pod(pod.namespace, pod.name) else {
            continue;
        };
        if listed.is_assigned() || listed.terminating || !seen.insert(listed.uid.clone()) {
            continue;
        }
        let (reason, message) = reason_pending(simulation, playback, listed);
        pending.push(PendingPod {
            pod: pod_name(listed),
            reason,
            message,
            attempts: playback.attempts.get(&listed.uid).copied().unwrap_or(0),
        });
    }
    pending
}

/// Why a pod is on no node.
pub(crate) fn reason_pending(
    simulation: &Simulation,
    playback: &Playback,
    pod: &Arc<Pod>,
) -> (&'static str, String) {
    let scheduler = &simulation.scheduler;
    match scheduler.profiles().of(pod) {
        Some(framework) => why_pending(simulation, playback, framework, pod),
        None => other_scheduler(scheduler.cluster(), pod),
    }
}

fn why_pending(
    simulation: &Simulation,
    playback: &Playback,
    framework: &Framework,
    pod: &Arc<Pod>,
) -> (&'static str, String) {
    let scheduler = &simulation.scheduler;
    let queued = scheduler.queue().get((pod.namespace, pod.name));
    if let Some((QueuePart::Gated, _)) = queued
        && let Some(gate) = framework.run_pre_enqueue(scheduler.cx(), pod, None)
    {
        return ("SchedulingGated", gate.status.message(scheduler.cluster()));
    }
    match playback.failures.get(&pod.uid) {
        Some(failure) if failure.is_rejection() => ("Unschedulable", failure.message().to_owned()),
        Some(failure) => ("SchedulerError", failure.message().to_owned()),
        None => ("Unschedulable", "it was never tried".to_owned()),
    }
}

fn other_scheduler(cluster: &Snapshot, pod: &Pod) -> (&'static str, String) {
    let name = cluster.names.text(pod.scheduler_name);
    (
        "OtherScheduler",
        format!("left to the scheduler {name:?}, for which there is no profile"),
    )
}

fn preemptions(cluster: &Snapshot, playback: &Playback) -> Vec<PreemptedPods> {
    let preempted = playback.preempted.iter();
    preempted
        .map(|(pod, node, victims)| PreemptedPods {
            preemptor: pod_name(pod),
            node: cluster.names.text(*node).to_owned(),
            victims: victims.iter().map(|victim| pod_name(victim)).collect(),
        })
        .collect()
}

/// The resources that are shown: cpu, memory, pods, and what device plugins offer.
fn columns(cluster: &Snapshot) -> Vec<(String, ResourceId)> {
    let mut extended = BTreeMap::new();
    for node in cluster.nodes() {
        for (id, _) in node.node.allocatable.iter() {
            let name = cluster.names.text(cluster.resource_names.name(id));
            if !is_native(name) {
                extended.insert(name.to_owned(), id);
            }
        }
    }
    let native = [
        ("cpu", ResourceId::CPU),
        ("memory", ResourceId::MEMORY),
        ("pods", ResourceId::PODS),
    ];
    native
        .into_iter()
        .map(|(name, id)| (name.to_owned(), id))
        .chain(extended)
        .collect()
}

/// By node, what the pods that count ask for together.
fn in_use(
    cluster: &Snapshot,
    columns: &[(String, ResourceId)],
    counts: impl Fn(&Pod) -> bool,
) -> BTreeMap<Sym, Vec<i64>> {
    let nodes = cluster.nodes().iter();
    nodes
        .map(|node| {
            let pods = || node.pods.iter().filter(|pod| counts(pod));
            let uses = columns.iter().map(|(_, id)| match *id {
                ResourceId::PODS => i64::try_from(pods().count()).unwrap_or(i64::MAX),
                id => pods().map(|pod| pod.requests.total_columns.get(id)).sum(),
            });
            (node.node.name, uses.collect())
        })
        .collect()
}

fn node_uses(
    cluster: &Snapshot,
    columns: &[(String, ResourceId)],
    [before, kept, now]: [&BTreeMap<Sym, Vec<i64>>; 3],
) -> Vec<NodeUse> {
    let mut nodes: Vec<NodeUse> = cluster
        .nodes()
        .iter()
        .map(|node| {
            let name = node.node.name;
            let at = |uses: &BTreeMap<Sym, Vec<i64>>, i: usize| {
                uses.get(&name)
                    .and_then(|uses| uses.get(i))
                    .copied()
                    .unwrap_or(0)
            };
            let uses = columns.iter().enumerate().map(|(i, (_, id))| Use {
                before: at(before, i),
                kept: at(kept, i),
                now: at(now, i),
                allocatable: node.node.allocatable.get(*id),
            });
            NodeUse {
                name: cluster.names.text(name).to_owned(),
                uses: uses.collect(),
            }
        })
        .collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes
}
