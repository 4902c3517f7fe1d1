//! The life of an attempt: popped, then assumed on a node or failed. Upstream's `schedule_one.go`.
//!
//! ```text
//! pop --> attempt --assume--> binding --done--> (past Permit) --bound--> over
//!            |                   |                    |
//!           fail             bind_failed          bind_failed
//!            +-------------------+--------------------+--> back to the queue
//! ```
//!
//! What happens past Permit is in [`binding_cycle`](super::binding_cycle).

use super::{Binding, Effect, Request, Scheduler};
use crate::Snapshot;
use crate::framework::{
    ClusterEvent, Command, ConditionType, Diagnosis, Event, EventType, Nomination, PodCondition,
    Text,
};
use crate::model::{Object, Pod};
use crate::queue::{PluginIds, Profiles, QueuedPod};
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// The event of a pod that is not scheduled.
pub(super) const FAILED_SCHEDULING: EventType = EventType {
    kind: "Warning",
    reason: "FailedScheduling",
    action: "Scheduling",
};

/// Plugins rejected the pod.
const UNSCHEDULABLE: ConditionType = ConditionType {
    kind: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
};

/// Something broke.
const SCHEDULER_ERROR: ConditionType = ConditionType {
    reason: "SchedulerError",
    ..UNSCHEDULABLE
};

/// Why an attempt failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Plugins rejected the pod.
    Rejected {
        /// Those that wait for something to happen.
        unschedulable: PluginIds,
        /// Those that will wake the pod themselves.
        pending: PluginIds,
        /// What the user is told.
        message: Arc<str>,
    },
    /// There are no nodes. To the user that is a rejection; to the queue, where no plugin is to be
    /// blamed, an error.
    NoNodes,
    /// Something broke.
    Error(String),
}

impl Failure {
    /// The rejection that a diagnosis tells of.
    pub fn rejected(diagnosis: &Diagnosis, profiles: &mut Profiles, cluster: &Snapshot) -> Self {
        Self::Rejected {
            unschedulable: profiles.ids(&diagnosis.unschedulable_plugins),
            pending: profiles.ids(&diagnosis.pending_plugins),
            message: diagnosis.message(cluster).into(),
        }
    }

    /// Whether it is a rejection to the user: the condition's reason is `Unschedulable` then, and
    /// `SchedulerError` otherwise.
    pub fn is_rejection(&self) -> bool {
        !matches!(self, Self::Error(_))
    }

    /// What the user is told.
    pub fn message(&self) -> &str {
        match self {
            Self::Rejected { message, .. } => message,
            Self::Error(message) => message,
            Self::NoNodes => "no nodes available to schedule pods",
        }
    }

    /// The same, to be kept.
    fn shared_message(&self) -> Arc<str> {
        match self {
            Self::Rejected { message, .. } => message.clone(),
            other => other.message().into(),
        }
    }

    /// The plugins that wait for something to happen, and those that will wake the pod themselves.
    fn plugins(&self) -> (PluginIds, PluginIds) {
        match self {
            Self::Rejected {
                unschedulable,
                pending,
                ..
            } => (*unschedulable, *pending),
            Self::NoNodes | Self::Error(_) => (PluginIds::NONE, PluginIds::NONE),
        }
    }
}

impl Scheduler {
    /// Takes the next pod to be tried; `None` if there is none for now.
    ///
    /// The attempt ends with [`fail`](Self::fail), [`assume`](Self::assume) or
    /// [`done`](Self::done).
    pub fn pop(&mut self, now: Time) -> Option<Arc<Pod>> {
        let queued = self.pop_queued(now)?;
        let pod = queued.pod.clone();
        self.attempts.insert(pod.uid.clone(), queued);
        Some(pod)
    }

    /// As [`pop`](Self::pop), for an attempt that ends before anybody else has a say.
    pub(super) fn pop_queued(&mut self, now: Time) -> Option<QueuedPod> {
        let (queue, env) = self.queue_context(now);
        queue.pop(&env)
    }

    /// The attempt of a popped pod failed: it goes back to the queue, unless it is gone, bound or
    /// another pod by now.
    pub fn fail(&mut self, uid: &str, failure: Failure, nomination: Nomination, now: Time) {
        if let Some(queued) = self.attempts.remove(uid) {
            self.requeue_failed(queued, failure, nomination, now);
        }
    }

