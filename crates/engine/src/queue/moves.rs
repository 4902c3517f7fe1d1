//! Moves between the parts of the queue.

use super::hints::{Strategy, worth_requeuing};
use super::{Cause, Env, Happening, Part, PodId, QueuedPod, SchedulingQueue, id_of};
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
        env: &mut Env<'_>,
        happening: Happening,
        concerns: impl Fn(&Pod) -> bool,
    ) {
        self.note_event(happening.event);
        if !env.profiles.is_of_interest(&happening.event) {
            return;
        }
        let candidates = if happening.event.is_wildcard() {
            self.pool.ids()
        } else {
            let asked = env.profiles.asked(&happening.event);
            self.pool.rejected_by(asked.plugins())
        };
        let concerned = |id: &PodId| self.pool.get(*id).is_some_and(|pod| concerns(&pod.pod));
        let ids = candidates.into_iter().filter(concerned).collect();
        self.move_pods(env, ids, happening);
    }

    fn move_pods(&mut self, env: &mut Env<'_>, ids: Vec<PodId>, happening: Happening) {
        let event = happening.event;
        let asked = env.profiles.asked(&event);
        for id in ids {
            let Some(pod) = self.pool.get(id) else {
                continue;
            };
            // What does not interest the plugin that holds the pod back cannot release it.
            let concerns_gate =
                |plugin| event.is_wildcard() || env.profiles.listens(plugin, &event);
            if !pod.gating_plugin.is_none_or(concerns_gate) {
                continue;
            }
            let strategy = worth_requeuing(env, &mut self.trace, &asked, pod, &happening);
            if strategy == Strategy::Skip {
                continue;
            }
            if let Some(pod) = self.pool.remove(id) {
                self.requeue(env, pod, strategy, Cause::Event(event), Origin::Elsewhere);
            }
        }
        self.in_flight.remember(|| happening);
    }

    /// Moves pods to the active queue, whatever their backoff. For one in flight it is remembered.
    pub fn activate(&mut self, env: &mut Env<'_>, pods: &[Arc<Pod>]) {
        for pod in pods {
            if self.activate_one(env, id_of(pod)) || !self.in_flight.contains(&pod.uid) {
                continue;
            }
            self.in_flight.remember(|| Happening {
                event: ClusterEvent::FORCE_ACTIVATE,
                old: None,
                new: Some(Object::Pod(pod.clone())),
            });
        }
    }

    fn activate_one(&mut self, env: &mut Env<'_>, id: PodId) -> bool {
        let cause = Cause::Event(ClusterEvent::FORCE_ACTIVATE);
        if let Some(pod) = self.pool.remove(id) {
            return self.move_to_active(env, pod, cause, Origin::Pool);
        }
        match self.remove_from_backoff(env, id) {
            Some(pod) => self.move_to_active(env, pod, cause, Origin::Backoff),
            None => false,
        }
    }

    /// Releases the pods whose backoff is over. Due at every whole second.
    pub fn flush_backoff(&mut self, env: &mut Env<'_>) {
        let mut released = Vec::new();
        let over = |pod: &QueuedPod, now: Time| !self.config.is_backing_off(pod, now);
        while self.backoff.peek().is_some_and(|pod| over(pod, env.now)) {
            released.extend(self.backoff.pop(self.config.less_backoff(env.profiles)));
        }
        while self
            .error_backoff
            .peek()
            .is_some_and(|pod| over(pod, env.now))
        {
            released.extend(self.error_backoff.pop(self.config.less_error_backoff()));
        }
        for pod in released {
            self.move_to_active(env, pod, Cause::BackoffComplete, Origin::Backoff);
        }
    }

    /// Wakes the pods that waited for too long though nothing happened. Due every 30 seconds.
    pub fn flush_leftover(&mut self, env: &mut Env<'_>) {
        let now = env.now;
        let limit = self.config.max_in_unschedulable_pods;
        let waited = |pod: &QueuedPod| {
            let since = pod
                .flush_timestamp
                .map_or(pod.timestamp, |t| t.max(pod.timestamp));
            now - since
        };
        let leftover: Vec<_> = self
            .pool
            .iter()
            .filter(|pod| waited(pod) > limit)
            .map(QueuedPod::id)
            .collect();
        if leftover.is_empty() {
            return;
        }
        for id in &leftover {
            if let Some(pod) = self.pool.get_mut(*id) {
                pod.flushed = true;
                pod.flush_timestamp = Some(now);
            }
        }
        let timeout = Happening {
            event: ClusterEvent::UNSCHEDULABLE_TIMEOUT,
            old: None,
            new: None,
        };
        self.move_pods(env, leftover, timeout);
    }

    /// Puts a pod where the strategy says; returns whether it can be popped from there, be it
    /// early.
    pub(super) fn requeue(
        &mut self,
        env: &mut Env<'_>,
        pod: QueuedPod,
        strategy: Strategy,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        match strategy {
            Strategy::Skip => {
                self.keep_in_pool(pod, cause, origin);
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
        env: &mut Env<'_>,
        mut pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        if origin != Origin::Backoff {
            run_pre_enqueue(env, &mut pod);
        }
        let id = pod.id();
        if pod.is_gated() {
            if !self.active.contains(id) && !self.is_in_backoff(id) {
                self.keep_gated(pod, cause, origin);
            }
            return false;
        }
        pod.initial_attempt.get_or_insert(env.now);
        self.pool.remove(id);
        self.remove_from_backoff(env, id);
        let is_entry = [
            ClusterEvent::UNSCHEDULED_POD_ADD,
            ClusterEvent::UNSCHEDULED_POD_UPDATE,
        ];
        if is_entry.map(Cause::Event).contains(&cause) {
            let cluster = env.cluster;
            env.nominator.nominate(&pod.pod, Nomination::Keep, cluster);
        }
        self.active.insert(pod, env.less());
        self.incoming.count(Part::Active, cause);
        true
    }

    /// Puts a pod into backoff, or into the pool if a PreEnqueue plugin holds it back.
    fn move_to_backoff(
        &mut self,
        env: &mut Env<'_>,
        mut pod: QueuedPod,
        cause: Cause,
        origin: Origin,
    ) -> bool {
        run_pre_enqueue(env, &mut pod);
        if pod.is_gated() {
            self.keep_gated(pod, cause, origin);
            return false;
        }
        let id = pod.id();
        self.pool.remove(id);
        let was_there = if pod.rejectors().is_empty() {
            self.error_backoff
                .insert(pod, self.config.less_error_backoff());
            self.backoff
                .remove(id, self.config.less_backoff(env.profiles))
        } else {
            self.backoff
                .insert(pod, self.config.less_backoff(env.profiles));
            self.error_backoff
                .remove(id, self.config.less_error_backoff())
        };
        if was_there.is_none() {
            self.incoming.count(Part::Backoff, cause);
        }
        true
    }

    fn keep_gated(&mut self, mut pod: QueuedPod, cause: Cause, origin: Origin) {
        // It was not tried: whatever wakes it next is not the flush.
        pod.flushed = false;
        self.keep_in_pool(pod, cause, origin);
    }

    fn keep_in_pool(&mut self, pod: QueuedPod, cause: Cause, origin: Origin) {
        let is_new = self.pool.insert(pod);
        if is_new && origin != Origin::Pool {
            self.incoming.count(Part::Unschedulable, cause);
        }
    }

    fn is_in_backoff(&self, id: PodId) -> bool {
        self.backoff.contains(id) || self.error_backoff.contains(id)
    }

    pub(super) fn remove_from_backoff(&mut self, env: &Env<'_>, id: PodId) -> Option<QueuedPod> {
        self.backoff
            .remove(id, self.config.less_backoff(env.profiles))
            .or_else(|| {
                self.error_backoff
                    .remove(id, self.config.less_error_backoff())
            })
    }
}

/// Asks the PreEnqueue plugins, the one that held the pod back before first.
fn run_pre_enqueue(env: &Env<'_>, pod: &mut QueuedPod) {
    let gated_by = pod.gating_plugin.map(|plugin| env.profiles.name(plugin));
    let held = env
        .profiles
        .of(&pod.pod)
        .and_then(|framework| framework.run_pre_enqueue(env.cx(), &pod.pod, gated_by));
    pod.gating_plugin = held.and_then(|status| env.profiles.find(status.plugin));
    if let Some(plugin) = pod.gating_plugin {
        pod.unschedulable_plugins.insert(plugin);
    }
}
