//! Moves between the parts of the queue.

use super::hints::{Strategy, worth_requeuing};
use super::slots::SubQueue;
use super::{
    Cause, InFlightEvent, Part, PluginIds, PodId, QueueContext, QueuedPod, SchedulingQueue, id_of,
};
use crate::framework::{ClusterEvent, Nomination};
use crate::model::{Object, Pod};
use std::sync::Arc;
use stowplan_base::Time;

/// Where a pod comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// From nowhere in the queue, or from a part that it has left.
    Elsewhere,
    /// From the pool: if it has to stay there it never left.
    Pool,
    /// From backoff, where it passed PreEnqueue already.
    Backoff,
}

impl SchedulingQueue {
    /// Something happened: wakes the pods that it might help, among those that `concerns` selects,
    /// and remembers it for the pods in flight.
    pub fn move_all(
        &mut self,
        env: &mut QueueContext<'_>,
        event_in_flight: InFlightEvent,
        concerns: impl Fn(&Pod) -> bool,
    ) {
        let event = event_in_flight.event;
        self.note_event(event);
        let asked = env.profiles.asked(&event);
        let plugins = if event.is_wildcard() {
            PluginIds::ALL
        } else {
            asked.plugins()
        };
        if plugins.is_empty() {
            return;
        }
        for slot in self.pool.rejected_by(plugins) {
            let pod = self.slots.pod(slot);
            // What does not interest the plugin that holds the pod back cannot release it.
            let concerns_gate = |plugin| plugins.contains(plugin);
            if !concerns(&pod.pod) || !pod.gating_plugin.is_none_or(concerns_gate) {
                continue;
            }
            let strategy = worth_requeuing(env, &mut self.trace, &asked, pod, &event_in_flight);
            if strategy != Strategy::Skip {
                self.woken.push((pod.id(), strategy));
            }
        }
        self.move_woken(env, event);
        self.in_flight.remember(|| event_in_flight);
    }

    /// Moves the pods that were found to be woken, in the order of their names.
    fn move_woken(&mut self, env: &mut QueueContext<'_>, event: ClusterEvent) {
        let mut woken = std::mem::take(&mut self.woken);
        woken.sort_unstable_by_key(|(id, _)| *id);
        for (id, strategy) in woken.drain(..) {
            if let Some(pod) = self.take(env, id) {
                self.requeue(env, pod, strategy, Cause::Event(event), Origin::Elsewhere);
            }
        }
        self.woken = woken;
    }

    /// Moves pods to the active queue, whatever their backoff. For one in flight it is remembered.
    pub fn activate(&mut self, env: &mut QueueContext<'_>, pods: &[Arc<Pod>]) {
        for pod in pods {
            if self.activate_one(env, id_of(pod)) || !self.in_flight.contains(&pod.uid) {
                continue;
            }
            self.in_flight.remember(|| InFlightEvent {
                event: ClusterEvent::FORCE_ACTIVATE,
                old: None,
                new: Some(Object::Pod(pod.clone())),
            });
        }
    }

    fn activate_one(&mut self, env: &mut QueueContext<'_>, id: PodId) -> bool {
        let origin = match self.sub_queue(id) {
            Some(SubQueue::Pool(_)) => Origin::Pool,
            Some(SubQueue::Backoff | SubQueue::ErrorBackoff) => Origin::Backoff,
            Some(SubQueue::Active) | None => return false,
        };
        let cause = Cause::Event(ClusterEvent::FORCE_ACTIVATE);
        match self.take(env, id) {
            Some(pod) => self.move_to_active(env, pod, cause, origin),
            None => false,
        }
    }

    /// Releases the pods whose backoff is over. Due at every whole second.
    pub fn flush_backoff(&mut self, env: &mut QueueContext<'_>) {
        while let Some(id) = self.backoff_over(env.now) {
            if let Some(pod) = self.take(env, id) {
                self.move_to_active(env, pod, Cause::BackoffComplete, Origin::Backoff);
            }
        }
    }

    /// The first pod whose backoff is over; those that failed with an error come last.
    fn backoff_over(&self, now: Time) -> Option<PodId> {
        [&self.backoff, &self.error_backoff]
            .into_iter()
            .filter_map(|heap| Some(self.slots.pod(heap.peek()?)))
            .find(|pod| !self.config.is_backing_off(pod, now))
            .map(QueuedPod::id)
    }

