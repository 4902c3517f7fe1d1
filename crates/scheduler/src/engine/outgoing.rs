//! What the scheduler asks for, as work in words that the API understands.

use super::records::Outcome;
use super::{Engine, Progress};
use crate::effects::{Bind, Condition, Note, ObjectRef, Patch, Status, Task, Work};
use crate::observer::{Attempt, AttemptResult, BindFailed, Bound, Steps};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Duration as Span, Sym, Time};
use stowplan_bridge::effects::merge_patch;
use stowplan_engine::framework::{
    Command, ConditionType, Event, Nomination, Patch as FieldPatch, PodCondition, Point,
    Preemption, Target,
};
use stowplan_engine::model::Pod;
use stowplan_engine::queue::QueuedPod;
use stowplan_engine::scheduler::{Effect, Failure, Request, Ticket};

impl Engine {
    /// Hands out what the scheduler asks for, after this attempt if there was one.
    pub(super) fn hand_out(&mut self, tried: Option<(&Arc<Pod>, Span)>, start: Time) {
        let mut effects = std::mem::take(&mut self.state.effects);
        self.scheduler.swap_effects(&mut effects);
        if let Some((pod, took)) = tried {
            self.tell_attempt(pod, start, took, &effects);
            self.tell_preemption(pod);
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Request(request) => self.request(request, start),
                Effect::Bound { queued, node } => self.bound(&queued, node),
                Effect::BindFailed { pod, failure } => self.bind_failed(&pod, &failure),
                Effect::Failed { .. } => {}
                Effect::Preempted {
                    pod,
                    preemption,
                    failed,
                } => self.preempted(&pod, &preemption, failed),
            }
        }
        self.state.effects = effects;
    }

    fn tell_attempt(&mut self, pod: &Arc<Pod>, start: Time, took: Span, effects: &[Effect]) {
        let failure = effects.iter().rev().find_map(|effect| match effect {
            Effect::Failed {
                pod: failed,
                failure,
            } if failed.uid == pod.uid => Some(failure),
            _ => None,
        });
        let node = match self.scheduler.waits_at_permit(&pod.uid) {
            true => None,
            false => self.scheduler.binding(&pod.uid).map(|binding| binding.node),
        };
        self.record(pod, start, took, failure, node);
        let names = &self.scheduler.cluster().names;
        let result = match (failure, node) {
            (Some(failure), _) => AttemptResult::Failed(failure),
            (None, Some(node)) => AttemptResult::Assumed(names.text(node)),
            (None, None) => AttemptResult::Other,
        };
        self.observer.attempt(&Attempt {
            pod,
            start,
            took,
            result,
            scheduler: &self.scheduler,
        });
    }

    /// Remembers an attempt, for those who want to know why.
    fn record(
        &mut self,
        pod: &Arc<Pod>,
        start: Time,
        took: Span,
        failure: Option<&Failure>,
        node: Option<Sym>,
    ) {
        let outcome = match (failure, node) {
            (Some(Failure::Rejected { message, .. }), _) => Outcome::Unschedulable(message.clone()),
            (Some(failure @ Failure::NoNodes), _) => {
                Outcome::Unschedulable(failure.message().into())
            }
            (Some(Failure::Error(error)), _) => Outcome::Error(error.as_str().into()),
            (None, Some(node)) => Outcome::Assumed(node),
            (None, None) => return,
        };
        let scheduler = &mut self.scheduler;
        let fill = |room: &mut _| scheduler.swap_top_nodes(room);
        self.state.records.add((pod, start, took), outcome, fill);
    }

    /// A pod is bound: the API said so.
    fn bound(&mut self, queued: &QueuedPod, node: Sym) {
        let now = self.clock.now();
        let pod = &queued.pod;
        let progress = self.state.bindings.remove(&pod.uid);
        let progress = progress.unwrap_or_else(|| Progress::new(now, now));
        let names = &self.scheduler.cluster().names;
        self.observer.bound(&Bound {
            pod,
            node: names.text(node),
            profile: names.text(pod.scheduler_name),
            flushed: is_flushed(queued),
            attempts: queued.attempts,
            start: progress.start,
            decided: progress.decided,
            steps: progress.steps,
            initial_attempt: queued.initial_attempt,
            now,
        });
        self.state.records.settle(pod, Outcome::Bound(node));
    }

    /// A pod will not get to its node. Pods that were rejected at Permit are told of as any others
    /// that fit nowhere.
    fn bind_failed(&mut self, pod: &Arc<Pod>, failure: &Failure) {
        let Some(mut progress) = self.state.bindings.remove(&pod.uid) else {
            return;
        };
        let now = self.clock.now();
        if progress.steps.pre_bind.is_none() {
            progress.steps.pre_bind = Some(since(progress.decided, now));
            progress.steps.pre_bind_failed = true;
        }
        let error = failure.message();
        self.observer.bind_failed(&BindFailed {
            pod,
            profile: self.scheduler.cluster().names.text(pod.scheduler_name),
            error,
            steps: progress.steps,
            start: progress.start,
            decided: progress.decided,
            now,
        });
        self.state.records.settle(pod, Outcome::Error(error.into()));
    }

    fn tell_preemption(&mut self, pod: &Arc<Pod>) {
        if let Some(preemption) = self.scheduler.preemption(&pod.uid)
            && !self.state.preemptions.contains_key(&pod.uid)
        {
            self.observer.preempts(pod, preemption);
            let now = self.clock.now();
            self.state.preemptions.insert(pod.uid.clone(), now);
        }
    }

    fn preempted(&mut self, pod: &Arc<Pod>, preemption: &Preemption, failed: bool) {
        let now = self.clock.now();
        let began = self.state.preemptions.remove(&pod.uid);
        if began.is_none() {
            self.observer.preempts(pod, preemption);
        }
        let took = since(began.unwrap_or(now), now);
        self.observer.preempted(failed, took);
    }

    /// Hands out one command.
    fn request(&mut self, request: Request, start: Time) {
        self.observer.request(&request, &self.scheduler);
        let Request {
            pod,
            command,
            ticket,
            ..
        } = request;
        if let Ticket::Step(point, _) = ticket {
            let now = self.clock.now();
            let fresh = || Progress::new(start, now);
            let progress = self.state.bindings.entry(pod.uid.clone());
            let progress = progress.or_insert_with(fresh);
            if point == Point::Bind {
                progress.steps.pre_bind = Some(since(progress.decided, now));
            }
        }
        let task = match command {
            Command::Bind { pod, node } => Task::Bind(Bind {
                pod: self.object_ref(&Target::pod(&pod)),
                node: self.text(node),
                binders: self.extenders.binders(&pod),
            }),
            Command::Patch(patch) => self.patch(*patch),
            Command::PatchStatus {
                pod,
                condition,
                nomination,
            } => self.status(&pod, condition, nomination),
            Command::Delete(target) => Task::Delete(self.object_ref(&target)),
            Command::Event(event) => self.event(&event),
        };
        if ticket == Ticket::Nobody && task.is_nothing() {
            return;
        }
        let work = Work {
            pod: pod.uid.clone(),
            scheduler: self.text(pod.scheduler_name),
            ticket,
            task,
        };
        // Nobody takes it if everything is being stopped.
        let _ = self.work.send(work);
    }

    fn patch(&self, patch: FieldPatch) -> Task {
        Task::Patch(Patch {
            object: self.object_ref(&patch.target),
            patch: merge_patch(&patch.changes, &self.scheduler.cluster().names),
            expect: patch.expect,
        })
    }

    fn event(&self, event: &Event) -> Task {
        let note = Note {
            kind: event.says.kind,
            reason: event.says.reason,
            action: event.says.action,
            text: event.note.render(&self.scheduler.cluster().names),
        };
        Task::Event(self.object_ref(&event.regarding.target()), note)
    }

    fn status(
        &self,
        pod: &Arc<Pod>,
        condition: Option<PodCondition>,
        nomination: Nomination,
    ) -> Task {
        let mut status = Map::new();
        let mut unread = None;
        if let Some(condition) = condition {
            let message = condition.message.render(&self.scheduler.cluster().names);
            // Of pending pods it is known what they say.
            let ConditionType {
                kind,
                status: value,
                reason,
            } = *condition.says;
            if kind == "PodScheduled" {
                let (notes, now) = (&self.state.notes, self.clock.now());
                if let Some(changed) = notes.changed(pod, reason, &message, now) {
                    status.insert("conditions".to_owned(), json!([changed]));
                }
            } else {
                unread = Some(Condition {
                    kind,
                    status: value,
                    reason,
                    message,
                });
            }
        }
        if let Nomination::Set(node) = nomination
            && pod.nominated_node_name != node
        {
            let node = node.map_or(Value::Null, |node| Value::from(&*self.text(node)));
            status.insert("nominatedNodeName".to_owned(), node);
        }
        Task::Status(Status {
            pod: self.object_ref(&Target::pod(pod)),
            status,
            condition: unread,
        })
    }

    fn object_ref(&self, target: &Target) -> ObjectRef {
        let (kind, namespace, name) = target.key;
        ObjectRef {
            kind,
            namespace: self.text(namespace),
            name: self.text(name),
            uid: target.uid.clone(),
            resource_version: target.resource_version.clone(),
        }
    }

    pub(super) fn text(&self, name: Sym) -> Arc<str> {
        self.scheduler.cluster().names.shared(name)
    }
}

impl Progress {
    fn new(start: Time, decided: Time) -> Self {
        Self {
            start,
            decided,
            steps: Steps::default(),
        }
    }
}

fn since(then: Time, now: Time) -> Duration {
    let nanos = now.as_nanos().saturating_sub(then.as_nanos());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// Whether nothing but time woke the pod since its last failure.
fn is_flushed(queued: &QueuedPod) -> bool {
    queued
        .flush_timestamp
        .is_some_and(|at| at >= queued.timestamp)
}
