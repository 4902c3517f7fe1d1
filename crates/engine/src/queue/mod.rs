//! The scheduling queue: which pod is tried next, and when a pod that failed is tried again.
//!
//! A state machine over time, which is an argument. Upstream's `pkg/scheduler/backend/queue`.
//!
//! ```text
//!            add                                     pop
//!  (new) ----------> PreEnqueue --ok--> active ------------> in flight ---done---> (gone)
//!                      |    ^             ^  ^                 |   |
//!                    gated  |   flush each |  \__ pop, if      |   |
//!                      |    |    second    |      active is    |   |
//!                      v    |             |       empty        |   |
//!                     pool -+--event---> backoff <--error------+   |
//!                      ^    +--leftover flush                      |
//!                      +--------------rejected---------------------+
//! ```
//!
//! A rejected pod goes straight to active or backoff if something that happened during the attempt
//! might help it. Pods whose attempt ended in an error back off apart from the others
//! (`error_backoff`) and are never popped before their time.

mod asked;
mod backoff;
mod entry;
mod heap;
mod hints;
mod in_flight;
mod moves;
mod nominator;
mod plugin_ids;
mod pool;
mod profiles;
mod queued_pod;
mod slots;
#[cfg(test)]
mod tests;
mod trace;

pub use in_flight::{InFlightEntry, InFlightEvent};
pub use nominator::Nominator;
pub use plugin_ids::{PluginId, PluginIds};
pub use profiles::{Profiles, RecordedHints};
pub use queued_pod::{PodId, QueuedPod};
pub use trace::{AskedHint, Cause, Incoming, Part, Trace};

use crate::Snapshot;
use crate::framework::{Cx, Underway};
use crate::meter::Meter;
use crate::model::Pod;
use heap::Heap;
use hints::Strategy;
use in_flight::InFlight;
use pool::Pool;
use slots::{Slots, SubQueue};
use std::cmp::Ordering;
use std::sync::Arc;
use stowplan_base::{Duration, Time};

/// The queue's settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// `podInitialBackoffSeconds`: how long a pod waits after its first failure.
    pub initial_backoff: Duration,
    /// `podMaxBackoffSeconds`: how long it waits at most; zero switches backoff off.
    pub max_backoff: Duration,
    /// `podMaxInUnschedulablePodsDuration`: when it is tried again though nothing happened.
    pub max_in_unschedulable_pods: Duration,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10),
            max_in_unschedulable_pods: Duration::from_secs(300),
        }
    }
}

/// What the queue works with besides itself.
pub struct QueueContext<'a> {
    /// The time.
    pub now: Time,
    /// The profiles, whose plugins gate, order and wake pods.
    pub profiles: &'a Profiles,
    /// The cluster.
    pub cluster: &'a Snapshot,
    /// What is under way; the queue keeps the nominations up to date.
    pub underway: &'a mut Underway,
    /// Takes the time.
    pub(crate) meter: &'a Meter,
}

impl QueueContext<'_> {
    fn cx(&self) -> Cx<'_> {
        Cx {
            cluster: self.cluster,
            underway: self.underway,
        }
    }

    fn less(&self) -> impl Fn(&QueuedPod, &QueuedPod) -> bool {
        let cx = self.cx();
        move |a, b| self.profiles.order(cx, a, b) == Ordering::Less
    }
}

/// The scheduling queue. Upstream's `PriorityQueue`.
#[derive(Clone, Debug, Default)]
pub struct SchedulingQueue {
    config: QueueConfig,
    /// All pods that wait; the other parts say in which order.
    slots: Slots,
    /// To be tried next, by QueueSort.
    active: Heap,
    /// Rejected pods whose time has not come, by the second of expiry, then QueueSort.
    backoff: Heap,
    /// Pods that failed with an error and whose time has not come, by the second of expiry.
    error_backoff: Heap,
    pool: Pool,
    in_flight: InFlight,
    incoming: Incoming,
    trace: Option<Trace>,
    /// Pods that an event is found to wake, while they are being found.
    woken: Vec<(PodId, Strategy)>,
}

/// Where in the queue a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuePart {
    /// To be tried next.
    Active,
    /// Rejected, to be tried when its backoff is over, or when there is nothing else to try.
    Backoff,
    /// Failed with an error, to be tried when its backoff is over.
    ErrorBackoff,
    /// Rejected, to be tried when something happens.
    Unschedulable,
    /// Held back by a PreEnqueue plugin.
    Gated,
}

impl SchedulingQueue {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// The settings.
    pub fn config(&self) -> &QueueConfig {
        &self.config
    }

    /// How many pods wait in all parts together.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no pod waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`pop`](Self::pop) would find a pod.
    pub fn can_pop(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// The pod of this name, if it waits, and where.
    pub fn get(&self, id: PodId) -> Option<(QueuePart, &QueuedPod)> {
        let slot = self.slots.find(id)?;
        let pod = self.slots.pod(slot);
        Some((place(self.slots.sub_queue(slot), pod), pod))
    }

    /// All pods that wait and where, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = (QueuePart, &QueuedPod)> {
        let pods = self.slots.iter();
        pods.map(|(sub_queue, pod)| (place(sub_queue, pod), pod))
    }

    fn sub_queue(&self, id: PodId) -> Option<SubQueue> {
        self.slots.find(id).map(|slot| self.slots.sub_queue(slot))
    }

