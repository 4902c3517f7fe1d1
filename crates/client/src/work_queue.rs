//! Keys to look at, each by one worker at a time.

use crate::rate_limiter::RateLimiter;
use futures::FutureExt;
use futures::future::{Either, join_all, select};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{Debug, Display};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Time};
use tokio::sync::Notify;

/// The first pause after a failure, and the longest: client-go's `DefaultTypedControllerRateLimiter`.
const PAUSE_FIRST: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(1_000);
/// How many failures may be tried again per second, and at once, whatever their keys.
const RETRIES_PER_SECOND: f32 = 10.0;
const RETRIES_AT_ONCE: i32 = 100;

/// A queue of keys. client-go's `workqueue.RateLimitingInterface`.
///
/// ```text
///            add                    get                    done
///  (absent) ----> dirty, queued ----------> processing ------------> (absent)
///                    ^                          | add
///                    |            done          v
///                    +---------------- dirty, processing
/// ```
///
/// A key that is added twice is looked at once; one that is added while somebody looks at it is looked at
/// again afterwards, never by two at a time.
pub struct WorkQueue<K> {
    env: Arc<dyn Env>,
    state: Mutex<State<K>>,
    /// Told when there may be something to do.
    changed: Notify,
    retries: RateLimiter,
    pause_first: Duration,
    pause_max: Duration,
}

struct State<K> {
    queue: VecDeque<K>,
    /// What has to be looked at: what is queued, and what was added while it is processed.
    dirty: BTreeSet<K>,
    processing: BTreeSet<K>,
    /// What is added later, in the order of time; who came first, first.
    later: BTreeMap<(Time, u64), K>,
    /// The earliest time at which a key is added.
    due: BTreeMap<K, (Time, u64)>,
    /// Counts what was put off.
    count: u64,
    failures: BTreeMap<K, u32>,
    /// When keys that must not be looked at too often were last taken.
    paced: BTreeMap<K, Option<Time>>,
    is_closed: bool,
}

impl<K: Clone + Ord + Debug> WorkQueue<K> {
    /// An empty queue.
    pub fn new(env: Arc<dyn Env>) -> Self {
        Self {
            retries: RateLimiter::new(env.clone(), RETRIES_PER_SECOND, RETRIES_AT_ONCE),
            env,
            state: Mutex::new(State {
                queue: VecDeque::new(),
                dirty: BTreeSet::new(),
                processing: BTreeSet::new(),
                later: BTreeMap::new(),
                due: BTreeMap::new(),
                count: 0,
                failures: BTreeMap::new(),
                paced: BTreeMap::new(),
                is_closed: false,
            }),
            changed: Notify::new(),
            pause_first: PAUSE_FIRST,
            pause_max: PAUSE_MAX,
        }
    }

    /// The longest pause after a failure is this.
    pub fn with_pause_max(mut self, pause_max: Duration) -> Self {
        self.pause_max = pause_max;
        self
    }

