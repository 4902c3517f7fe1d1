//! Pods make room for another. Upstream's `framework/preemption/executor.go`.
//!
//! ```text
//! take back nominations ──▶ all victims but one ──▶ the last ──▶ over
//!                           (each: told why, deleted, event)
//! ```
//!
//! Once a victim stays, no others are sent away in vain.

use super::{Effect, Request, Scheduler, Ticket};
use crate::framework::{
    Command, ConditionType, Event, EventType, Nomination, Outcome, PodCondition, Preempting,
    Preemption, Target, Text,
};
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// How many victims are evicted at a time: upstream's `parallelism`.
const EVICTIONS_MAX: usize = 16;

/// Tells why a victim goes.
const DISRUPTION_TARGET: ConditionType = ConditionType {
    kind: "DisruptionTarget",
    status: "True",
    reason: "PreemptionByScheduler",
};

/// The event of a victim that goes.
const PREEMPTED: EventType = EventType {
    kind: "Normal",
    reason: "Preempted",
    action: "Preempting",
};

/// A preemption that is being carried out.
#[derive(Debug)]
pub(super) struct Evictions {
    pub(super) pod: Arc<Pod>,
    pub(super) preemption: Preemption,
    /// How many answers are waited for.
    open: usize,
    /// How many victims were sent away, or begun with.
    begun: usize,
    failed: bool,
    /// Whether some victim stays, so that no more are begun with.
    stopped: bool,
}

impl Evictions {
    /// Goes on, unless this waits for something; returns whether all is over.
    fn go_on(&mut self, effects: &mut Vec<Effect>, preempting: &mut Preempting) -> bool {
        loop {
            let all = self.preemption.evict.len();
            let (open, begun) = (self.open, self.begun);
            let is_clearing = begun == 0 && open > 0;
            // The last goes after all others.
            let is_last = begun + 1 == all;
            if self.stopped || begun == all {
                return open == 0;
            }
            if is_clearing || open >= EVICTIONS_MAX || (is_last && open > 0) {
                return false;
            }
            self.open += 1;
            self.begun += 1;
            let (pod, victim) = (&self.pod, &self.preemption.evict[begun]);
            if is_last {
                preempting.last_victim(&pod.uid, victim.namespace, victim.name);
            }
            let command = Command::PatchStatus {
                pod: victim.clone(),
                condition: Some(disruption_target(pod.scheduler_name)),
                nomination: Nomination::Keep,
            };
            let ticket = Ticket::Told(u32::try_from(begun).unwrap_or(u32::MAX));
            effects.push(Request::asked(pod, command, ticket));
        }
    }
}

impl Scheduler {
    /// Begins a preemption.
    pub(super) fn preempt(&mut self, pod: &Arc<Pod>, preemption: Preemption, now: Time) {
        self.underway.preempting.start(&pod.uid);
        for other in &preemption.denominate {
            let command = Command::PatchStatus {
                pod: other.clone(),
                condition: None,
                nomination: Nomination::Set(None),
            };
            let request = Request::asked(pod, command, Ticket::Nomination);
            self.effects.push(request);
        }
        let mut evictions = Evictions {
            pod: pod.clone(),
            open: preemption.denominate.len(),
            begun: 0,
            failed: false,
            stopped: false,
            preemption,
        };
        let is_over = evictions.go_on(&mut self.effects, &mut self.underway.preempting);
        self.evictions.insert(pod.uid.clone(), evictions);
        if is_over {
            self.end_preemption(&pod.uid, now);
        }
    }

    /// A step of the preemption for this pod was answered.
    pub(super) fn eviction_answered(
        &mut self,
        uid: &str,
        ticket: Ticket,
        outcome: &Outcome,
        now: Time,
    ) {
        let Some(evictions) = self.evictions.get_mut(uid) else {
            return;
        };
        let pod = &evictions.pod;
        let failed = !matches!(outcome, Outcome::Done(_) | Outcome::NotFound(_));
        let is_done = matches!(outcome, Outcome::Done(_));
        let node = evictions.preemption.node;
        let victim = |at: u32| evictions.preemption.evict.get(at as usize);
        match ticket {
            Ticket::Told(at) if is_done => {
                if let Some(victim) = victim(at) {
                    let command = Command::Delete(Target::pod(victim));
                    let request = Request::asked(pod, command, Ticket::Deleted(at));
                    self.effects.push(request);
                    return;
                }
            }
            Ticket::Deleted(at) if is_done => {
                if let Some(victim) = victim(at) {
                    self.effects.push(preempted(pod, victim, node));
                }
            }
            Ticket::Told(_) | Ticket::Deleted(_) => evictions.stopped |= failed,
            Ticket::Nobody | Ticket::Step(..) | Ticket::Nomination => {}
        }
        evictions.failed |= failed;
        evictions.open -= 1;
        if evictions.go_on(&mut self.effects, &mut self.underway.preempting) {
            self.end_preemption(uid, now);
        }
    }

    fn end_preemption(&mut self, uid: &str, now: Time) {
        let Some(evictions) = self.evictions.remove(uid) else {
            return;
        };
        let Evictions {
            pod,
            preemption,
            failed,
            ..
        } = evictions;
        self.preemption_ended(uid, (pod.namespace, pod.name), failed, now);
        self.effects.push(Effect::Preempted {
            pod,
            preemption,
            failed,
        });
    }

    /// The preemption that is being carried out for this pod.
    pub fn preemption(&self, uid: &str) -> Option<&Preemption> {
        let evictions = self.evictions.get(uid)?;
        Some(&evictions.preemption)
    }
}

/// Tells why a victim goes.
fn disruption_target(scheduler: Sym) -> PodCondition {
    PodCondition {
        says: &DISRUPTION_TARGET,
        message: Text::Preempting { scheduler },
    }
}

fn preempted(pod: &Arc<Pod>, victim: &Arc<Pod>, node: Sym) -> Effect {
    let event = Event {
        regarding: victim.into(),
        says: &PREEMPTED,
        note: Text::PreemptedBy {
            preemptor: pod.uid.clone(),
            node,
        },
    };
    Request::own(pod, Command::Event(event))
}
