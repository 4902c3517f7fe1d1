//! How pods enter and leave the queue.

use super::hints::{Strategy, worth_requeuing, worth_requeuing_after_attempt};
use super::moves::Origin;
use super::slots::{SlotId, SubQueue};
use super::{Cause, InFlightEvent, Part, QueueContext, QueuedPod, SchedulingQueue, id_of};
use crate::framework::ClusterEvent;
use crate::model::{Object, Pod};
use std::sync::Arc;

impl SchedulingQueue {
    /// A pending pod appeared.
    pub fn add(&mut self, env: &mut QueueContext<'_>, pod: Arc<Pod>) {
        let cause = Cause::Event(ClusterEvent::UNSCHEDULED_POD_ADD);
        let pod = QueuedPod::new(pod, env.now);
        self.move_to_active(env, pod, cause, Origin::Elsewhere);
    }

    /// A pending pod changed; `events` says how.
    ///
    /// A pod in flight learns of it when its attempt fails, an unschedulable one may be woken by
    /// it, and one that is nowhere enters the queue anew.
    pub fn update(
        &mut self,
        env: &mut QueueContext<'_>,
        old: &Arc<Pod>,
        new: &Arc<Pod>,
        events: impl Iterator<Item = ClusterEvent> + Clone,
    ) {
        let event_in_flight = |event: ClusterEvent| InFlightEvent {
            event,
            old: Some(Object::Pod(old.clone())),
            new: Some(Object::Pod(new.clone())),
        };
        for event in events.clone() {
            self.note_event(event);
        }
        if self.in_flight.contains(&new.uid) {
            for event in events {
                self.in_flight.remember(|| event_in_flight(event));
            }
            return;
        }
        if self.replace(env, new) {
            env.underway.nominator.update(old, new, env.cluster);
            for event in events {
                if self.wake_updated(env, &event_in_flight(event)) {
                    break;
                }
            }
            return;
        }
        let cause = Cause::Event(ClusterEvent::UNSCHEDULED_POD_UPDATE);
        let pod = QueuedPod::new(new.clone(), env.now);
        self.move_to_active(env, pod, cause, Origin::Elsewhere);
    }

    /// Replaces a waiting pod with its new version, in place; returns whether it waits at all.
    fn replace(&mut self, env: &QueueContext<'_>, new: &Arc<Pod>) -> bool {
        self.change(env, id_of(new), |pod| pod.pod = new.clone())
    }

    /// Wakes a pod of the pool if its own change might help it; returns whether it left the pool.
    fn wake_updated(
        &mut self,
        env: &mut QueueContext<'_>,
        event_in_flight: &InFlightEvent,
    ) -> bool {
        let Some(Object::Pod(new)) = &event_in_flight.new else {
            return false;
        };
        let id = id_of(new);
        let pooled = |slot: &SlotId| matches!(self.slots.sub_queue(*slot), SubQueue::Pool(_));
        let Some(slot) = self.slots.find(id).filter(pooled) else {
            return false;
        };
        let pod = self.slots.pod(slot);
        let asked = env.profiles.asked(&event_in_flight.event);
        let strategy = worth_requeuing(env, &mut self.trace, &asked, pod, event_in_flight);
        if strategy == Strategy::Skip {
            return false;
        }
        let cause = Cause::Event(event_in_flight.event);
        match self.take(env, id) {
            Some(pod) => self.requeue(env, pod, strategy, cause, Origin::Pool),
            None => false,
        }
    }

    /// A pending pod is gone, or on a node.
    pub fn delete(&mut self, env: &mut QueueContext<'_>, pod: &Arc<Pod>) {
        env.underway.nominator.remove(&pod.uid);
        self.take(env, id_of(pod));
    }

    /// Takes the next pod to be tried; `None` if there is none for now.
    ///
    /// When no pod is active, the first in backoff is taken, whether its time has come or not.
    pub fn pop(&mut self, env: &QueueContext<'_>) -> Option<QueuedPod> {
        loop {
            let mut pod = self.take_first(env)?;
            pod.attempts += 1;
            // A pod that is in flight already is dropped: its attempt will bring it back.
            if self.in_flight.start(pod.pod.clone()) {
                return Some(pod);
            }
        }
    }

    fn take_first(&mut self, env: &QueueContext<'_>) -> Option<QueuedPod> {
        if env.profiles.order_follows_cluster() {
            self.active.rebuild(&mut self.slots, env.less());
        }
        let slot = if let Some(slot) = self.active.peek() {
            self.active.remove(&mut self.slots, slot, env.less());
            slot
        } else {
            let slot = self.backoff.peek()?;
            let less = self.config.less_backoff(env.profiles, env.cx());
            self.backoff.remove(&mut self.slots, slot, less);
            self.incoming.count(Part::Active, Cause::PopFromBackoffQ);
            slot
        };
        Some(self.slots.remove(slot))
    }

    /// The attempt of a popped pod is over.
    #[inline]
    pub fn done(&mut self, uid: &str) {
        self.in_flight.done(uid);
    }

    /// A popped pod failed. Its rejecting plugins say why; none at all is an error.
    pub fn add_unschedulable(&mut self, env: &mut QueueContext<'_>, mut pod: QueuedPod) {
        let uid = pod.pod.uid.clone();
        if self.slots.find(pod.id()).is_none() {
            if pod.rejectors().is_empty() {
                pod.consecutive_errors += 1;
            } else {
                pod.unschedulable_count += 1;
                pod.consecutive_errors = 0;
            }
            pod.timestamp = env.now;
            pod.flushed = false;
            pod.flush_timestamp = None;
            let strategy = worth_requeuing_after_attempt(
                env,
                &mut self.trace,
                &pod,
                self.in_flight.events_since(&uid),
            );
            let cause = Cause::ScheduleAttemptFailure;
            self.requeue(env, pod, strategy, cause, Origin::Elsewhere);
        }
        self.done(&uid);
    }
}
