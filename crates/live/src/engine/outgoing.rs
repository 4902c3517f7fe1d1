//! What the scheduler asks for, as work in words that the API understands.

use super::Engine;
use super::records::Outcome;
use crate::effects::{Bind, Note, PodRef, Preempt, Status, Work};
use crate::observer::{Attempt, AttemptResult};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Duration as Span, Sym, Time};
use stowplan_engine::framework::Preemption;
use stowplan_engine::framework::{BindSteps, Effect as Step, Nomination};
use stowplan_engine::model::Pod;
use stowplan_engine::scheduler::{Effect, Failure};

/// How long volumes may take to be bound unless the profile says otherwise.
const BIND_TIMEOUT: Duration = Duration::from_secs(600);

impl Engine {
    /// Hands out what the scheduler asks for, after this attempt if there was one.
    pub(super) fn hand_out(&mut self, tried: Option<(&Arc<Pod>, Span)>, start: Time) {
        let mut effects = std::mem::take(&mut self.state.effects);
        self.scheduler.swap_effects(&mut effects);
        if let Some((pod, took)) = tried {
            self.tell_attempt(pod, start, took, &effects);
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Bind { pod, node, steps } => self.bind(&pod, node, steps, start),
                Effect::PostBind { steps, .. } => {
                    // None of the plugins asks for anything here.
                    debug_assert!(steps.is_empty());
                }
                Effect::Skipped { pod } => self.skipped(&pod),
                Effect::Preempt { pod, preemption } => self.preempt(&pod, &preemption),
                Effect::Failed {
                    pod,
                    failure,
                    nomination,
                } => self.failed(&pod, &failure, nomination),
            }
        }
        self.state.effects = effects;
    }

    fn tell_attempt(&mut self, pod: &Arc<Pod>, start: Time, took: Span, effects: &[Effect]) {
        self.record(pod, start, took, effects);
        let names = &self.scheduler.cluster().names;
        let result = effects.iter().rev().find_map(|effect| match effect {
            Effect::Bind {
                pod: bound, node, ..
            } if bound.uid == pod.uid => Some(AttemptResult::Assumed(names.text(*node))),
            Effect::Failed {
                pod: failed,
                failure,
                ..
            } if failed.uid == pod.uid => Some(AttemptResult::Failed(failure)),
            _ => None,
        });
        self.observer.attempt(&Attempt {
            pod,
            start,
            took,
            result: result.unwrap_or(AttemptResult::Other),
            scheduler: &self.scheduler,
        });
    }

    /// Remembers an attempt, for those who want to know why.
    fn record(&mut self, pod: &Arc<Pod>, start: Time, took: Span, effects: &[Effect]) {
        let outcome = effects.iter().rev().find_map(|effect| match effect {
            Effect::Bind {
                pod: bound, node, ..
            } if bound.uid == pod.uid => Some(Outcome::Assumed(*node)),
            Effect::Failed {
                pod: failed,
                failure,
                ..
            } if failed.uid == pod.uid => Some(match failure {
                Failure::Rejected { message, .. } => Outcome::Unschedulable(message.clone()),
                Failure::NoNodes => Outcome::Unschedulable(failure.message().into()),
                Failure::Error(error) => Outcome::Error(error.as_str().into()),
            }),
            _ => None,
        });
        if let Some(outcome) = outcome {
            let scheduler = &mut self.scheduler;
            let fill = |room: &mut _| scheduler.swap_contenders(room);
            self.state.records.add((pod, start, took), outcome, fill);
        }
    }

    fn bind(&mut self, pod: &Arc<Pod>, node: Sym, steps: BindSteps, start: Time) {
        let times = (start, self.clock.now());
        self.state.bindings.insert(pod.uid.clone(), times);
        let scheduler = self.text(pod.scheduler_name);
        let writes = steps.pre_bind.iter().filter_map(|step| match step {
            Step::Write(object) => Some(object),
            Step::Bind { .. } => None,
        });
        let writes: Vec<_> = writes.collect();
        let volumes = writes.iter().filter_map(|object| self.volume_write(object));
        let volumes: Vec<_> = volumes.collect();
        if !volumes.is_empty() {
            let key = (pod.namespace, pod.name);
            self.state.awaited.begin(&pod.uid, key, node, &writes);
        }
        let timeout = self.bind_timeouts.get(&*scheduler).copied();
        self.send(Work::Bind(Bind {
            pod: pod_ref(pod),
            scheduler,
            node: self.text(node),
            // Others want to know before the volumes are made (NominatedNodeNameForExpectation).
            nominate: !volumes.is_empty() && pod.nominated_node_name != Some(node),
            binders: self.extenders.binders(pod),
            volumes,
            volumes_timeout: timeout.unwrap_or(BIND_TIMEOUT),
        }));
    }

    fn preempt(&mut self, pod: &Arc<Pod>, preemption: &Preemption) {
        self.observer.preempts(pod, preemption);
        let victims = preemption.evict.iter().map(|victim| pod_ref(victim));
        let denominate = preemption.denominate.iter().map(|pod| pod_ref(pod));
        self.send(Work::Preempt(Preempt {
            pod: pod_ref(pod),
            scheduler: self.text(pod.scheduler_name),
            node: self.text(preemption.node),
            victims: victims.collect(),
            denominate: denominate.collect(),
        }));
    }

    fn skipped(&self, pod: &Pod) {
        let message = format!("skip schedule deleting pod: {}", pod.key);
        self.send(Work::Status(Status {
            pod: pod_ref(pod),
            scheduler: self.text(pod.scheduler_name),
            status: Map::new(),
            note: Some(Note::FailedScheduling(message)),
        }));
    }

    /// Upstream's `handleSchedulingFailure`: an event, the condition, the nomination.
    fn failed(&mut self, pod: &Arc<Pod>, failure: &Failure, nomination: Nomination) {
        let reason = match failure.is_rejection() {
            true => "Unschedulable",
            false => "SchedulerError",
        };
        let message = failure.message();
        let condition = self
            .state
            .notes
            .unscheduled(pod, reason, message, self.clock.now());
        let mut status = Map::new();
        if let Some(condition) = condition {
            status.insert("conditions".to_owned(), json!([condition]));
        }
        if let Nomination::Set(node) = nomination
            && pod.nominated_node_name != node
        {
            let node = node.map_or(Value::Null, |node| Value::from(&*self.text(node)));
            status.insert("nominatedNodeName".to_owned(), node);
        }
        self.send(Work::Status(Status {
            pod: pod_ref(pod),
            scheduler: self.text(pod.scheduler_name),
            status,
            note: Some(Note::FailedScheduling(message.into())),
        }));
    }

    pub(super) fn text(&self, name: Sym) -> Arc<str> {
        self.scheduler.cluster().names.shared(name)
    }

    fn send(&self, work: Work) {
        // Nobody takes it if everything is being stopped.
        let _ = self.work.send(work);
    }
}

fn pod_ref(pod: &Pod) -> PodRef {
    PodRef {
        namespace: pod.key.namespace.clone(),
        name: pod.key.name.clone(),
        uid: pod.uid.clone(),
        resource_version: pod.resource_version.clone(),
    }
}
