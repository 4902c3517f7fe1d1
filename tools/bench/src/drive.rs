//! Drives the engine: plays the API server to it, on a virtual clock, and charges what it costs.

use crate::meter::{Meter, Owner};
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym, Time};
use stowplan_bridge::config;
use stowplan_engine::Snapshot;
use stowplan_engine::fast::TopNodes;
use stowplan_engine::framework::{Command, Nomination, Outcome};
use stowplan_engine::meter::Lap;
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::queue::{Profiles, QueueConfig};
use stowplan_engine::scheduler::{Change, Effect, Scheduler, Ticket};
use stowplan_sim::{interner, volumes};

/// How long an attempt takes, by the virtual clock.
const ATTEMPT: Duration = Duration::from_millis(1);
/// How often the engine is told the time.
const TICK: Duration = Duration::from_secs(1);

/// An engine and everything around it.
pub(crate) struct Drive {
    pub(crate) scheduler: Scheduler,
    pub(crate) meter: Meter,
    now: Time,
    next_tick: Time,
    rng: Rng,
    /// What the engine asks for; the room is used over and over.
    effects: Vec<Effect>,
    /// What watches tell; the room is used over and over too.
    echo: Vec<Change>,
    /// What is recorded of the last attempt, if that is wanted.
    records: Option<Records>,
    /// Attempts to schedule pods in the background.
    pub(crate) background_attempts: usize,
    /// How many pods in the background were bound.
    pub(crate) background_bound: usize,
    /// How many pods were evicted.
    pub(crate) evicted: usize,
}

/// What is recorded of an attempt.
#[derive(Default)]
struct Records {
    top_nodes: TopNodes,
    laps: Vec<Lap>,
}

impl Drive {
    /// The default profile over an empty cluster.
    pub(crate) fn new(seed: u64) -> anyhow::Result<Self> {
        let mut cluster = Snapshot::new();
        let framework = config::profile_from_json(None, &mut interner(&mut cluster))?;
        let profiles = Profiles::new(vec![framework], &mut cluster.names);
        let now = Time::from_secs(1_000_000);
        Ok(Self {
            scheduler: Scheduler::new(cluster, profiles, QueueConfig::default(), now),
            meter: Meter::default(),
            now,
            next_tick: now + TICK,
            rng: Rng::new(seed),
            effects: Vec::new(),
            echo: Vec::new(),
            records: None,
            background_attempts: 0,
            background_bound: 0,
            evicted: 0,
        })
    }

    /// From now on attempts are recorded, as the live scheduler does.
    pub(crate) fn keep_records(&mut self) {
        self.scheduler.note_top_nodes();
        self.scheduler.lend_clock(stowplan_env::stopwatch_ns);
        self.records = Some(Records::default());
    }

    /// Begins to measure so many pods.
    pub(crate) fn start(&mut self, pods: usize) {
        self.meter.start(pods);
        self.background_attempts = 0;
        self.background_bound = 0;
        self.evicted = 0;
    }

    /// An object appears or changes.
    pub(crate) fn upsert(&mut self, owner: Owner, object: Object) {
        let ((), time) = self
            .meter
            .time(|| self.scheduler.apply(Change::Upsert(object), self.now));
        self.meter.charge(owner, time);
    }

    /// An object disappears.
    pub(crate) fn delete(&mut self, owner: Owner, kind: Kind, namespace: Sym, name: Sym) {
        let gone = Change::Delete {
            kind,
            namespace,
            name,
        };
        let ((), time) = self.meter.time(|| self.scheduler.apply(gone, self.now));
        self.meter.charge(owner, time);
    }

