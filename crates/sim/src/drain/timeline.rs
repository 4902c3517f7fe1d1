//! The time of a drain: evictions, pods that end, replacements that start, and the budgets between them.

use super::budgets::{Answer, Budgets, Unready};
use super::filters::{self, PodDeleteStatus};
use super::replacement::{ReplacementTime, replacement};
use super::report::Wait;
use super::{Options, RETRY};
use crate::play::upsert;
use crate::{Playback, Simulation, play};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_base::{Duration, Sym, Time};
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::scheduler::Change;

/// A pod of a node, and how far it is.
pub(super) struct Evictee {
    /// As the API has it.
    pub(super) given: Arc<core::Pod>,
    pub(super) pod: Arc<Pod>,
    pub(super) node: Sym,
    pub(super) status: PodDeleteStatus,
    pub(super) made: ReplacementTime,
    pub(super) evicted: Option<Time>,
    pub(super) gone: Option<Time>,
    pub(super) replacement: Option<Arc<Pod>>,
    pub(super) placed: Option<Sym>,
    pub(super) ready: Option<Time>,
    pub(super) wait: Option<Wait>,
    pub(super) failed: Option<String>,
    /// When its eviction was first refused.
    refused: Option<Time>,
    /// How often anything had changed when its eviction was last refused.
    refused_at: Option<u64>,
}

impl Evictee {
    pub(super) fn new(
        given: Arc<core::Pod>,
        pod: Arc<Pod>,
        node: Sym,
        status: PodDeleteStatus,
        made: ReplacementTime,
    ) -> Self {
        Self {
            given,
            pod,
            node,
            status,
            made,
            evicted: None,
            gone: None,
            replacement: None,
            placed: None,
            ready: None,
            wait: None,
            failed: None,
            refused: None,
            refused_at: None,
        }
    }
}

/// What happens next. Of what happens at one moment, the first kind comes first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Gone(usize),
    Create(usize),
    Ready(Arc<str>),
    Try(usize),
}

impl Event {
    fn step(&self) -> u8 {
        match self {
            Self::Gone(_) => 0,
            Self::Create(_) => 1,
            Self::Ready(_) => 2,
            Self::Try(_) => 3,
        }
    }
}

