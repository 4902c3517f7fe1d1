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
#[cfg(test)]
mod tests;
mod trace;

pub use in_flight::{Happening, InFlightEntry};
pub use nominator::Nominator;
pub use plugin_ids::{PluginId, PluginIds};
pub use profiles::{Profiles, RecordedHints};
pub use queued_pod::{PodId, QueuedPod};
pub use trace::{AskedHint, Cause, Incoming, Part, Trace};

use crate::Snapshot;
use crate::framework::Cx;
use crate::model::Pod;
use crate::plugins::default_preemption::Preempting;
use heap::Heap;
use in_flight::InFlight;
use pool::Pool;
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
pub struct Env<'a> {
    /// The time.
    pub now: Time,
    /// The profiles, whose plugins gate, order and wake pods.
    pub profiles: &'a Profiles,
    /// The cluster.
    pub cluster: &'a Snapshot,
    /// Pods that are promised a node; the queue keeps it up to date.
    pub nominator: &'a mut Nominator,
    /// Preemptions that are being carried out.
    pub preempting: &'a Preempting,
}

impl Env<'_> {
    fn cx(&self) -> Cx<'_> {
        Cx {
            cluster: self.cluster,
            nominator: self.nominator,
            preempting: self.preempting,
        }
    }

    fn less(&self) -> impl Fn(&QueuedPod, &QueuedPod) -> bool {
        |a, b| self.profiles.order(a, b) == Ordering::Less
    }
}

/// The scheduling queue. Upstream's `PriorityQueue`.
#[derive(Clone, Debug, Default)]
pub struct SchedulingQueue {
    config: QueueConfig,
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
}

/// Where in the queue a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
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
        self.active.len() + self.backoff.len() + self.error_backoff.len() + self.pool.len()
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
    pub fn get(&self, id: PodId) -> Option<(Place, &QueuedPod)> {
        if let Some(pod) = self.pool.get(id) {
            let place = match pod.gating_plugin {
                Some(_) => Place::Gated,
                None => Place::Unschedulable,
            };
            return Some((place, pod));
        }
        let heaps = [
            (Place::Active, &self.active),
            (Place::Backoff, &self.backoff),
            (Place::ErrorBackoff, &self.error_backoff),
        ];
        heaps
            .into_iter()
            .find_map(|(place, heap)| Some((place, heap.get(id)?)))
    }

    /// The active pods, in the order in which they would be popped.
    pub fn active(&self, profiles: &Profiles) -> Vec<&QueuedPod> {
        sorted(self.active.iter(), |a, b| profiles.order(a, b))
    }

    /// The pods in backoff with its end, in the order in which they would be popped.
    pub fn backoff(&self, profiles: &Profiles) -> Vec<(&QueuedPod, Time)> {
        let order = |a: &QueuedPod, b: &QueuedPod| {
            let expiry = |pod| self.config.backoff_expiry(pod);
            expiry(a).cmp(&expiry(b)).then_with(|| profiles.order(a, b))
        };
        self.with_expiry(sorted(self.backoff.iter(), order))
    }

    /// The pods in backoff because of an error with its end, by that end.
    pub fn error_backoff(&self) -> Vec<(&QueuedPod, Time)> {
        let expiry = |pod: &QueuedPod| self.config.backoff_expiry(pod);
        self.with_expiry(sorted(self.error_backoff.iter(), |a, b| {
            expiry(a).cmp(&expiry(b))
        }))
    }

    fn with_expiry<'a>(&self, pods: Vec<&'a QueuedPod>) -> Vec<(&'a QueuedPod, Time)> {
        let expiry = |pod| self.config.backoff_expiry(pod).unwrap_or_default();
        pods.into_iter().map(|pod| (pod, expiry(pod))).collect()
    }

    /// The unschedulable and the gated pods, in no particular order.
    pub fn pool(&self) -> impl Iterator<Item = &QueuedPod> {
        self.pool.iter()
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
            .filter_map(|pod| self.config.backoff_expiry(pod))
            .min()
    }

    fn note_event(&mut self, event: crate::framework::ClusterEvent) {
        if let Some(trace) = &mut self.trace {
            trace.events.push(event);
        }
    }
}

fn sorted<'a>(
    pods: impl Iterator<Item = &'a QueuedPod>,
    order: impl Fn(&QueuedPod, &QueuedPod) -> Ordering,
) -> Vec<&'a QueuedPod> {
    let mut pods: Vec<_> = pods.collect();
    pods.sort_by(|a, b| order(a, b));
    pods
}

fn id_of(pod: &Arc<Pod>) -> PodId {
    (pod.namespace, pod.name)
}