    /// Upstream's `handleSchedulingFailure`.
    pub(super) fn requeue_failed(
        &mut self,
        mut queued: QueuedPod,
        failure: Failure,
        nomination: Nomination,
        now: Time,
    ) {
        let uid = queued.pod.uid.clone();
        let (unschedulable, pending) = failure.plugins();
        queued.set_rejectors(unschedulable, pending);
        let listed = self
            .cluster
            .listed_pod(queued.pod.namespace, queued.pod.name);
        match listed.cloned() {
            Some(listed) if !listed.is_assigned() && listed.uid != uid => {}
            Some(listed) if !listed.is_assigned() => {
                queued.pod = listed.clone();
                let (queue, mut env) = self.queue_context(now);
                queue.add_unschedulable(&mut env, queued);
                self.underway
                    .nominator
                    .nominate(&listed, nomination, &self.cluster);
                self.tell_failed(listed, failure, nomination);
            }
            _ => self.underway.nominator.remove(&uid),
        }
        self.queue.done(&uid);
    }

    /// Tells whoever looks at the pod why it is not scheduled: an event, the condition
    /// `PodScheduled` and the nomination in its status.
    fn tell_failed(&mut self, pod: Arc<Pod>, failure: Failure, nomination: Nomination) {
        let message = Text::Made(failure.shared_message());
        let event = Event {
            regarding: (&pod).into(),
            says: &FAILED_SCHEDULING,
            note: message.clone(),
        };
        let condition = PodCondition {
            says: match failure.is_rejection() {
                true => &UNSCHEDULABLE,
                false => &SCHEDULER_ERROR,
            },
            message,
        };
        let status = Command::PatchStatus {
            pod: pod.clone(),
            condition: Some(condition),
            nomination,
        };
        let event = Request::own(&pod, Command::Event(event));
        let status = Request::own(&pod, status);
        self.effects.push(Effect::Failed { pod, failure });
        self.effects.extend([event, status]);
    }

    /// Puts a popped pod on a node for the time being, until the API says so too.
    ///
    /// Returns the pod as it was popped; `None` if it is not popped, or on a node already.
    pub fn assume(&mut self, uid: &str, node: Sym) -> Option<Arc<Pod>> {
        if self.cluster.pod(uid).is_some() {
            return None;
        }
        let queued = self.attempts.remove(uid)?;
        let pod = queued.pod.clone();
        let position = self.cluster.node_position(node);
        let assumed = self.assume_queued(queued, node, position);
        assumed.is_ok().then_some(pod)
    }

    /// As [`assume`](Self::assume), for a pod that was popped just now, on a node whose position is
    /// known; gives the pod back if it is on a node already.
    pub(super) fn assume_queued(
        &mut self,
        mut queued: QueuedPod,
        node: Sym,
        position: Option<usize>,
    ) -> Result<(), QueuedPod> {
        let cluster = &mut self.cluster;
        if !cluster.assume_new_pod(&queued.pod, node, position) {
            return Err(queued);
        }
        queued.flushed = false;
        let uid = queued.pod.uid.clone();
        self.underway.nominator.remove(&uid);
        let binding = Binding { queued, node };
        self.bindings.insert(uid, binding);
        Ok(())
    }

    /// Assumes objects that change with an assumed pod's placement, for as long as its binding
    /// lasts.
    pub(super) fn reserve(&mut self, uid: &Arc<str>, objects: Vec<Object>) {
        for object in objects {
            let before = self.cluster.upsert(object.clone());
            let before = self.before_assumptions(before);
            let reserved = self.reserved.or_insert_with(uid.clone(), Vec::new);
            reserved.push((object, before));
        }
    }

    /// What the API said of an object that may be another pod's assumption: that is what has to
    /// come back when all of them fail.
    fn before_assumptions(&self, object: Option<Object>) -> Option<Object> {
        let current = object?;
        let mut assumptions = self.reserved.iter().flat_map(|(_, reserved)| reserved);
        match assumptions.find(|(assumed, _)| assumed.is_same(&current)) {
            Some((_, before)) => before.clone(),
            None => Some(current),
        }
    }

    /// An assumed pod cannot stay where it is: what was kept for it is free again, and it goes
    /// back to the queue. Nobody else saw it there, so nobody is told.
    pub(super) fn give_up(&mut self, uid: &str, failure: Failure, now: Time) {
        if let Some(binding) = self.bindings.remove(uid) {
            self.waits_no_more(uid);
            self.forget(&binding);
            self.requeue_failed(binding.queued, failure, Nomination::Set(None), now);
        }
    }

