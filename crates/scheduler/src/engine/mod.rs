//! The engine at work: it alone owns the [`Scheduler`], and it never waits for the API.

mod decision;
mod decisions;
mod intake;
mod notes;
mod outgoing;
mod records;

use crate::clock::Clock;
use crate::effects::Work;
use crate::extenders::HttpExtenders;
use crate::message::Message;
use crate::observer::{Observer, Steps};
pub(crate) use decision::Decision;
use notes::Notes;
use records::Records;
use std::collections::{BTreeSet, HashMap};
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
/// that wait at PreBind are not meant: a provisioner that is broken must not stop everybody.
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
    pub(crate) state: State,
}

/// What is known beside the scheduler's own state.
#[derive(Default)]
pub(crate) struct State {
    /// The kinds of which all objects are known.
    synced: BTreeSet<Kind>,
    notes: Notes,
    /// The pods that are being bound, by uid.
    bindings: HashMap<Arc<str>, Progress>,
    /// Since when pods are being evicted for another, by its uid.
    preemptions: HashMap<Arc<str>, Time>,
    effects: Vec<Effect>,
    laps: Vec<Lap>,
    /// What was decided lately.
    records: Records,
    /// Until when there is no time for whole tournaments.
    rests_until: Time,
}

/// A pod that is being bound.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// When its attempt began.
    start: Time,
    /// When it was decided.
    decided: Time,
    /// What the binding took so far.
    steps: Steps,
}

/// Whether as many bindings are on their way as may be; those that wait for something at PreBind
/// stand in nobody's way.
fn is_full(bindings: usize, waiting: usize) -> bool {
    bindings.saturating_sub(waiting) >= BINDINGS_MAX
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
        let State { records, notes, .. } = &self.state;
        self.scheduler.sweep_names(|marks| {
            records.mark_names(marks);
            notes.mark_names(marks);
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

    fn is_full(&self) -> bool {
        let waiting = self.scheduler.waiting_at_pre_bind();
        is_full(self.state.bindings.len(), waiting)
    }

    /// Whether there is something to try right now.
    fn has_work(&self) -> bool {
        self.scheduler.queue().can_pop() && !self.is_full() && self.may_decide()
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
            if self.is_full() {
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

    #[test]
    fn pods_that_wait_at_pre_bind_stand_in_nobodys_way() {
        assert!(is_full(BINDINGS_MAX, 0));
        assert!(!is_full(BINDINGS_MAX, 1));
        assert!(!is_full(2 * BINDINGS_MAX - 1, BINDINGS_MAX));
        assert!(is_full(2 * BINDINGS_MAX, BINDINGS_MAX));
    }
}
