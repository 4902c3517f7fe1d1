//! What would come of draining nodes: which pods go, where their replacements find a place, and how
//! long budgets make it wait.
//!
//! Plays `kubectl drain`: nodes are cordoned, then drained one after the other; all pods of a node are
//! evicted at once, and an eviction that a budget refuses is tried again every five seconds. An evicted
//! pod ends when its grace period does, its controller makes another, the scheduler that ships places
//! it, and it is ready after a time that is taken for granted. That gives its budget room again.

mod budgets;
mod filters;
mod replacement;
mod report;
#[cfg(test)]
mod tests;
mod timeline;

pub use filters::{Allowed, NotThere, PodDeleteStatus, controller, errors, is_finished, warnings};
pub use report::{Assumptions, DrainReport, DrainedPod, Fate, PreemptedPod, Wait};

use crate::report::reason_pending;
use crate::{Simulation, interner, play};
use budgets::Unready;
use replacement::ReplacementTime;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Duration, Sym, sym};
use stowplan_bridge::convert::api_object;
use stowplan_engine::model::{Effect, Node, Object, Pod, Taint};
use timeline::{Evictee, Timeline, span};

/// How long kubectl waits before it tries a refused eviction again.
const RETRY: Duration = Duration::from_secs(5);

/// What is drained, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The nodes, in order.
    pub nodes: Vec<String>,
    /// Which pods may go.
    pub allowed: Allowed,
    /// `--grace-period`; nothing for that of each pod.
    pub grace_period: Option<Duration>,
    /// `--disable-eviction`: pods are deleted, whatever budgets say.
    pub disable_eviction: bool,
    /// How long a pod takes from its binding until it is ready.
    pub startup: Duration,
    /// Where several nodes are equally good, this decides.
    pub seed: u64,
}

/// What the caller knows of the cluster.
pub struct Asked<'a> {
    /// Whether pods with these labels are meant: `--pod-selector`.
    pub is_meant: &'a dyn Fn(&core::Pod) -> bool,
    /// Whether there is a DaemonSet of this namespace and name.
    pub daemon_set: &'a dyn Fn(&str, &str) -> Result<(), NotThere>,
}

/// Says what would come of it. Pending pods are placed first, as [`play`] does. An error names a node
/// that is not there.
pub fn dry_run(
    simulation: &mut Simulation,
    options: &Options,
    asked: &Asked<'_>,
) -> Result<DrainReport, String> {
    play(simulation, options.seed);
    let mut nodes = Vec::new();
    for name in &options.nodes {
        nodes.push(cordon(simulation, name)?);
    }
    let given = pods_as_given(simulation);
    let unready = unready(simulation, &given);
    let evictees = evictees(simulation, options, asked, &nodes, &given);
    let (errors, warnings) = told(&nodes, &evictees);
    let mut timeline = Timeline::new(simulation, options, unready, evictees);
    let mut reached = 0;
    let mut takes = Some(Duration::ZERO);
    for node in &nodes {
        reached += 1;
        let is_over = timeline.drain(*node);
        takes = is_over.then(|| span(timeline.start, timeline.now));
        if !is_over {
            break;
        }
    }
    timeline.settle();
    let reached = &nodes[..reached];
    let pods: Vec<DrainedPod> = timeline
        .evictees
        .iter()
        .map(|one| drained(&timeline, one, reached.contains(&one.node)))
        .collect();
    let blocked = pods.iter().filter(|pod| pod.fate == Fate::Blocked);
    let mut blocking: Vec<String> = blocked
        .filter_map(|pod| Some(pod.waits.as_ref()?.budget.clone()))
        .collect();
    blocking.sort();
    blocking.dedup();
    let last_ready = pods.iter().filter_map(|pod| pod.ready_after).max();
    Ok(DrainReport {
        api_version: "stowplan.dev/v1",
        kind: "Drain",
        nodes: options.nodes.clone(),
        assumptions: Assumptions {
            startup: options.startup,
            grace_period: options.grace_period,
            retry: RETRY,
        },
        takes,
        all_ready_after: last_ready.unwrap_or(Duration::ZERO),
        errors,
        warnings,
        blocking_budgets: blocking,
        preempted: preempted(&timeline),
        pods,
    })
}

