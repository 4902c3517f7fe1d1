//! What a simulation came to.

use super::packing::PackingUse;
use super::play::{Events, play};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::Sym;
use stowplan_engine::Snapshot;
use stowplan_engine::framework::Framework;
use stowplan_engine::model::{Pod, ResourceId};
use stowplan_engine::queue::Place;
use stowplan_report::requests;

/// What a simulation came to.
pub(super) struct Outcome {
    /// Pods that found a place and kept it, in the order of placement.
    pub(super) placed: Vec<Placed>,
    /// Pods that did not, in the order of the input.
    pub(super) pending: Vec<Pending>,
    /// Who made room for himself, in order.
    pub(super) preemptions: Vec<Preemption>,
    /// Every node, by name.
    pub(super) nodes: Vec<NodeUse>,
    /// Resources that some node has, cpu, memory and pods first.
    pub(super) resources: Vec<String>,
    /// How many nodes are in use, if nodes are chosen by a packing policy.
    pub(super) packing: Option<PackingUse>,
}

/// A pod's name and rank.
#[derive(Clone)]
pub(super) struct PodName {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) priority: i32,
}

pub(super) struct Placed {
    pub(super) pod: PodName,
    pub(super) node: String,
    pub(super) attempts: u32,
    /// What it asks for, by resource.
    pub(super) requests: Vec<(String, i64)>,
}

pub(super) struct Pending {
    pub(super) pod: PodName,
    /// `Unschedulable`, `SchedulingGated`, `SchedulerError`, as in the condition PodScheduled; or
    /// `OtherScheduler`.
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) attempts: u32,
}

pub(super) struct Preemption {
    pub(super) preemptor: PodName,
    pub(super) node: String,
    pub(super) victims: Vec<PodName>,
}

pub(super) struct NodeUse {
    pub(super) name: String,
    /// By resource, as in [`Outcome::resources`].
    pub(super) uses: Vec<Use>,
}

/// How much of a resource is in use.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) before: i64,
    /// What is left of that.
    pub(super) kept: i64,
    pub(super) now: i64,
    pub(super) allocatable: i64,
}

impl Outcome {
    /// Plays the simulation. `policy` is the packing policy to count the nodes in use for.
    pub(super) fn of(world: &mut World, seed: u64, policy: Option<String>) -> Self {
        let columns = columns(world.scheduler.cluster());
        let before = in_use(world.scheduler.cluster(), &columns, |_| true);
        let events = play(world, seed);
        let cluster = world.scheduler.cluster();
        let now = in_use(cluster, &columns, |_| true);
        let new: BTreeSet<&str> = events.bound.iter().map(|(pod, _)| &*pod.uid).collect();
        let kept = in_use(cluster, &columns, |pod| !new.contains(&*pod.uid));
        Self {
            placed: placed(world, &events),
            pending: pending(world, &events),
            preemptions: preemptions(cluster, &events),
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

fn placed(world: &World, events: &Events) -> Vec<Placed> {
    let cluster = world.scheduler.cluster();
    let stayed = events
        .bound
        .iter()
        .filter(|(pod, _)| cluster.pod(&pod.uid).is_some());
    stayed
        .map(|(pod, node)| Placed {
            pod: pod_name(pod),
            node: cluster.names.text(*node).to_owned(),
            attempts: events.attempts.get(&pod.uid).copied().unwrap_or(0),
            requests: requests(cluster, pod),
        })
        .collect()
}

/// Every pod that is still on no node, with the reason.
fn pending(world: &World, events: &Events) -> Vec<Pending> {
    let scheduler = &world.scheduler;
    let mut seen = BTreeSet::new();
    let mut pending = Vec::new();
    for pod in &world.pending {
        let Some(listed) = scheduler.cluster().listed_pod(pod.namespace, pod.name) else {
            continue;
        };
        if listed.is_assigned() || listed.terminating || !seen.insert(listed.uid.clone()) {
            continue;
        }
        let (reason, message) = match scheduler.profiles().of(listed) {
            Some(framework) => why_pending(world, events, framework, listed),
            None => other_scheduler(scheduler.cluster(), listed),
        };
        pending.push(Pending {
            pod: pod_name(listed),
            reason,
            message,
            attempts: events.attempts.get(&listed.uid).copied().unwrap_or(0),
        });
    }
    pending
}

fn why_pending(
    world: &World,
    events: &Events,
    framework: &Framework,
    pod: &Arc<Pod>,
) -> (&'static str, String) {
    let scheduler = &world.scheduler;
    let queued = scheduler.queue().get((pod.namespace, pod.name));
    if let Some((Place::Gated, _)) = queued
        && let Some(gate) = framework.run_pre_enqueue(scheduler.cx(), pod, None)
    {
        return ("SchedulingGated", gate.status.message(scheduler.cluster()));
    }
    match events.failures.get(&pod.uid) {
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

fn preemptions(cluster: &Snapshot, events: &Events) -> Vec<Preemption> {
    let preempted = events.preempted.iter();
    preempted
        .map(|(pod, node, victims)| Preemption {
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
            if name.contains('/') && !name.contains("kubernetes.io/") {
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
