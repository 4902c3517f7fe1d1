//! The cluster's life until nothing more happens, on a virtual clock.
//!
//! Plays everybody whom the scheduler talks to: the API server takes what it writes, evicted pods
//! leave at once, pods on a node run, volumes are provisioned (see [`super::volumes`]), and the
//! controllers of evicted pods make new ones.

use super::volumes;
use crate::world::World;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym};
use stowplan_engine::framework::Preemption;
use stowplan_engine::framework::{Effect as Step, Nomination};
use stowplan_engine::model::{Kind, Object, Pod, PodDisruptionBudget};
use stowplan_engine::scheduler::{Change, Effect, Failure};

/// What happened.
#[derive(Default)]
pub(crate) struct Events {
    /// Pods that were bound, in order. A pod that was evicted again stays in the list.
    pub(crate) bound: Vec<(Arc<Pod>, Sym)>,
    /// Preemptions, in order: who made room for himself, where, and who had to go.
    pub(crate) preempted: Vec<(Arc<Pod>, Sym, Vec<Arc<Pod>>)>,
    /// Why the last attempt of a pod failed, by uid.
    pub(crate) failures: BTreeMap<Arc<str>, Failure>,
    /// How often each pod was tried, by uid.
    pub(crate) attempts: BTreeMap<Arc<str>, u32>,
}

/// How long an attempt takes.
const ATTEMPT: Duration = Duration::from_millis(1);

/// How often pods are tried again whose attempts break.
const ERROR_ROUNDS: usize = 3;

/// Lets the scheduler work until nothing more happens.
pub(crate) fn play(world: &mut World, seed: u64) -> Events {
    let mut rng = Rng::new(seed);
    let mut events = Events::default();
    let mut idle_rounds = 0;
    loop {
        let bound = events.bound.len();
        while let Some(pod) = world.scheduler.schedule_one(world.now, &mut rng) {
            *events.attempts.entry(pod.uid.clone()).or_default() += 1;
            world.now = world.now + ATTEMPT;
            settle(world, &mut events);
        }
        // Nothing is left to be tried. Pods that were rejected wait for something to happen, which
        // it will not; those whose attempts broke wait for their backoff.
        idle_rounds = if events.bound.len() > bound {
            0
        } else {
            idle_rounds + 1
        };
        let broken = !world.scheduler.queue().error_backoff().is_empty();
        match world.scheduler.next_tick() {
            Some(next) if broken && idle_rounds < ERROR_ROUNDS => {
                world.now = next.max(world.now);
                world.scheduler.tick(world.now);
            }
            _ => return events,
        }
    }
}

/// Does what the scheduler asks for.
fn settle(world: &mut World, events: &mut Events) {
    for effect in world.scheduler.take_effects() {
        match effect {
            Effect::Bind { pod, node, steps } => {
                for step in steps {
                    take(world, &pod, step);
                }
                world.scheduler.bound(&pod.uid);
                events.failures.remove(&pod.uid);
                events.bound.push((pod, node));
            }
            Effect::PostBind { pod, steps } => {
                for step in steps {
                    take(world, &pod, step);
                }
            }
            Effect::Skipped { .. } => {}
            Effect::Preempt { pod, preemption } => preempt(world, events, pod, preemption),
            Effect::Failed {
                pod,
                failure,
                nomination,
            } => {
                events.failures.insert(pod.uid.clone(), failure);
                nominate(world, &pod, nomination);
            }
        }
    }
}

fn take(world: &mut World, pod: &Arc<Pod>, step: Step) {
    match step {
        Step::Write(object) => {
            for object in volumes::follow(world.scheduler.cluster_mut(), object) {
                upsert(world, object);
            }
        }
        Step::Bind { node, .. } => {
            let running = Pod {
                node_name: Some(node),
                nominated_node_name: None,
                start_time: Some(world.now.truncate_to_second()),
                ..Pod::clone(pod)
            };
            upsert(world, Object::Pod(Arc::new(running)));
        }
    }
}

fn upsert(world: &mut World, object: Object) {
    world.scheduler.apply(Change::Upsert(object), world.now);
}

/// Writes a pod's `status.nominatedNodeName`.
fn nominate(world: &mut World, pod: &Arc<Pod>, nomination: Nomination) {
    if let Nomination::Set(node) = nomination
        && pod.nominated_node_name != node
    {
        let nominated = Pod {
            nominated_node_name: node,
            ..Pod::clone(pod)
        };
        upsert(world, Object::Pod(Arc::new(nominated)));
    }
}

fn preempt(world: &mut World, events: &mut Events, pod: Arc<Pod>, preemption: Preemption) {
    for other in &preemption.denominate {
        nominate(world, other, Nomination::Set(None));
    }
    if let Some((last, others)) = preemption.evict.split_last() {
        others.iter().for_each(|victim| evict(world, victim));
        world
            .scheduler
            .preemption_at_last_victim(&pod.uid, last.namespace, last.name);
        evict(world, last);
    }
    world
        .scheduler
        .preemption_ended(&pod.uid, (pod.namespace, pod.name), false, world.now);
    for victim in &preemption.evict {
        replace(world, victim);
    }
    events
        .preempted
        .push((pod, preemption.node, preemption.evict));
}

/// The pod leaves at once, and budgets that speak of it have one disruption less to allow.
fn evict(world: &mut World, victim: &Arc<Pod>) {
    let gone = Change::Delete {
        kind: Kind::Pod,
        namespace: victim.namespace,
        name: victim.name,
    };
    world.scheduler.apply(gone, world.now);
    let cluster = world.scheduler.cluster();
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
        upsert(world, Object::PodDisruptionBudget(Arc::new(budget)));
    }
}

/// The controller of an evicted pod makes a new one, here under the same name.
fn replace(world: &mut World, victim: &Arc<Pod>) {
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
    world.pending.push(again.clone());
    upsert(world, Object::Pod(again));
}