/// Keeps new pods off a node.
fn cordon(simulation: &mut Simulation, name: &str) -> Result<Sym, String> {
    let cluster = simulation.scheduler.cluster();
    let found = cluster.names.get(name).and_then(|name| cluster.node(name));
    let Some(found) = found else {
        return Err(format!("nodes {name:?} not found"));
    };
    let node = Node::clone(&found.node);
    let name = node.name;
    let mut taints = node.taints.to_vec();
    if !taints.iter().any(|t| t.key == sym::TAINT_UNSCHEDULABLE) {
        taints.push(Taint {
            key: sym::TAINT_UNSCHEDULABLE,
            value: Sym::EMPTY,
            effect: Effect::NoSchedule,
        });
    }
    let cordoned = Node {
        unschedulable: true,
        taints: taints.into(),
        ..node
    };
    crate::play::upsert(simulation, Object::Node(Arc::new(cordoned)));
    Ok(name)
}

type Given = BTreeMap<(String, String), Arc<core::Pod>>;

/// The pods as the API has them, by namespace and name.
fn pods_as_given(simulation: &Simulation) -> Given {
    let objects = simulation.prepared.objects.iter();
    let pods = objects.filter_map(|loaded| match &loaded.object {
        ApiObject::Pod(pod) => {
            let key = (loaded.object.namespace(), loaded.object.name());
            let key = (key.0.to_owned(), key.1.to_owned());
            Some((key, Arc::new(core::Pod::clone(pod))))
        }
        _ => None,
    });
    pods.collect()
}

fn key(pod: &Pod) -> (String, String) {
    (pod.key.namespace.to_string(), pod.key.name.to_string())
}

/// Pods that say that they are not ready. Where nothing is said, they are.
fn unready(simulation: &Simulation, given: &Given) -> Unready {
    let says_no = |pod: &core::Pod| {
        let conditions = pod
            .status
            .iter()
            .flat_map(|s| s.conditions.iter().flatten());
        let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
        ready.any(|condition| condition.status != "True")
    };
    let nodes = simulation.scheduler.cluster().nodes().iter();
    let pods = nodes.flat_map(|node| &node.pods);
    pods.filter(|pod| given.get(&key(pod)).is_some_and(|pod| says_no(pod)))
        .map(|pod| pod.uid.clone())
        .collect()
}

/// The pods of the nodes that are meant, in the order in which the API lists them.
fn evictees(
    simulation: &mut Simulation,
    options: &Options,
    asked: &Asked<'_>,
    nodes: &[Sym],
    given: &Given,
) -> Vec<Evictee> {
    let mut evictees = Vec::new();
    for node in nodes {
        let mut pods = finished(simulation, *node, given);
        let cluster = simulation.scheduler.cluster();
        pods.extend(cluster.node(*node).iter().flat_map(|n| n.pods.clone()));
        pods.sort_by(|a, b| a.key.cmp(&b.key));
        for pod in pods {
            let Some(given) = given.get(&key(&pod)).filter(|pod| (asked.is_meant)(pod)) else {
                continue;
            };
            let daemon_set = |name: &str| (asked.daemon_set)(&pod.key.namespace, name);
            let status = PodDeleteStatus::of(given, options.allowed, daemon_set);
            let made = ReplacementTime::of(given, simulation);
            evictees.push(Evictee::new(given.clone(), pod, *node, status, made));
        }
    }
    evictees
}

/// Pods of a node that have run their course: the scheduler does not keep them.
fn finished(simulation: &mut Simulation, node: Sym, given: &Given) -> Vec<Arc<Pod>> {
    let cluster = simulation.scheduler.cluster_mut();
    let name = cluster.names.text(node).to_owned();
    let is_there = |pod: &&Arc<core::Pod>| {
        let spec = pod.spec.as_ref();
        filters::is_finished(pod) && spec.and_then(|spec| spec.node_name.as_ref()) == Some(&name)
    };
    let there: Vec<ApiObject> = given
        .values()
        .filter(is_there)
        .map(|pod| core::Pod::clone(pod).into())
        .collect();
    let pods = there
        .iter()
        .filter_map(|pod| match api_object(&mut interner(cluster), pod) {
            Ok(Some(Object::Pod(pod))) => Some(pod),
            _ => None,
        });
    pods.collect()
}

