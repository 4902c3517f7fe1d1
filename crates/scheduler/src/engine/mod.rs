//! The engine thread: it alone owns the [`Scheduler`], and it never waits for the API.

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
use crate::extenders::Asked;
use crate::fence::Fence;
use crate::message::Message;
use crate::observer::{Observer, Steps};
use awaited::Awaited;
pub(crate) use decision::Decision;
use notes::Notes;
use records::Records;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;
use stowplan_base::{Rng, Time};
use stowplan_engine::meter::Lap;
use stowplan_engine::model::Kind;
use stowplan_engine::scheduler::{Effect, Scheduler};
use tokio::sync::mpsc;

/// How many messages are taken in at a time.
const MESSAGES_PER_ROUND: usize = 1024;

/// How many pods are tried before messages are looked at again.
const ATTEMPTS_PER_ROUND: usize = 32;

/// How many bindings may be on their way; more pods are not tried before some of them are done. Those
/// that wait for volumes are not meant: a provisioner that is broken must not stop everybody.
const BINDINGS_MAX: usize = 4096;

/// How long to wait at most. Nothing depends on it; a clock that was set is noticed by then.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// All that the thread owns.
pub(crate) struct Engine {
    pub(crate) scheduler: Scheduler,
    pub(crate) rng: Rng,
    pub(crate) extenders: Asked,
    pub(crate) clock: Clock,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) work: mpsc::UnboundedSender<Work>,
    pub(crate) fence: Arc<dyn Fence>,
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

impl Engine {
    /// Works until it is told to stop.
    pub(crate) fn run(mut self) {
        while self.listen() == Flow::GoOn {
            let now = self.clock.now();
            self.scheduler.tick(now);
            self.hand_out(None, now);
            if self.may_decide() {
                self.decide();
            }
            self.tell_laps();
            self.observer.settled(&self.scheduler, self.clock.now());
            if self.scheduler.has_many_names() {
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
        }
    }

    fn tell_laps(&mut self) {
        self.scheduler.swap_laps(&mut self.state.laps);
        self.observer.took(&self.state.laps, &self.scheduler);
    }

    /// Whether pods may be tried at all: everything is known, and nobody else leads.
    fn may_decide(&self) -> bool {
        self.state.synced.len() == crate::watch::KINDS && self.fence.may_act()
    }

    /// Whether there is something to try right now.
    fn has_work(&self) -> bool {
        self.scheduler.queue().can_pop() && !self.state.is_full() && self.may_decide()
    }

    /// Takes in what arrived; waits for it if there is nothing else to do.
    fn listen(&mut self) -> Flow {
        let mut taken = 0;
        if !self.has_work() {
            match self.inbox.recv_timeout(self.wait()) {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return Flow::Stop,
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => return Flow::GoOn,
            }
            taken += 1;
        }
        while taken < MESSAGES_PER_ROUND {
            match self.inbox.try_recv() {
                Ok(Message::Stop) | Err(TryRecvError::Disconnected) => return Flow::Stop,
                Ok(message) => self.take(message),
                Err(TryRecvError::Empty) => break,
            }
            taken += 1;
        }
        Flow::GoOn
    }

    /// How long nothing happens unless somebody says something.
    fn wait(&self) -> Duration {
        let Some(next) = self.scheduler.next_tick() else {
            return WAIT_MAX;
        };
        let nanos = next.as_nanos().saturating_sub(self.clock.now().as_nanos());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)).min(WAIT_MAX)
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
