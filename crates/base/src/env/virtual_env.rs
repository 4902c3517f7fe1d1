//! A clock that jumps.

use super::{Env, Sleep};
use crate::{Rng, Time};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// An environment whose time stands still while anybody has something to do, and jumps to the next timer
/// when nobody has ([`advance`](Self::advance), which whoever runs the tasks calls). Its randomness is
/// seeded.
#[derive(Clone)]
pub struct Virtual(Arc<Mutex<State>>);

struct State {
    now: Time,
    rng: Rng,
    /// Who waits until when, in the order of time; who came first, first.
    timers: BTreeMap<(Time, u64), Waker>,
    /// Counts the timers that there were.
    count: u64,
}

impl Virtual {
    /// An environment that is determined by its start and its seed.
    pub fn new(start: Time, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            now: start,
            rng: Rng::new(seed),
            timers: BTreeMap::new(),
            count: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves to the next timer and wakes all that wait for that time. Says whether there was any.
    pub fn advance(&self) -> bool {
        let mut state = self.state();
        let Some((&(at, _), _)) = state.timers.first_key_value() else {
            return false;
        };
        state.now = state.now.max(at);
        let mut due = Vec::new();
        while let Some(timer) = state.timers.first_entry()
            && timer.key().0 <= at
        {
            due.push(timer.remove());
        }
        drop(state);
        due.into_iter().for_each(Waker::wake);
        true
    }
}

impl Env for Virtual {
    fn now(&self) -> Time {
        self.state().now
    }

    fn monotonic(&self) -> Time {
        self.state().now
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        Box::pin(Timer {
            env: self.clone(),
            at,
            place: None,
        })
    }

    fn random(&self) -> u64 {
        self.state().rng.next_u64()
    }
}

/// A wait for a time.
struct Timer {
    env: Virtual,
    at: Time,
    /// Its number, once somebody waits.
    place: Option<u64>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.at;
        let mut state = self.env.state();
        if state.now >= at {
            return Poll::Ready(());
        }
        let place = self.place.unwrap_or_else(|| {
            state.count += 1;
            state.count
        });
        state.timers.insert((at, place), cx.waker().clone());
        drop(state);
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.env.state().timers.remove(&(self.at, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::time::Duration;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn time_jumps_to_the_next_timer_that_somebody_waits_for() {
        let start = Time::from_secs(1_000);
        let env = Virtual::new(start, 7);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut poll = |sleep: &mut Sleep| sleep.as_mut().poll(&mut context);
        let spans = [3_u64, 1, 1, 2].map(Duration::from_secs);
        let mut sleeps = spans.map(|span| env.sleep(span));
        assert!(!env.advance(), "nobody waits yet");
        assert!(sleeps.iter_mut().all(|sleep| poll(sleep).is_pending()));
        assert!(env.advance());
        assert_eq!(env.now(), start + Duration::from_secs(1));
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        let [three, one, other, two] = &mut sleeps;
        assert!(poll(one).is_ready() && poll(other).is_ready());
        assert!(poll(two).is_pending() && poll(three).is_pending());
        // A wait that is given up is no reason to move.
        *two = Box::pin(std::future::ready(()));
        assert!(env.advance());
        assert_eq!(env.now(), start + Duration::from_secs(3));
        assert!(poll(three).is_ready());
        assert!(!env.advance());
    }

    #[test]
    fn one_seed_one_sequence() {
        let uids = |seed| {
            let env = Virtual::new(Time::default(), seed);
            [env.uid(), env.uid()]
        };
        assert_eq!(uids(1), uids(1));
        assert_ne!(uids(1), uids(2));
        assert_ne!(uids(1)[0], uids(1)[1]);
    }
}
