//! Drives the engine: plays the API server to it, on a virtual clock, and charges what it costs.

use super::meter::{Meter, Owner};
use crate::simulate::volumes;
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym, Time};
use stowplan_bridge::config;
use stowplan_engine::Snapshot;
use stowplan_engine::fast::Contenders;
use stowplan_engine::framework::Preemption;
use stowplan_engine::framework::{BindSteps, Effect as Step, Nomination};
use stowplan_engine::meter::Lap;
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::queue::{Profiles, QueueConfig};
use stowplan_engine::scheduler::{Change, Effect, Scheduler};

/// How long an attempt takes, by the virtual clock.
const ATTEMPT: Duration = Duration::from_millis(1);
/// How often the engine is told the time.
const TICK: Duration = Duration::from_secs(1);

/// An engine and everything around it.
pub(super) struct Drive {
    pub(super) scheduler: Scheduler,
    pub(super) meter: Meter,
    now: Time,
    next_tick: Time,
    rng: Rng,
    /// What the engine asks for; its room is used over and over.
    effects: Vec<Effect>,
    /// What is recorded of the last attempt, if that is wanted.
    records: Option<Records>,
    /// Attempts to schedule pods in the background.
    pub(super) background_attempts: usize,
    /// How many pods in the background were bound.
    pub(super) background_bound: usize,
    /// How many pods were evicted.
    pub(super) evicted: usize,
}

/// What is recorded of an attempt.
#[derive(Default)]
struct Records {
    contenders: Contenders,
    laps: Vec<Lap>,
}

impl Drive {
    /// The default profile over an empty cluster.
    pub(super) fn new(seed: u64) -> anyhow::Result<Self> {
        let mut cluster = Snapshot::new();
        let framework = config::profile_from_json(None, &mut crate::world::door(&mut cluster))?;
        let profiles = Profiles::new(vec![framework], &mut cluster.names);
        let now = Time::from_secs(1_000_000);
        Ok(Self {
            scheduler: Scheduler::new(cluster, profiles, QueueConfig::default(), now),
            meter: Meter::default(),
            now,
            next_tick: now + TICK,
            rng: Rng::new(seed),
            effects: Vec::new(),
            records: None,
            background_attempts: 0,
            background_bound: 0,
            evicted: 0,
        })
    }

    /// From now on attempts are recorded, as the live scheduler does.
    pub(super) fn keep_records(&mut self) {
        self.scheduler.note_contenders();
        self.scheduler.lend_clock(stowplan_live::nanos);
        self.records = Some(Records::default());
    }

    /// Begins to measure so many pods.
    pub(super) fn start(&mut self, pods: usize) {
        self.meter.start(pods);
        self.background_attempts = 0;
        self.background_bound = 0;
        self.evicted = 0;
    }

    /// An object appears or changes.
    pub(super) fn upsert(&mut self, owner: Owner, object: Object) {
        let ((), time) = self
            .meter
            .time(|| self.scheduler.apply(Change::Upsert(object), self.now));
        self.meter.charge(owner, time);
    }

    /// An object disappears.
    pub(super) fn delete(&mut self, owner: Owner, kind: Kind, namespace: Sym, name: Sym) {
        let gone = Change::Delete {
            kind,
            namespace,
            name,
        };
        let ((), time) = self.meter.time(|| self.scheduler.apply(gone, self.now));
        self.meter.charge(owner, time);
    }

