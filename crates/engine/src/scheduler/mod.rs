//! The scheduler: cluster, queue and profiles as one state machine.
//!
//! Changes of objects go in ([`Scheduler::apply`]), time goes in ([`Scheduler::tick`]), attempts
//! come out ([`Scheduler::schedule_one`]). Nothing here blocks, reads a clock or talks to anybody; what
//! the outside has to do is told as [`Effect`]s ([`Scheduler::take_effects`]), one command at a time,
//! and answered ([`Scheduler::answer`]).
//!
//! Upstream's `pkg/scheduler/{scheduler,eventhandlers,schedule_one}.go` and `backend/cache`.

mod attempt;
mod binding_cycle;
mod changes;
mod cycle;
mod effect;
mod evictions;
mod handlers;
mod sweep;
#[cfg(test)]
mod tests;
mod timers;
mod waits;

pub use attempt::Failure;
pub use changes::{node_events, pod_events};
pub use effect::{Effect, Request, Ticket};
pub use handlers::Change;

use crate::Snapshot;
use crate::explain::{Explanation, explain};
use crate::fast::{Classes, MOST_BYTES, Path, TopNodes};
use crate::framework::{Cx, Evaluated, Nomination, Underway};
use crate::meter::{Lap, Meter};
use crate::model::{Object, Pod};
use crate::queue::{
    Nominator, PluginIds, Profiles, QueueConfig, QueueContext, QueuedPod, SchedulingQueue,
};
use binding_cycle::Steps;
use evictions::Evictions;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Sym, Table, Time};
use sweep::Sweeps;
use timers::Timers;
use waits::Waits;

/// The whole scheduler. Owned and driven by one thread.
pub struct Scheduler {
    cluster: Snapshot,
    profiles: Profiles,
    queue: SchedulingQueue,
    underway: Underway,
    /// Popped pods whose node somebody else has yet to choose, by uid.
    attempts: Table<Arc<str>, QueuedPod>,
    /// Pods on their way to a node, by uid.
    bindings: Table<Arc<str>, Binding>,
    /// Of those for which Reserve changed objects: these as they are assumed to be, with what they
    /// were.
    reserved: Table<Arc<str>, Vec<(Object, Option<Object>)>>,
    /// Of those that are in PreBind: what is left of it.
    steps: Table<Arc<str>, Steps>,
    /// Pods on their way to a node that wait for something at PreBind.
    waits: Waits,
    /// Pods of which nobody knows whether they are bound, by uid, with the reason.
    unsettled: BTreeMap<Arc<str>, String>,
    /// Preemptions that are being carried out, by the preemptor's uid.
    evictions: Table<Arc<str>, Evictions>,
    timers: Timers,
    sweeps: Sweeps,
    effects: Vec<Effect>,
    path: Path,
    /// What is kept about pods that are alike, per profile; `None` while it decides.
    classes: Vec<Option<Box<Classes>>>,
    /// The best nodes of the last attempt, if somebody wants to know.
    top_nodes: Option<TopNodes>,
    /// How many attempts there were, by profile and by who had a say, if somebody wants to know.
    evaluated: Vec<Vec<(Evaluated, u64)>>,
    meter: Meter,
}

/// A pod on its way to a node.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The pod as the queue knew it.
    pub queued: QueuedPod,
    /// Its node.
    pub node: Sym,
}

impl Scheduler {
    /// A scheduler for a cluster without pending pods, whose clocks start at `now`.
    pub fn new(cluster: Snapshot, profiles: Profiles, config: QueueConfig, now: Time) -> Self {
        // All profiles share the room.
        let share = MOST_BYTES / profiles.frameworks().len().max(1);
        let classes = profiles.frameworks().iter();
        let classes = classes.map(|_| Some(Box::new(Classes::with_limit(share))));
        Self {
            sweeps: Sweeps::new(cluster.names.symbols()),
            path: Path::default(),
            classes: classes.collect(),
            top_nodes: None,
            evaluated: Vec::new(),
            meter: Meter::default(),
            cluster,
            profiles,
            queue: SchedulingQueue::new(config),
            underway: Underway::default(),
            attempts: Table::new(),
            bindings: Table::new(),
            reserved: Table::new(),
            steps: Table::new(),
            waits: Waits::default(),
            unsettled: BTreeMap::new(),
            evictions: Table::new(),
            timers: Timers::new(now),
            effects: Vec::new(),
        }
    }

