//! The cluster's life until nothing more happens, on a virtual clock.
//!
//! Plays everybody whom the scheduler talks to: the API server takes what it writes, evicted pods
//! leave at once, pods on a node run, volumes are provisioned (see [`volumes`]), and the
//! controllers of evicted pods make new ones.

use crate::{Simulation, volumes};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym};
use stowplan_bridge::effects::plural;
use stowplan_engine::framework::{Command, Nomination, Outcome, Patch, Target};
use stowplan_engine::model::{Object, Pod, PodDisruptionBudget};
use stowplan_engine::scheduler::{Change, Effect, Failure, Request};

/// What happened.
#[derive(Default)]
pub struct Playback {
    /// Pods that were bound, in order. A pod that was evicted again stays in the list.
    pub bound: Vec<(Arc<Pod>, Sym)>,
    /// Preemptions, in order: who made room for himself, where, and who had to go.
    pub preempted: Vec<(Arc<Pod>, Sym, Vec<Arc<Pod>>)>,
    /// Why the last attempt of a pod failed, by uid.
    pub failures: BTreeMap<Arc<str>, Failure>,
    /// How often each pod was tried, by uid.
    pub attempts: BTreeMap<Arc<str>, u32>,
}

/// How long an attempt takes.
const ATTEMPT: Duration = Duration::from_millis(1);

/// How often pods are tried again whose attempts break.
const ERROR_ROUNDS: usize = 3;

/// Lets the scheduler work until nothing more happens.
pub fn play(simulation: &mut Simulation, seed: u64) -> Playback {
    play_watched(simulation, seed, &mut |_, _| {})
}

/// As [`play`]; `watch` sees every request before it is carried out.
pub fn play_watched(
    simulation: &mut Simulation,
    seed: u64,
    watch: &mut dyn FnMut(&Request, &Simulation),
) -> Playback {
    let mut rng = Rng::new(seed);
    let mut playback = Playback::default();
    let mut idle_rounds = 0;
    loop {
        let bound = playback.bound.len();
        while let Some(pod) = simulation.scheduler.schedule_one(simulation.now, &mut rng) {
            *playback.attempts.entry(pod.uid.clone()).or_default() += 1;
            simulation.now = simulation.now + ATTEMPT;
            settle(simulation, &mut playback, watch);
        }
        // Nothing is left to be tried. Pods that were rejected wait for something to happen, which
        // it will not; those whose attempts broke wait for their backoff, those on their way to a
        // node until they waited for too long.
        idle_rounds = if playback.bound.len() > bound {
            0
        } else {
            idle_rounds + 1
        };
        let scheduler = &mut simulation.scheduler;
        let broken = !scheduler.queue().error_backoff().is_empty();
        let held = scheduler.bindings().next().is_some();
        match scheduler.next_tick() {
            Some(next) if (broken || held) && idle_rounds < ERROR_ROUNDS => {
                simulation.now = next.max(simulation.now);
                scheduler.tick(simulation.now);
                settle(simulation, &mut playback, watch);
            }
            _ => return playback,
        }
    }
}

/// Does what the scheduler asks for, and at once what follows from it.
fn settle(
    simulation: &mut Simulation,
    playback: &mut Playback,
    watch: &mut dyn FnMut(&Request, &Simulation),
) {
    for effect in simulation.scheduler.take_effects() {
        match effect {
            Effect::Request(request) => {
                watch(&request, simulation);
                let outcome = carry_out(simulation, &request.command);
                let (uid, now) = (&request.pod.uid, simulation.now);
                let scheduler = &mut simulation.scheduler;
                scheduler.answer(uid, request.ticket, outcome, now);
                settle(simulation, playback, watch);
            }
            Effect::Bound { queued, node } => {
                playback.failures.remove(&queued.pod.uid);
                playback.bound.push((queued.pod, node));
            }
            Effect::BindFailed { .. } => {}
            Effect::Failed { pod, failure } => {
                playback.failures.insert(pod.uid.clone(), failure);
            }
            Effect::Preempted {
                pod, preemption, ..
            } => {
                for victim in &preemption.evict {
                    replace(simulation, victim);
                }
                let preempted = (pod, preemption.node, preemption.evict);
                playback.preempted.push(preempted);
            }
        }
    }
}