    /// Lets the engine try the next pod, and does what it asks for; `false` if it has none for now.
    pub(super) fn attempt(&mut self) -> bool {
        if self.now >= self.next_tick {
            self.tick();
        }
        let (tried, time) = self.meter.time(|| {
            let pod = self.scheduler.schedule_one(self.now, &mut self.rng)?;
            self.scheduler.swap_effects(&mut self.effects);
            if let Some(Records { contenders, laps }) = &mut self.records {
                self.scheduler.swap_contenders(contenders);
                self.scheduler.swap_laps(laps);
            }
            Some(pod)
        });
        let Some(pod) = tried else {
            self.meter.charge(Owner::Anyone, time);
            return false;
        };
        self.now = self.now + ATTEMPT;
        let owner = self.meter.owner(pod.name);
        self.meter.charge(owner, time);
        self.background_attempts += usize::from(owner == Owner::Background);
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            self.carry_out(owner, effect);
        }
        self.effects = effects;
        true
    }

    /// Lets time pass until a pod may be tried again; `false` if none waits.
    pub(super) fn idle(&mut self) -> bool {
        let Some(next) = self.scheduler.next_tick() else {
            return false;
        };
        self.now = self.now.max(next);
        self.tick();
        true
    }

    /// The time, by the virtual clock.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    fn tick(&mut self) {
        let ((), time) = self.meter.time(|| self.scheduler.tick(self.now));
        self.meter.charge(Owner::Anyone, time);
        self.next_tick = self.now + TICK;
    }

    fn carry_out(&mut self, owner: Owner, effect: Effect) {
        match effect {
            Effect::Bind { pod, steps, .. } => self.bind(owner, &pod, steps),
            Effect::PostBind { steps, .. } => {
                for object in self.written(steps) {
                    self.upsert(owner, object);
                }
            }
            Effect::Skipped { .. } => {}
            Effect::Preempt { pod, preemption } => self.preempt(owner, &pod, preemption),
            Effect::Failed {
                pod, nomination, ..
            } => self.nominate(owner, &pod, nomination),
        }
    }

    /// Writes what the engine asks for; the API's answer is the changed objects.
    fn bind(&mut self, owner: Owner, pod: &Arc<Pod>, steps: BindSteps) {
        let echo = self.written(steps);
        let ((), time) = self.meter.time(|| {
            for object in echo {
                self.scheduler.apply(Change::Upsert(object), self.now);
            }
            self.scheduler.bound(&pod.uid);
        });
        self.meter.charge(owner, time);
        self.meter.bound(owner);
        self.background_bound += usize::from(owner == Owner::Background);
    }

    /// The objects as the API has them after these steps.
    fn written(&mut self, steps: impl IntoIterator<Item = Step>) -> Vec<Object> {
        let mut objects = Vec::new();
        for step in steps {
            match step {
                Step::Write(object) => {
                    objects.extend(volumes::follow(self.scheduler.cluster_mut(), object));
                }
                Step::Bind { pod, node } => objects.push(Object::Pod(Arc::new(Pod {
                    node_name: Some(node),
                    nominated_node_name: None,
                    ..Pod::clone(&pod)
                }))),
            }
        }
        objects
    }

    /// Writes a pod's `status.nominatedNodeName`.
    fn nominate(&mut self, owner: Owner, pod: &Arc<Pod>, nomination: Nomination) {
        if let Nomination::Set(node) = nomination
            && pod.nominated_node_name != node
        {
            let nominated = Pod {
                nominated_node_name: node,
                ..Pod::clone(pod)
            };
            self.upsert(owner, Object::Pod(Arc::new(nominated)));
        }
    }

    /// Victims leave at once.
    fn preempt(&mut self, owner: Owner, pod: &Arc<Pod>, preemption: Preemption) {
        for other in &preemption.denominate {
            self.nominate(owner, other, Nomination::Set(None));
        }
        self.evicted += preemption.evict.len();
        let ((), time) = self.meter.time(|| {
            let (scheduler, now) = (&mut self.scheduler, self.now);
            let evict = |scheduler: &mut Scheduler, victim: &Arc<Pod>| {
                let gone = Change::Delete {
                    kind: Kind::Pod,
                    namespace: victim.namespace,
                    name: victim.name,
                };
                scheduler.apply(gone, now);
            };
            if let Some((last, others)) = preemption.evict.split_last() {
                others.iter().for_each(|victim| evict(scheduler, victim));
                scheduler.preemption_at_last_victim(&pod.uid, last.namespace, last.name);
                evict(scheduler, last);
            }
            scheduler.preemption_ended(&pod.uid, (pod.namespace, pod.name), false, now);
        });
        self.meter.charge(owner, time);
    }
}
