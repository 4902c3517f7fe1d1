//! The engine at work: it alone owns the [`Scheduler`], and it never waits for the API.

mod awaited;
mod decision;
mod decisions;
mod intake;
mod notes;
mod outgoing;
mod records;
mod volumes;

use crate::clock::Clock;
use crate::effects::Work;
use crate::extenders::HttpExtenders;
use crate::message::Message;
use crate::observer::{Observer, Steps};
use awaited::Awaited;
pub(crate) use decision::Decision;
use notes::Notes;
use records::Records;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Rng, Time};
use stowplan_client::Guard;
use stowplan_engine::meter::Lap;
use stowplan_engine::model::Kind;
use stowplan_engine::scheduler::{Effect, Scheduler};
use stowplan_env::timeout_at;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

/// How many messages are taken in at a time.
const MESSAGES_PER_ROUND: usize = 1024;

/// How many pods are tried before messages are looked at again.
const ATTEMPTS_PER_ROUND: usize = 32;

/// How many bindings may be on their way; more pods are not tried before some of them are done. Those
/// that wait for volumes are not meant: a provisioner that is broken must not stop everybody.
const BINDINGS_MAX: usize = 4096;

/// How long to wait at most. Nothing depends on it; a clock that was set is noticed by then.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// All that it owns.
pub(crate) struct Engine {
    pub(crate) scheduler: Scheduler,
    pub(crate) rng: Rng,
    pub(crate) extenders: HttpExtenders,
    pub(crate) clock: Clock,
    pub(crate) inbox: mpsc::UnboundedReceiver<Message>,
    /// A message that was waited for.
    pub(crate) next: Option<Message>,
    pub(crate) work: mpsc::UnboundedSender<Work>,
    pub(crate) guard: Arc<dyn Guard>,
    pub(crate) observer: Arc<dyn Observer>,
    /// How long volumes may take to be bound, by `schedulerName`.
    pub(crate) bind_timeouts: BTreeMap<String, Duration>,
    pub(crate) state: State,
}

/// What is known beside the scheduler's own state.
#[derive(Default)]
pub(crate) struct State {
    /// The kinds of which all objects are known.
    synced: BTreeSet<Kind>,
    notes: Notes,
    /// When the attempt began of each pod that is being bound, and when it was decided, by uid.
    bindings: HashMap<Arc<str>, (Time, Time)>,
    /// Those of them that wait for their volumes.
    awaited: Awaited,
    /// Pods that somebody else bound, before a watch told of it: by uid, what the binder was told.
    elsewhere: HashMap<Arc<str>, (String, Steps)>,
    effects: Vec<Effect>,
    laps: Vec<Lap>,
    /// What was decided lately.
    records: Records,
    /// Until when there is no time for whole tournaments.
    rests_until: Time,
}

impl State {
    /// Whether as many bindings are on their way as may be.
    fn is_full(&self) -> bool {
        self.bindings.len().saturating_sub(self.awaited.len()) >= BINDINGS_MAX
    }
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoOn,
    Stop,
}

/// What to do after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// There is more to do at once.
    Again,
    /// Nothing happens before this time unless a message arrives.
    Wait(Time),
    /// It is over.
    Stop,
}

impl Engine {
    /// Takes in what arrived, lets time pass, makes some decisions and hands out work. It never waits, so
    /// whoever drives it decides where: a thread of its own ([`run_on_thread`](Self::run_on_thread)) or a
    /// task among others ([`run`](Self::run)).
    pub(crate) fn turn(&mut self) -> Turn {
        if self.take_messages() == Flow::Stop {
            return Turn::Stop;
        }
        let now = self.clock.now();
        self.scheduler.tick(now);
        self.hand_out(None, now);
        if self.may_decide() {
            self.decide();
        }
        self.tell_laps();
        self.observer.settled(&self.scheduler, self.clock.now());
        self.sweep_names();
        match self.has_work() || !self.inbox.is_empty() {
            true => Turn::Again,
            false => Turn::Wait(self.wake_up()),
        }
    }