/// What kubectl says of the pods of each node before any of them goes: errors, and warnings.
fn told(nodes: &[Sym], evictees: &[Evictee]) -> (Vec<String>, Vec<String>) {
    let titles: Vec<String> = evictees.iter().map(|one| one.pod.key.to_string()).collect();
    let (mut all_errors, mut all_warnings) = (Vec::new(), Vec::new());
    for node in nodes {
        let pods = evictees.iter().zip(&titles);
        let pods = pods.filter(|(one, _)| one.node == *node);
        let pods: Vec<_> = pods
            .map(|(one, title)| (title.as_str(), &one.status))
            .collect();
        let refused = errors(pods.iter().copied());
        // kubectl says nothing else then.
        if refused.is_empty() {
            all_warnings.extend(warnings(pods));
        }
        all_errors.extend(refused);
    }
    (all_errors, all_warnings)
}

fn drained(timeline: &Timeline<'_>, one: &Evictee, is_reached: bool) -> DrainedPod {
    let names = &timeline.simulation.scheduler.cluster().names;
    let after = |time: Option<_>| time.map(|time| span(timeline.start, time));
    let (fate, message) = fate(timeline, one, is_reached);
    DrainedPod {
        namespace: one.pod.key.namespace.to_string(),
        name: one.pod.key.name.to_string(),
        from: names.text(one.node).to_owned(),
        fate,
        to: one.placed.map(|node| names.text(node).to_owned()),
        evicted_after: after(one.evicted),
        gone_after: after(one.gone),
        ready_after: after(one.ready),
        waits: one.wait.clone(),
        message,
    }
}

const MIRROR: &str = "a mirror pod: only its kubelet can end it";
const LOST: &str = "nobody makes it again";
const ALREADY: &str = "is on its way out already";
const FINISHED: &str = "has finished";
const NOT_REACHED: &str = "the node before never ends";

fn fate(timeline: &Timeline<'_>, one: &Evictee, is_reached: bool) -> (Fate, String) {
    match &one.status {
        PodDeleteStatus::Refuse(message) => return (Fate::Refused, message.clone()),
        PodDeleteStatus::Leave(message) => return (Fate::Skipped, message.clone()),
        PodDeleteStatus::Skip => return (Fate::Skipped, MIRROR.to_owned()),
        PodDeleteStatus::Okay | PodDeleteStatus::Warn(_) => {}
    }
    if let Some(message) = &one.failed {
        return (Fate::Failed, message.clone());
    }
    if one.gone.is_none() {
        return match is_reached {
            true => (Fate::Blocked, String::new()),
            false => (Fate::NotReached, NOT_REACHED.to_owned()),
        };
    }
    match (&one.replacement, one.placed) {
        (Some(_), Some(_)) => (Fate::Moves, String::new()),
        (Some(pod), None) => {
            let (_, why) = reason_pending(timeline.simulation, &timeline.playback, pod);
            (Fate::Pending, why)
        }
        (None, _) if filters::is_finished(&one.given) => (Fate::Removed, FINISHED.to_owned()),
        (None, _) if one.made == ReplacementTime::Never => (Fate::Lost, LOST.to_owned()),
        (None, _) => (Fate::Removed, ALREADY.to_owned()),
    }
}

/// Who had to make room, and where he went.
fn preempted(timeline: &Timeline<'_>) -> Vec<PreemptedPod> {
    let (simulation, playback) = (&*timeline.simulation, &timeline.playback);
    let cluster = simulation.scheduler.cluster();
    let mut all = Vec::new();
    for (by, node, victims) in &playback.preempted {
        for victim in victims {
            let again = format!("{}'", victim.uid);
            let listed = cluster.listed_pod(victim.namespace, victim.name);
            let listed = listed.filter(|pod| *pod.uid == *again);
            let to = listed.and_then(|pod| pod.node_name);
            let pending = listed.filter(|pod| pod.node_name.is_none());
            all.push(PreemptedPod {
                pod: victim.key.to_string(),
                from: cluster.names.text(*node).to_owned(),
                by: by.key.to_string().trim_end_matches('\'').to_owned(),
                to: to.map(|node| cluster.names.text(node).to_owned()),
                pending: pending.map(|pod| reason_pending(simulation, playback, pod).1),
            });
        }
    }
    all
}