    /// Chooses how attempts are decided. The decisions are the same.
    pub fn set_path(&mut self, path: Path) {
        self.path = path;
    }

    /// Notes the best nodes of each attempt from now on, and who had a say.
    pub fn note_top_nodes(&mut self) {
        self.top_nodes = Some(TopNodes::default());
        self.evaluated = self.classes.iter().map(|_| Vec::new()).collect();
    }

    /// In how many attempts each plugin had its say since those are
    /// [noted](Self::note_top_nodes): the profile, the point, the plugin, the number. Attempts that
    /// took the plain path and found no node are left out.
    pub fn evaluations(&self) -> Vec<(&str, &'static str, &'static str, u64)> {
        let profiles = self.profiles.frameworks().iter().zip(&self.evaluated);
        let all = profiles.flat_map(|(framework, attempts)| {
            let all = framework.evaluations(attempts).into_iter();
            all.map(|(point, plugin, n)| (&*framework.profile_name, point, plugin, n))
        });
        all.collect()
    }

    /// Notes who had a say in an attempt.
    fn note_evaluated(&mut self, profile: usize, evaluated: Evaluated) {
        let Some(attempts) = self.evaluated.get_mut(profile) else {
            return;
        };
        match attempts.iter_mut().find(|(known, _)| *known == evaluated) {
            Some((_, times)) => *times += 1,
            None => attempts.push((evaluated, 1)),
        }
    }

    /// The whole tournament of a pod as things are now, verdicts and scores by what is kept; `None` if
    /// no profile is for it. With `all_filters`, every filter is asked about every node.
    pub fn explain(&mut self, pod: &Pod, all_filters: bool) -> Option<Explanation> {
        let at = self.profiles.position(pod)?;
        let mut kept = self.classes[at].take();
        let (framework, cx) = (&self.profiles.frameworks()[at], self.cx());
        let explanation = match (self.path, &mut kept) {
            (Path::Fast, Some(classes)) if !cx.cluster.nodes().is_empty() => {
                classes.explain(framework, cx, pod, all_filters)
            }
            _ => explain(framework, cx, pod, all_filters),
        };
        self.classes[at] = kept;
        Some(explanation)
    }

    /// The best nodes of the last attempt, by exchange for a buffer; nothing if they are not
    /// [noted](Self::note_top_nodes).
    pub fn swap_top_nodes(&mut self, buffer: &mut TopNodes) {
        if let Some(top_nodes) = &mut self.top_nodes {
            std::mem::swap(top_nodes, buffer);
        }
    }

    /// Takes the time of extension points, changes and hints from now on, by this clock: it tells
    /// nanoseconds since some moment.
    pub fn lend_clock(&mut self, clock: fn() -> u64) {
        self.meter.lend(clock);
    }

    /// What took how long since this was last asked, by exchange for a buffer; what that held
    /// before is dropped. Nothing, unless somebody [lent a clock](Self::lend_clock).
    pub fn swap_laps(&mut self, buffer: &mut Vec<Lap>) {
        self.meter.swap(buffer);
    }

    /// For each profile how often something was decided from what was kept about pods that are
    /// alike, and how often there was nothing yet.
    pub fn reuse(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let profiles = self.profiles.frameworks().iter().zip(&self.classes);
        profiles.map(|(framework, classes)| {
            let stats = classes.as_ref().map(|classes| classes.stats());
            let stats = stats.unwrap_or_default();
            (&*framework.profile_name, stats.warm, stats.opened)
        })
    }

    /// What the outside has to do since this was last asked, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// As [`take_effects`](Self::take_effects), by exchange for a buffer that can be used over and
    /// over; what that held before is dropped.
    pub fn swap_effects(&mut self, buffer: &mut Vec<Effect>) {
        buffer.clear();
        std::mem::swap(&mut self.effects, buffer);
    }