    /// The queue need not remember events for this pod any more: its attempt is over without
    /// result, or its binding is past the point of being rejected.
    pub fn done(&mut self, uid: &str) {
        self.attempts.remove(uid);
        self.queue.done(uid);
    }

    /// The pod is bound. What PostBind asks for is among the [effects](Self::take_effects).
    pub fn bound(&mut self, uid: &str) {
        self.queue.done(uid);
        let Some(Binding { queued, node, .. }) = self.bindings.remove(uid) else {
            return;
        };
        self.waits_no_more(uid);
        self.take_reserved(uid);
        let pod = queued.pod.clone();
        self.effects.push(Effect::Bound { queued, node });
        self.tell_scheduled(&pod, node);
        self.post_bind(&pod, node);
    }

    /// The binding of this pod is over: it waits for nothing any more.
    #[inline]
    fn waits_no_more(&mut self, uid: &str) {
        if !self.steps.is_empty() {
            self.steps.remove(uid);
        }
        if !self.waits.is_empty() {
            self.waits.end(uid);
        }
        if !self.unsettled.is_empty() {
            self.unsettled.remove(uid);
        }
    }

    /// What is assumed of objects for this pod's sake is nobody's to take back any more.
    #[inline]
    fn take_reserved(&mut self, uid: &str) -> Option<Vec<(Object, Option<Object>)>> {
        match self.reserved.is_empty() {
            true => None,
            false => self.reserved.remove(uid),
        }
    }

    /// The binding of an assumed pod failed: what was kept for it is free again, and it goes back
    /// to the queue. Upstream's `handleBindingCycleError`.
    pub fn bind_failed(&mut self, uid: &str, failure: Failure, now: Time) {
        let Some(binding) = self.bindings.remove(uid) else {
            return;
        };
        self.waits_no_more(uid);
        self.effects.push(Effect::BindFailed {
            pod: binding.queued.pod.clone(),
            failure: failure.clone(),
        });
        let is_free = self.forget(&binding);
        let freed = Some(Object::Pod(on_node(&binding.queued.pod, binding.node)));
        let event = ClusterEvent::ASSIGNED_POD_DELETE;
        let nomination = Nomination::Set(None);
        if failure.is_rejection() {
            // The pod itself cannot profit from its own leaving: it must not find the event among
            // those that it missed.
            self.requeue_failed(binding.queued, failure, nomination, now);
            if is_free {
                self.happened(event, freed, None, now, |pod| *pod.uid != *uid);
            }
        } else {
            if is_free {
                self.happened(event, freed, None, now, |_| true);
            }
            self.requeue_failed(binding.queued, failure, nomination, now);
        }
    }

    /// Takes an assumed pod off its node, which Unreserve is told; returns `false` if the API has it
    /// on a node by now.
    fn forget(&mut self, binding: &Binding) -> bool {
        let start = self.meter.start();
        let pod = &binding.queued.pod;
        if let Some(framework) = self.profiles.of(pod) {
            framework.run_unreserve(self.cx(), pod, binding.node);
        }
        let reserved = self.take_reserved(&pod.uid).unwrap_or_default();
        for (assumed, before) in reserved.iter().rev() {
            self.unreserve(assumed, before.as_ref());
        }
        let profile = binding.queued.pod.scheduler_name;
        self.meter.point(start, "Unreserve", "Success", profile);
        let uid = &binding.queued.pod.uid;
        if self.cluster.is_assumed(uid) {
            self.cluster.remove_pod(uid);
        }
        self.cluster.pod(uid).is_none()
    }

    /// Puts an object back as it was, unless the API changed it meanwhile.
    fn unreserve(&mut self, assumed: &Object, before: Option<&Object>) {
        let (namespace, name) = assumed.key();
        let kind = assumed.kind();
        let current = match before {
            Some(before) => self.cluster.upsert(before.clone()),
            None => self.cluster.remove(kind, namespace, name),
        };
        match current {
            Some(current) if current.is_same(assumed) => {}
            Some(current) => {
                self.cluster.upsert(current);
            }
            None => {
                self.cluster.remove(kind, namespace, name);
            }
        }
    }
}

/// An assumed pod as it would be on its node.
pub(super) fn on_node(pod: &Pod, node: Sym) -> Arc<Pod> {
    Arc::new(Pod {
        node_name: Some(node),
        ..pod.clone()
    })
}