/// Carries out a command over the simulated cluster.
fn carry_out(simulation: &mut Simulation, command: &Command) -> Outcome {
    match command {
        Command::Bind { pod, node } => {
            let running = Pod {
                node_name: Some(*node),
                nominated_node_name: None,
                start_time: Some(simulation.now.truncate_to_second()),
                ..Pod::clone(pod)
            };
            upsert(simulation, Object::Pod(Arc::new(running)));
            Outcome::Done(None)
        }
        Command::Patch(patch) => change(simulation, patch),
        Command::PatchStatus {
            pod, nomination, ..
        } => {
            nominate(simulation, pod, *nomination);
            Outcome::Done(None)
        }
        Command::Delete(target) => delete(simulation, target),
        Command::Event(_) => Outcome::Done(None),
    }
}

pub(crate) fn upsert(simulation: &mut Simulation, object: Object) {
    let now = simulation.now;
    simulation.scheduler.apply(Change::Upsert(object), now);
}

/// Changes an object, and lets its controllers follow.
fn change(simulation: &mut Simulation, patch: &Patch) -> Outcome {
    let (kind, namespace, name) = patch.target.key;
    let cluster = simulation.scheduler.cluster_mut();
    let Some(object) = cluster.object(kind, namespace, name) else {
        return not_found(simulation, &patch.target);
    };
    let changed = object.changed(&patch.changes, &mut cluster.names);
    for object in volumes::follow(cluster, changed) {
        upsert(simulation, object);
    }
    simulation.note_changes(patch);
    Outcome::Done(None)
}

fn not_found(simulation: &Simulation, target: &Target) -> Outcome {
    let name = simulation.scheduler.cluster().names.text(target.key.2);
    Outcome::NotFound(format!("{} {name:?} not found", plural(target.key.0)))
}

/// Writes a pod's `status.nominatedNodeName`.
fn nominate(simulation: &mut Simulation, pod: &Arc<Pod>, nomination: Nomination) {
    if let Nomination::Set(node) = nomination
        && pod.nominated_node_name != node
    {
        let nominated = Pod {
            nominated_node_name: node,
            ..Pod::clone(pod)
        };
        upsert(simulation, Object::Pod(Arc::new(nominated)));
    }
}

/// The object is gone at once; a pod's budgets have one disruption less to allow then.
fn delete(simulation: &mut Simulation, target: &Target) -> Outcome {
    let (kind, namespace, name) = target.key;
    let object = simulation.scheduler.cluster().object(kind, namespace, name);
    let Some(object) = object else {
        return not_found(simulation, target);
    };
    if let Object::Pod(pod) = &object
        && pod.uid != target.uid
    {
        return not_found(simulation, target);
    }
    let gone = Change::Delete {
        kind,
        namespace,
        name,
    };
    let now = simulation.now;
    simulation.scheduler.apply(gone, now);
    if let Object::Pod(pod) = &object {
        spend_budgets(simulation, pod);
    }
    Outcome::Done(None)
}

/// Budgets that speak of the pod have one disruption less to allow.
fn spend_budgets(simulation: &mut Simulation, victim: &Pod) {
    let cluster = simulation.scheduler.cluster();
    let spent: Vec<PodDisruptionBudget> = cluster
        .budgets
        .in_namespace(victim.namespace)
        .filter(|budget| {
            budget.disruptions_allowed > 0
                && !budget.selector.is_empty()
                && budget.selector.matches(&victim.labels, &cluster.names)
        })
        .map(|budget| PodDisruptionBudget {
            disruptions_allowed: budget.disruptions_allowed - 1,
            ..PodDisruptionBudget::clone(budget)
        })
        .collect();
    for budget in spent {
        upsert(simulation, Object::PodDisruptionBudget(Arc::new(budget)));
    }
}

/// The controller of an evicted pod makes a new one, here under the same name.
fn replace(simulation: &mut Simulation, victim: &Arc<Pod>) {
    if victim.controller.is_none() {
        return;
    }
    let again = Arc::new(Pod {
        uid: format!("{}'", victim.uid).into(),
        node_name: None,
        nominated_node_name: None,
        start_time: None,
        preempted_by_scheduler: false,
        ..Pod::clone(victim)
    });
    simulation.pending.push(again.clone());
    upsert(simulation, Object::Pod(again));
}