    /// Works on a thread of its own until it is told to stop. Extenders are waited for here.
    pub(crate) fn run_on_thread(mut self, runtime: &Handle) {
        loop {
            match self.turn() {
                Turn::Again => {}
                Turn::Wait(until) => runtime.block_on(self.wait(until)),
                Turn::Stop => return,
            }
        }
    }

    /// Works as a task until it is told to stop.
    pub(crate) async fn run(mut self) {
        loop {
            match self.turn() {
                Turn::Again => tokio::task::yield_now().await,
                Turn::Wait(until) => self.wait(until).await,
                Turn::Stop => return,
            }
        }
    }

    /// Waits for a message, or until this time.
    async fn wait(&mut self, until: Time) {
        let env = self.clock.0.clone();
        if let Ok(message) = timeout_at(&*env, until, self.inbox.recv()).await {
            // Nobody is left who could say anything.
            self.next = Some(message.unwrap_or(Message::Stop));
        }
    }

    /// Forgets names of things that are gone.
    fn sweep_names(&mut self) {
        if !self.scheduler.has_many_names() {
            return;
        }
        let State {
            records,
            notes,
            awaited,
            ..
        } = &self.state;
        self.scheduler.sweep_names(|marks| {
            records.mark_names(marks);
            notes.mark_names(marks);
            awaited.mark_names(marks);
        });
    }

    fn tell_laps(&mut self) {
        self.scheduler.swap_laps(&mut self.state.laps);
        self.observer.took(&self.state.laps, &self.scheduler);
    }

    /// Whether pods may be tried at all: everything is known, and nobody else leads.
    fn may_decide(&self) -> bool {
        self.state.synced.len() == Kind::ALL.len() && self.guard.may_act()
    }

    /// Whether there is something to try right now.
    fn has_work(&self) -> bool {
        self.scheduler.queue().can_pop() && !self.state.is_full() && self.may_decide()
    }

    /// Takes in some of what arrived.
    fn take_messages(&mut self) -> Flow {
        for _ in 0..MESSAGES_PER_ROUND {
            let message = match self.next.take() {
                Some(message) => Ok(message),
                None => self.inbox.try_recv(),
            };
            match message {
                Ok(Message::Stop) | Err(TryRecvError::Disconnected) => return Flow::Stop,
                Ok(message) => self.take(message),
                Err(TryRecvError::Empty) => break,
            }
        }
        Flow::GoOn
    }

    /// Until when nothing happens unless somebody says something.
    fn wake_up(&self) -> Time {
        let latest = self.clock.now() + WAIT_MAX;
        let next = self.scheduler.next_tick();
        next.map_or(latest, |next| next.min(latest))
    }

    /// Tries some pods.
    fn decide(&mut self) {
        for _ in 0..ATTEMPTS_PER_ROUND {
            if self.state.is_full() {
                break;
            }
            let start = self.clock.now();
            let tried =
                self.scheduler
                    .schedule_one_extended(start, &mut self.rng, &mut self.extenders);
            let Some(pod) = tried else {
                break;
            };
            let took = self.clock.now() - start;
            self.hand_out(Some((&pod, took)), start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Sym;

    #[test]
    fn pods_that_wait_for_volumes_stand_in_nobodys_way() {
        let mut state = State::default();
        let begin = |state: &mut State, name: String| {
            let uid: Arc<str> = name.into();
            let now = Time::default();
            state.bindings.insert(uid.clone(), (now, now));
            uid
        };
        for i in 0..BINDINGS_MAX {
            let uid = begin(&mut state, format!("waits-{i}"));
            let key = (Sym::EMPTY, Sym::EMPTY);
            state.awaited.begin(&uid, key, Sym::EMPTY, &[]);
        }
        assert!(state.is_full(), "nothing is written yet");
        for i in 0..BINDINGS_MAX {
            let (answer, _) = tokio::sync::oneshot::channel();
            state.awaited.wait(&format!("waits-{i}"), answer);
        }
        assert!(!state.is_full());
        for i in 0..BINDINGS_MAX {
            assert!(!state.is_full());
            begin(&mut state, format!("plain-{i}"));
        }
        assert!(state.is_full());
        for i in 0..BINDINGS_MAX {
            state.awaited.end(&format!("waits-{i}"));
        }
        assert_eq!(state.awaited.len(), 0);
    }
}