    /// Wakes the pods that waited for too long though nothing happened. Due every 30 seconds.
    pub fn flush_leftover(&mut self, env: &mut QueueContext<'_>) {
        let now = env.now;
        let limit = self.config.max_in_unschedulable_pods;
        for slot in self.pool.iter() {
            let pod = self.slots.pod_mut(slot);
            let since = pod
                .flush_timestamp
                .map_or(pod.timestamp, |t| t.max(pod.timestamp));
            if now - since > limit {
                pod.flushed = true;
                pod.flush_timestamp = Some(now);
                self.woken.push((pod.id(), Strategy::AfterBackoff));
            }
        }
        if self.woken.is_empty() {
            return;
        }
        let event = ClusterEvent::UNSCHEDULABLE_TIMEOUT;
        self.move_woken(env, event);
        self.in_flight.remember(|| InFlightEvent {
            event,
            old: None,
            new: None,
        });
    }

    /// Puts a pod where the strategy says; returns whether it can be popped from there, be it
    /// early.
    pub(super) fn requeue(
        &mut self,
        env: &mut QueueContext<'_>,
        pod: QueuedPod,
        strategy: Strategy,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        match strategy {
            Strategy::Skip => {
                self.keep_in_pool(env, pod, cause, origin);
                false
            }
            Strategy::AfterBackoff if self.config.is_backing_off(&pod, env.now) => {
                self.move_to_backoff(env, pod, cause, origin)
            }
            Strategy::AfterBackoff | Strategy::Immediately => {
                self.move_to_active(env, pod, cause, origin)
            }
        }
    }

    /// Puts a pod into the active queue, or into the pool if a PreEnqueue plugin holds it back.
    pub(super) fn move_to_active(
        &mut self,
        env: &mut QueueContext<'_>,
        mut pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        if origin != Origin::Backoff {
            run_pre_enqueue(env, &mut pod);
        }
        let id = pod.id();
        let sub_queue = self.sub_queue(id);
        if pod.is_gated() {
            if let None | Some(SubQueue::Pool(_)) = sub_queue {
                self.keep_gated(env, pod, cause, origin);
            }
            return false;
        }
        pod.initial_attempt.get_or_insert(env.now);
        let is_entry = [
            ClusterEvent::UNSCHEDULED_POD_ADD,
            ClusterEvent::UNSCHEDULED_POD_UPDATE,
        ];
        if is_entry.map(Cause::Event).contains(&cause) {
            let cluster = env.cluster;
            env.underway
                .nominator
                .nominate(&pod.pod, Nomination::Keep, cluster);
        }
        if sub_queue == Some(SubQueue::Active) {
            self.change(env, id, |waiting| *waiting = pod);
        } else {
            if sub_queue.is_some() {
                self.take(env, id);
            }
            let slot = self.slots.insert(pod, SubQueue::Active);
            self.active.push(&mut self.slots, slot, env.less());
        }
        self.incoming.count(Part::Active, cause);
        true
    }

    /// Puts a pod into backoff, or into the pool if a PreEnqueue plugin holds it back.
    fn move_to_backoff(
        &mut self,
        env: &mut QueueContext<'_>,
        mut pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        run_pre_enqueue(env, &mut pod);
        if pod.is_gated() {
            self.keep_gated(env, pod, cause, origin);
            return false;
        }
        self.take(env, pod.id());
        if pod.rejectors().is_empty() {
            let slot = self.slots.insert(pod, SubQueue::ErrorBackoff);
            let less = self.config.less_error_backoff();
            self.error_backoff.push(&mut self.slots, slot, less);
        } else {
            let slot = self.slots.insert(pod, SubQueue::Backoff);
            let less = self.config.less_backoff(env.profiles, env.cx());
            self.backoff.push(&mut self.slots, slot, less);
        }
        self.incoming.count(Part::Backoff, cause);
        true
    }

    fn keep_gated(
        &mut self,
        env: &QueueContext<'_>,
        mut pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) {
        // It was not tried: whatever wakes it next is not the flush.
        pod.flushed = false;
        self.keep_in_pool(env, pod, cause, origin);
    }

    fn keep_in_pool(
        &mut self,
        env: &QueueContext<'_>,
        pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) {
        let is_new = self.take(env, pod.id()).is_none();
        self.pool.insert(&mut self.slots, pod);
        if is_new && origin != Origin::Pool {
            self.incoming.count(Part::Unschedulable, cause);
        }
    }
}

/// Asks the PreEnqueue plugins, the one that held the pod back before first.
fn run_pre_enqueue(env: &QueueContext<'_>, pod: &mut QueuedPod) {
    let start = env.meter.start();
    let gated_by = pod.gating_plugin.map(|plugin| env.profiles.name(plugin));
    let held = env
        .profiles
        .of(&pod.pod)
        .and_then(|framework| framework.run_pre_enqueue(env.cx(), &pod.pod, gated_by));
    pod.gating_plugin = held.and_then(|status| env.profiles.find(status.plugin));
    if let Some(plugin) = pod.gating_plugin {
        pod.unschedulable_plugins.insert(plugin);
    }
    // Upstream says so of pods that are held back, too.
    let profile = pod.pod.scheduler_name;
    env.meter.point(start, "PreEnqueue", "Success", profile);
}