/// A cluster in which nodes are drained.
pub(super) struct Timeline<'a> {
    pub(super) simulation: &'a mut Simulation,
    options: &'a Options,
    pub(super) start: Time,
    pub(super) now: Time,
    budgets: Budgets,
    unready: Unready,
    /// By time, kind, and number.
    events: BTreeMap<(Time, u8, u64), Event>,
    number: u64,
    /// How often anything changed that budgets look at.
    changes: u64,
    /// Places among the evictees, by the uid of the replacement.
    replaced: BTreeMap<Arc<str>, usize>,
    pub(super) evictees: Vec<Evictee>,
    /// What the scheduler did.
    pub(super) playback: Playback,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(
        simulation: &'a mut Simulation,
        options: &'a Options,
        unready: Unready,
        evictees: Vec<Evictee>,
    ) -> Self {
        let budgets = Budgets::of(&simulation.prepared.objects, simulation.scheduler.cluster());
        let start = simulation.now;
        let mut timeline = Self {
            simulation,
            options,
            start,
            now: start,
            budgets,
            unready,
            events: BTreeMap::new(),
            number: 0,
            changes: 0,
            replaced: BTreeMap::new(),
            evictees,
            playback: Playback::default(),
        };
        timeline.refresh_budgets();
        timeline
    }

    fn at(&mut self, time: Time, event: Event) {
        self.number += 1;
        self.events.insert((time, event.step(), self.number), event);
    }

    /// Evicts the pods of one node, and waits until they are gone. `false` if that never comes.
    pub(super) fn drain(&mut self, node: Sym) -> bool {
        let goes = |one: &Evictee| one.node == node && one.status.is_delete();
        let going: Vec<usize> = (0..self.evictees.len())
            .filter(|at| goes(&self.evictees[*at]))
            .collect();
        for at in &going {
            self.at(self.now, Event::Try(*at));
        }
        let is_over = |one: &Evictee| one.gone.is_some() || one.failed.is_some();
        while !going.iter().all(|at| is_over(&self.evictees[*at])) {
            if self.is_stuck() || !self.step() {
                self.events.clear();
                return false;
            }
        }
        true
    }

    /// Lets replacements come to be and become ready.
    pub(super) fn settle(&mut self) {
        while self.step() {}
    }

    /// Whether nothing but refused evictions is left to happen.
    fn is_stuck(&self) -> bool {
        let mut events = self.events.values();
        events.all(|event| match event {
            Event::Try(at) => self.evictees[*at].refused_at == Some(self.changes),
            _ => false,
        })
    }

    /// Lets all happen that is next at one moment; `false` if nothing is.
    fn step(&mut self) -> bool {
        let Some((&(time, step, _), _)) = self.events.first_key_value() else {
            return false;
        };
        self.now = time;
        self.simulation.now = self.simulation.now.max(time);
        let later = self.events.split_off(&(time, step + 1, 0));
        let happening = std::mem::replace(&mut self.events, later);
        let changes = self.changes;
        for event in happening.into_values() {
            match event {
                Event::Gone(at) => self.remove(at),
                Event::Create(at) => self.create(at),
                Event::Ready(uid) => self.become_ready(&uid),
                Event::Try(at) => self.try_evict(at),
            }
        }
        if self.changes > changes {
            self.schedule();
        }
        true
    }

    fn try_evict(&mut self, at: usize) {
        let cluster = self.simulation.scheduler.cluster();
        let one = &self.evictees[at];
        let Some(pod) = cluster.pod(&one.pod.uid).cloned() else {
            // The scheduler does not keep what has finished; others had to make room meanwhile, and
            // are not found, which is fine.
            let one = &mut self.evictees[at];
            one.evicted = filters::is_finished(&one.given).then_some(self.now);
            one.gone = Some(self.now);
            return;
        };
        let is_free = self.options.disable_eviction || ignores_budgets(&one.given);
        let answer = match is_free {
            true => Answer::Evicted,
            false => self.budgets.ask(cluster, &self.unready, &pod),
        };
        let (now, changes) = (self.now, self.changes);
        let one = &mut self.evictees[at];
        match answer {
            Answer::Evicted => {
                if let (Some(first), Some(wait)) = (one.refused, &mut one.wait) {
                    wait.span = Some(span(first, now));
                }
                self.evict(at, &pod);
            }
            Answer::TooMany { budget, reason } => {
                one.refused.get_or_insert(now);
                one.refused_at = Some(changes);
                one.wait = Some(Wait {
                    budget,
                    span: None,
                    reason,
                });
                self.at(now + RETRY, Event::Try(at));
            }
            Answer::Failed(message) => one.failed = Some(message.to_owned()),
        }
    }

    /// The pod is on its way out.
    fn evict(&mut self, at: usize, pod: &Arc<Pod>) {
        let now = self.now;
        let one = &mut self.evictees[at];
        one.evicted = Some(now);
        let (made, grace) = (one.made, grace(&one.given, self.options));
        let leaving = Pod {
            terminating: true,
            ..Pod::clone(pod)
        };
        upsert(self.simulation, Object::Pod(Arc::new(leaving)));
        self.changes += 1;
        self.at(now + grace, Event::Gone(at));
        if made == ReplacementTime::AtOnce {
            self.at(now, Event::Create(at));
        }
    }

    fn remove(&mut self, at: usize) {
        let one = &mut self.evictees[at];
        one.gone = Some(self.now);
        let gone = Change::Delete {
            kind: Kind::Pod,
            namespace: one.pod.namespace,
            name: one.pod.name,
        };
        let made = one.made;
        self.simulation.scheduler.apply(gone, self.simulation.now);
        self.changes += 1;
        if made == ReplacementTime::Afterwards {
            self.at(self.now, Event::Create(at));
        }
    }

    fn create(&mut self, at: usize) {
        let one = &self.evictees[at];
        let (given, old) = (one.given.clone(), one.pod.clone());
        let new = replacement(self.simulation, &given, &old);
        self.replaced.insert(new.uid.clone(), at);
        self.evictees[at].replacement = Some(new.clone());
        self.simulation.pending.push(new.clone());
        upsert(self.simulation, Object::Pod(new));
        self.changes += 1;
    }

    fn become_ready(&mut self, uid: &Arc<str>) {
        if self.unready.remove(uid) {
            self.changes += 1;
            if let Some(at) = self.replaced.get(uid) {
                self.evictees[*at].ready = Some(self.now);
            }
        }
    }

    /// Lets the scheduler work, and pods that it placed start.
    fn schedule(&mut self) {
        self.refresh_budgets();
        let seed = self.options.seed.wrapping_add(self.number);
        let played = play(self.simulation, seed);
        for (pod, node) in &played.bound {
            if let Some(at) = self.replaced.get(&pod.uid) {
                self.evictees[*at].placed = Some(*node);
            }
            self.unready.insert(pod.uid.clone());
            self.changes += 1;
            let ready = self.now + self.options.startup;
            self.at(ready, Event::Ready(pod.uid.clone()));
        }
        for (pod, _) in &played.bound {
            self.playback.failures.remove(&pod.uid);
        }
        self.playback.bound.extend(played.bound);
        self.playback.preempted.extend(played.preempted);
        self.playback.failures.extend(played.failures);
        self.refresh_budgets();
    }

    fn refresh_budgets(&mut self) {
        let cluster = self.simulation.scheduler.cluster();
        for budget in self.budgets.statuses(cluster, &self.unready) {
            upsert(self.simulation, budget);
        }
    }
}

/// The span between two moments.
pub(super) fn span(from: Time, to: Time) -> Duration {
    Duration::from_nanos(to.as_nanos().saturating_sub(from.as_nanos()))
}

/// Whether the API evicts a pod without a look at budgets. Upstream's `canIgnorePDB`.
fn ignores_budgets(pod: &core::Pod) -> bool {
    filters::is_finished(pod)
        || filters::phase(pod) == "Pending" && says_how_it_is(pod)
        || pod.metadata.deletion_timestamp.is_some()
}

/// Whether the pod's status was written by a kubelet. One that a file leaves out is taken to run as
/// soon as the pod has a node.
fn says_how_it_is(pod: &core::Pod) -> bool {
    let spec = pod.spec.as_ref();
    spec.is_some_and(|spec| spec.node_name.is_some())
}

/// How long a pod takes to end, at most.
fn grace(pod: &core::Pod, options: &Options) -> Duration {
    /// `terminationGracePeriodSeconds`, where it is not said.
    const USUAL: i64 = 30;
    if filters::is_finished(pod) {
        return Duration::ZERO;
    }
    let own = pod.metadata.deletion_grace_period_seconds.or_else(|| {
        let spec = pod.spec.as_ref();
        spec.and_then(|spec| spec.termination_grace_period_seconds)
    });
    let own = Duration::from_secs(own.unwrap_or(USUAL).max(0));
    options.grace_period.unwrap_or(own)
}