    /// Takes a pod out, wherever it waits.
    fn take(&mut self, env: &QueueContext<'_>, id: PodId) -> Option<QueuedPod> {
        let slot = self.slots.find(id)?;
        let slots = &mut self.slots;
        match slots.sub_queue(slot) {
            SubQueue::Active => self.active.remove(slots, slot, env.less()),
            SubQueue::Backoff => {
                let less = self.config.less_backoff(env.profiles, env.cx());
                self.backoff.remove(slots, slot, less);
            }
            SubQueue::ErrorBackoff => {
                let less = self.config.less_error_backoff();
                self.error_backoff.remove(slots, slot, less);
            }
            SubQueue::Pool(group) => self.pool.remove(slots, slot, group),
        }
        Some(slots.remove(slot))
    }

    /// Changes a pod where it waits, but not its rejecting plugins; returns whether it waits.
    fn change(
        &mut self,
        env: &QueueContext<'_>,
        id: PodId,
        change: impl FnOnce(&mut QueuedPod),
    ) -> bool {
        let Some(slot) = self.slots.find(id) else {
            return false;
        };
        let slots = &mut self.slots;
        change(slots.pod_mut(slot));
        match slots.sub_queue(slot) {
            SubQueue::Active => self.active.fix(slots, slot, env.less()),
            SubQueue::Backoff => {
                let less = self.config.less_backoff(env.profiles, env.cx());
                self.backoff.fix(slots, slot, less);
            }
            SubQueue::ErrorBackoff => {
                let less = self.config.less_error_backoff();
                self.error_backoff.fix(slots, slot, less);
            }
            SubQueue::Pool(_) => {}
        }
        true
    }

    /// The active pods, in the order in which they would be popped.
    pub fn active(&self, profiles: &Profiles, cx: Cx<'_>) -> Vec<&QueuedPod> {
        self.sorted(&self.active, |a, b| profiles.order(cx, a, b))
    }

    /// The pods in backoff with its end, in the order in which they would be popped.
    pub fn backoff(&self, profiles: &Profiles, cx: Cx<'_>) -> Vec<(&QueuedPod, Time)> {
        let order = |a: &QueuedPod, b: &QueuedPod| {
            let expiry = |pod| self.config.backoff_expiry(pod);
            expiry(a)
                .cmp(&expiry(b))
                .then_with(|| profiles.order(cx, a, b))
        };
        self.with_expiry(self.sorted(&self.backoff, order))
    }

    /// The pods in backoff because of an error with its end, by that end.
    pub fn error_backoff(&self) -> Vec<(&QueuedPod, Time)> {
        let expiry = |pod: &QueuedPod| self.config.backoff_expiry(pod);
        let pods = self.sorted(&self.error_backoff, |a, b| expiry(a).cmp(&expiry(b)));
        self.with_expiry(pods)
    }

    fn sorted(
        &self,
        heap: &Heap,
        order: impl Fn(&QueuedPod, &QueuedPod) -> Ordering,
    ) -> Vec<&QueuedPod> {
        let mut pods: Vec<_> = heap.iter().map(|slot| self.slots.pod(slot)).collect();
        pods.sort_by(|a, b| order(a, b));
        pods
    }

    fn with_expiry<'a>(&self, pods: Vec<&'a QueuedPod>) -> Vec<(&'a QueuedPod, Time)> {
        let expiry = |pod| self.config.backoff_expiry(pod).unwrap_or_default();
        pods.into_iter().map(|pod| (pod, expiry(pod))).collect()
    }

    /// The unschedulable and the gated pods, in no particular order.
    pub fn pool(&self) -> impl Iterator<Item = &QueuedPod> {
        self.pool.iter().map(|slot| self.slots.pod(slot))
    }

    /// Whether the pod was popped and is not done.
    pub fn is_in_flight(&self, uid: &str) -> bool {
        self.in_flight.contains(uid)
    }

    /// Pods in flight in the order of their pops, and what happened meanwhile.
    pub fn in_flight(&self) -> impl Iterator<Item = &InFlightEntry> {
        self.in_flight.entries()
    }

    /// How many pods entered which part, and why.
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// Begins to note events and hints; what was noted before is thrown away.
    pub fn start_trace(&mut self) {
        self.trace = Some(Trace::default());
    }

    /// What was noted since [`start_trace`](Self::start_trace), if it was called.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    /// When the next backoff ends: the flush of the second after it releases the pod.
    pub fn next_backoff_expiry(&self) -> Option<Time> {
        let heads = [self.backoff.peek(), self.error_backoff.peek()];
        let expiries = heads.into_iter().flatten();
        expiries
            .filter_map(|slot| self.config.backoff_expiry(self.slots.pod(slot)))
            .min()
    }

    fn note_event(&mut self, event: crate::framework::ClusterEvent) {
        if let Some(trace) = &mut self.trace {
            trace.events.push(event);
        }
    }
}

fn place(sub_queue: SubQueue, pod: &QueuedPod) -> QueuePart {
    match sub_queue {
        SubQueue::Active => QueuePart::Active,
        SubQueue::Backoff => QueuePart::Backoff,
        SubQueue::ErrorBackoff => QueuePart::ErrorBackoff,
        SubQueue::Pool(_) if pod.is_gated() => QueuePart::Gated,
        SubQueue::Pool(_) => QueuePart::Unschedulable,
    }
}

fn id_of(pod: &Arc<Pod>) -> PodId {
    (pod.namespace, pod.name)
}