    /// The first pause after a failure is this, and the longest that.
    pub fn with_pauses(mut self, pause_first: Duration, pause_max: Duration) -> Self {
        self.pause_first = pause_first;
        self.pause_max = pause_max;
        self
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A key has to be looked at.
    pub fn add(&self, key: K) {
        if self.state().add(key) {
            self.changed.notify_one();
        }
    }

    /// A key has to be looked at after a while; at the earliest time if it is put off twice.
    pub fn add_after(&self, key: K, span: Duration) {
        if span.is_zero() {
            return self.add(key);
        }
        self.state().put_off(key, self.env.monotonic() + span);
        // Whoever waits may wait for something later.
        self.changed.notify_one();
    }

    /// A key has to be looked at: at once, unless that was done less than `pace` ago.
    pub fn add_paced(&self, key: K, pace: Duration) {
        let mut state = self.state();
        if pace.is_zero() {
            state.paced.remove(&key);
            drop(state);
            return self.add(key);
        }
        let taken = *state.paced.entry(key.clone()).or_default();
        drop(state);
        let left = taken.map(|taken| (taken + pace).since(self.env.monotonic()));
        self.add_after(key, left.unwrap_or_default());
    }

    /// A key that failed is tried again, the later the more often it failed.
    pub fn add_rate_limited(&self, key: K) {
        let failures = {
            let mut state = self.state();
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            *failures
        };
        let factor = 1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
        let pause = self.pause_first.saturating_mul(factor).min(self.pause_max);
        self.add_after(key, pause.max(self.retries.reserve()));
    }

    /// A key went well: its next failure is its first.
    pub fn forget(&self, key: &K) {
        self.state().failures.remove(key);
    }

    /// How often a key failed since it went well.
    pub fn failures(&self, key: &K) -> u32 {
        self.state().failures.get(key).copied().unwrap_or_default()
    }

    /// How many keys wait for somebody to look at them.
    pub fn len(&self) -> usize {
        self.state().queue.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next key; `None` once the queue is closed and empty. The caller says [`done`](Self::done) in the end.
    pub async fn get(&self) -> Option<K> {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let next = {
                let mut state = self.state();
                let now = self.env.monotonic();
                state.add_due(now);
                if let Some(key) = state.take(now) {
                    // Others may be needed for the rest.
                    if !state.queue.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some(key);
                }
                if state.is_closed {
                    return None;
                }
                state.later.first_key_value().map(|(&(at, _), _)| at)
            };
            match next {
                None => changed.await,
                Some(at) => match select(changed, self.env.sleep_until(at)).await {
                    Either::Left(_) | Either::Right(_) => {}
                },
            }
        }
    }

    /// Nobody looks at a key any more.
    pub fn done(&self, key: &K) {
        let mut state = self.state();
        state.processing.remove(key);
        if state.dirty.contains(key) {
            state.queue.push_back(key.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Takes no more keys; those that wait are still given out.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_waiters();
    }
}

impl<K: Clone + Ord> State<K> {
    /// Whether there is something new in the queue.
    fn add(&mut self, key: K) -> bool {
        if self.is_closed || !self.dirty.insert(key.clone()) {
            return false;
        }
        if self.processing.contains(&key) {
            return false;
        }
        self.queue.push_back(key);
        true
    }

    fn put_off(&mut self, key: K, at: Time) {
        if self.is_closed {
            return;
        }
        if let Some(&before) = self.due.get(&key) {
            if before.0 <= at {
                return;
            }
            self.later.remove(&before);
        }
        self.count += 1;
        let place = (at, self.count);
        self.due.insert(key.clone(), place);
        self.later.insert(place, key);
    }

    fn add_due(&mut self, now: Time) {
        while let Some(first) = self.later.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.due.remove(&key);
            self.add(key);
        }
    }

    fn take(&mut self, now: Time) -> Option<K> {
        let key = self.queue.pop_front()?;
        self.dirty.remove(&key);
        if let Some(taken) = self.paced.get_mut(&key) {
            *taken = Some(now);
        }
        self.processing.insert(key.clone());
        Some(key)
    }
}

/// Looks at keys until the queue is closed, as many at a time as there are workers. A key that fails is
/// tried again.
pub async fn run_workers<K, F, E>(queue: &WorkQueue<K>, workers: usize, reconcile: impl Fn(K) -> F)
where
    K: Clone + Ord + Debug,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let reconcile = &reconcile;
    let work = (0..workers).map(|_| async move {
        while let Some(key) = queue.get().await {
            match AssertUnwindSafe(reconcile(key.clone()))
                .catch_unwind()
                .await
            {
                Ok(Ok(())) => queue.forget(&key),
                Ok(Err(error)) => {
                    queue.add_rate_limited(key.clone());
                    // What fails once is mostly a conflict, and over by the next try. What fails for long is
                    // told ever more rarely.
                    let failures = queue.failures(&key);
                    match failures > 1 && failures.is_power_of_two() {
                        true => tracing::warn!(?key, %error, "it will be tried again"),
                        false => tracing::debug!(?key, %error, "it will be tried again"),
                    }
                }
                // The hook for panics has told of it.
                Err(_) => queue.add_rate_limited(key.clone()),
            }
            queue.done(&key);
        }
    });
    join_all(work).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_env::{Virtual, virtual_runtime};

    /// Runs on a virtual clock.
    fn run<F: Future>(test: impl FnOnce(Virtual, Arc<WorkQueue<&'static str>>) -> F) -> F::Output {
        let env = Virtual::new(Time::default(), 1);
        let runtime = virtual_runtime(&env).unwrap();
        let queue = Arc::new(WorkQueue::new(Arc::new(env.clone())));
        runtime.block_on(test(env, queue))
    }

    #[test]
    fn a_key_is_looked_at_once_and_again_if_it_changed_meanwhile() {
        run(async |_, queue| {
            queue.add("a");
            queue.add("a");
            queue.add("b");
            assert_eq!(queue.get().await, Some("a"));
            queue.add("a");
            assert_eq!(queue.get().await, Some("b"), "never two at a time");
            assert!(queue.is_empty());
            queue.done(&"a");
            assert_eq!(queue.get().await, Some("a"));
            queue.done(&"a");
            queue.done(&"b");
            queue.add("c");
            queue.close();
            queue.add("d");
            assert_eq!(queue.get().await, Some("c"));
            assert_eq!(queue.get().await, None);
        });
    }

    #[test]
    fn what_is_put_off_comes_at_the_earliest_of_its_times() {
        run(async |env, queue| {
            queue.add_after("a", Duration::from_secs(9));
            queue.add_after("b", Duration::from_secs(2));
            queue.add_after("a", Duration::from_secs(1));
            queue.add_after("a", Duration::from_secs(5));
            let seconds = |env: &Virtual| env.now().as_millis() / 1_000;
            assert_eq!((queue.get().await, seconds(&env)), (Some("a"), 1));
            assert_eq!((queue.get().await, seconds(&env)), (Some("b"), 2));
            queue.done(&"a");
            queue.close();
            assert_eq!((queue.get().await, seconds(&env)), (None, 2));
        });
    }

    #[test]
    fn a_paced_key_is_looked_at_at_once_and_then_no_sooner_than_its_pace() {
        run(async |env, queue| {
            let pace = Duration::from_millis(500);
            let millis = |env: &Virtual| env.now().as_millis();
            queue.add_paced("a", pace);
            assert_eq!((queue.get().await, millis(&env)), (Some("a"), 0));
            // Changes while it is looked at, and after.
            queue.add_paced("a", pace);
            queue.done(&"a");
            queue.add_paced("a", pace);
            assert!(queue.is_empty());
            assert_eq!((queue.get().await, millis(&env)), (Some("a"), 500));
            queue.done(&"a");
            env.sleep(Duration::from_secs(2)).await;
            queue.add_paced("a", pace);
            assert_eq!((queue.get().await, millis(&env)), (Some("a"), 2_500));
            queue.done(&"a");
            queue.add_paced("a", Duration::ZERO);
            assert_eq!((queue.get().await, millis(&env)), (Some("a"), 2_500));
        });
    }

    #[test]
    fn pauses_of_a_key_double_until_it_goes_well() {
        run(async |env, queue| {
            let mut pauses = Vec::new();
            for _ in 0..6 {
                let before = env.now();
                queue.add_rate_limited("a");
                queue.get().await;
                queue.done(&"a");
                pauses.push(env.now().since(before).as_millis());
            }
            assert_eq!(pauses, [5, 10, 20, 40, 80, 160]);
            assert_eq!(queue.failures(&"a"), 6);
            queue.forget(&"a");
            assert_eq!(queue.failures(&"a"), 0);
        });
    }

    #[test]
    fn retries_of_many_keys_are_spread_over_time() {
        let env = Virtual::new(Time::default(), 1);
        let runtime = virtual_runtime(&env).unwrap();
        let queue = WorkQueue::new(Arc::new(env.clone()));
        runtime.block_on(async {
            for key in 0..200 {
                queue.add_rate_limited(key);
            }
            for _ in 0..200 {
                queue.get().await;
            }
        });
        assert_eq!(env.now(), Time::from_secs(10));
    }

    #[test]
    fn workers_try_again_what_failed_or_panicked() {
        run(async |_, queue| {
            let tries = Mutex::new(0);
            queue.add("a");
            let reconcile = async |key| {
                assert_eq!(key, "a");
                let tried = {
                    let mut tries = tries.lock().unwrap();
                    *tries += 1;
                    *tries
                };
                match tried {
                    1 => Err("no"),
                    2 => panic!("as planned"),
                    _ => {
                        queue.close();
                        Ok(())
                    }
                }
            };
            run_workers(&queue, 2, reconcile).await;
            assert_eq!(*tries.lock().unwrap(), 3);
            assert_eq!(queue.failures(&"a"), 0);
        });
    }

    #[test]
    fn pauses_may_be_longer() {
        run(async |env, queue| {
            let queue = Arc::into_inner(queue).unwrap();
            let queue = queue.with_pauses(Duration::from_secs(1), Duration::from_secs(3));
            for at in [1, 3, 6, 9] {
                queue.add_rate_limited("a");
                assert_eq!(queue.get().await, Some("a"));
                queue.done(&"a");
                assert_eq!(env.now().as_millis() / 1_000, at);
            }
        });
    }
}