    /// Lets the engine try the next pod, and does what it asks for; `false` if it has none for now.
    pub(crate) fn attempt(&mut self) -> bool {
        if self.now >= self.next_tick {
            self.tick();
        }
        let (tried, time) = self.meter.time(|| {
            let pod = self.scheduler.schedule_one(self.now, &mut self.rng)?;
            self.scheduler.swap_effects(&mut self.effects);
            if let Some(Records { top_nodes, laps }) = &mut self.records {
                self.scheduler.swap_top_nodes(top_nodes);
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
        self.settle_all(owner);
        true
    }

    /// Lets time pass until a pod may be tried again; `false` if none waits.
    pub(crate) fn idle(&mut self) -> bool {
        let Some(next) = self.scheduler.next_tick() else {
            return false;
        };
        self.now = self.now.max(next);
        self.tick();
        true
    }

    /// The time, by the virtual clock.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    fn tick(&mut self) {
        let ((), time) = self.meter.time(|| self.scheduler.tick(self.now));
        self.meter.charge(Owner::Anyone, time);
        self.next_tick = self.now + TICK;
    }

    /// Carries out what the engine asks for, and what it asks for then, round by round: a round is one call
    /// into the engine, so that what measuring costs does not grow with the number of requests.
    fn settle_all(&mut self, owner: Owner) {
        let mut effects = std::mem::take(&mut self.effects);
        while !effects.is_empty() {
            for effect in &effects {
                self.settle(owner, effect);
            }
            self.carry_out(owner, &mut effects);
        }
        self.effects = effects;
    }

    /// Notes what happened, and what watches will tell of what was asked for.
    fn settle(&mut self, owner: Owner, effect: &Effect) {
        match effect {
            Effect::Request(request) => {
                let mut echo = std::mem::take(&mut self.echo);
                self.echo(&request.command, &mut echo);
                self.echo = echo;
            }
            Effect::Bound { .. } => {
                self.meter.bound(owner);
                self.background_bound += usize::from(owner == Owner::Background);
            }
            Effect::Preempted { preemption, .. } => self.evicted += preemption.evict.len(),
            Effect::BindFailed { .. } | Effect::Failed { .. } => {}
        }
    }

    /// Plays the API server: what was asked for is so, and its watch says so. Leaves what follows in place
    /// of the requests.
    fn carry_out(&mut self, owner: Owner, effects: &mut Vec<Effect>) {
        let is_answered = |effect: &Effect| matches!(effect, Effect::Request(request) if request.ticket != Ticket::Nobody);
        // Of an event no watch tells, and nobody wants to know.
        if self.echo.is_empty() && !effects.iter().any(is_answered) {
            return effects.clear();
        }
        let mut echo = std::mem::take(&mut self.echo);
        let ((), time) = self.meter.time(|| {
            for change in echo.drain(..) {
                self.scheduler.apply(change, self.now);
            }
            for effect in effects.iter().filter(|effect| is_answered(effect)) {
                if let Effect::Request(request) = effect {
                    let (uid, ticket) = (&request.pod.uid, request.ticket);
                    let done = Outcome::Done(None);
                    self.scheduler.answer(uid, ticket, done, self.now);
                }
            }
        });
        effects.clear();
        self.scheduler.swap_effects(effects);
        self.echo = echo;
        self.meter.charge(owner, time);
    }

    /// What the API's watches tell of a command that was carried out.
    fn echo(&mut self, command: &Command, to: &mut Vec<Change>) {
        match command {
            Command::Bind { pod, node } => {
                let bound = Pod {
                    node_name: Some(*node),
                    nominated_node_name: None,
                    ..Pod::clone(pod)
                };
                to.push(Change::Upsert(Object::Pod(Arc::new(bound))));
            }
            Command::Patch(patch) => {
                let (kind, namespace, name) = patch.target.key;
                let cluster = self.scheduler.cluster_mut();
                if let Some(object) = cluster.object(kind, namespace, name) {
                    let changed = object.changed(&patch.changes, &mut cluster.names);
                    let objects = volumes::follow(cluster, changed).into_iter();
                    to.extend(objects.map(Change::Upsert));
                }
            }
            Command::PatchStatus {
                pod,
                nomination: Nomination::Set(node),
                ..
            } if pod.nominated_node_name != *node => {
                let nominated = Pod {
                    nominated_node_name: *node,
                    ..Pod::clone(pod)
                };
                to.push(Change::Upsert(Object::Pod(Arc::new(nominated))));
            }
            Command::PatchStatus { .. } | Command::Event(_) => {}
            Command::Delete(target) => {
                let (kind, namespace, name) = target.key;
                to.push(Change::Delete {
                    kind,
                    namespace,
                    name,
                });
            }
        }
    }
}