    /// The cluster.
    pub fn cluster(&self) -> &Snapshot {
        &self.cluster
    }

    /// The cluster, for what is interned on its way in. Objects are changed by
    /// [`apply`](Self::apply) only.
    pub fn cluster_mut(&mut self) -> &mut Snapshot {
        &mut self.cluster
    }

    /// The profiles.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// The queue.
    pub fn queue(&self) -> &SchedulingQueue {
        &self.queue
    }

    /// The numbers of plugins, for a [`Failure`] of one's own making.
    pub fn plugin_ids<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a &'static str>,
    ) -> PluginIds {
        self.profiles.ids(names)
    }

    /// The queue, to be traced.
    pub fn queue_mut(&mut self) -> &mut SchedulingQueue {
        &mut self.queue
    }

    /// Pods that are promised a node.
    pub fn nominator(&self) -> &Nominator {
        &self.underway.nominator
    }

    /// Popped pods whose node is not chosen yet, by uid.
    pub fn attempts(&self) -> impl Iterator<Item = &QueuedPod> {
        by_uid(&self.attempts)
    }

    /// Pods on their way to a node, by uid.
    pub fn bindings(&self) -> impl Iterator<Item = &Binding> {
        by_uid(&self.bindings)
    }

    /// The pod of this uid on its way to a node.
    pub fn binding(&self, uid: &str) -> Option<&Binding> {
        self.bindings.get(uid)
    }

    /// Whether some plugin holds the pod of this uid at Permit.
    pub fn waits_at_permit(&self, uid: &str) -> bool {
        self.underway.handle.waiting_pod(uid).is_some()
    }

    /// What plugins see.
    pub fn cx(&self) -> Cx<'_> {
        Cx {
            cluster: &self.cluster,
            underway: &self.underway,
        }
    }

    /// The queue, and what it works with.
    fn queue_context(&mut self, now: Time) -> (&mut SchedulingQueue, QueueContext<'_>) {
        let env = QueueContext {
            now,
            profiles: &self.profiles,
            cluster: &self.cluster,
            underway: &mut self.underway,
            meter: &self.meter,
        };
        (&mut self.queue, env)
    }

    /// Nominates the pod of this name as the API has it, if it does.
    pub fn nominate(&mut self, namespace: Sym, name: Sym, nomination: Nomination) {
        if let Some(pod) = self.cluster.listed_pod(namespace, name) {
            self.underway
                .nominator
                .nominate(pod, nomination, &self.cluster);
        }
    }

    /// Moves the pods of these names to the active queue, whatever their backoff.
    pub fn activate(&mut self, pods: &[(Sym, Sym)], now: Time) {
        let listed = |(namespace, name): &(Sym, Sym)| self.cluster.listed_pod(*namespace, *name);
        let pods: Vec<_> = pods.iter().filter_map(listed).cloned().collect();
        let (queue, mut env) = self.queue_context(now);
        queue.activate(&mut env, &pods);
    }

    /// The victims of this pod are being evicted; until that is over it is not tried again.
    pub fn preemption_started(&mut self, preemptor: &Arc<str>) {
        self.underway.preempting.start(preemptor);
    }

    /// Of the victims of this pod only this one is left.
    pub fn preemption_at_last_victim(&mut self, preemptor: &Arc<str>, namespace: Sym, name: Sym) {
        self.underway
            .preempting
            .last_victim(preemptor, namespace, name);
    }

    /// The evictions for this pod are over. If one failed the pod is tried at once.
    pub fn preemption_ended(
        &mut self,
        preemptor: &str,
        (namespace, name): (Sym, Sym),
        failed: bool,
        now: Time,
    ) {
        self.underway.preempting.end(preemptor);
        if failed {
            self.activate(&[(namespace, name)], now);
        }
    }
}

fn by_uid<V>(table: &Table<Arc<str>, V>) -> impl Iterator<Item = &V> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_unstable_by_key(|(uid, _)| *uid);
    entries.into_iter().map(|(_, value)| value)
}
