//! The machine's own clock: the one place where it is read.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stowplan_base::{Env, Rng, Sleep, Time};
use tokio::time::Instant;

/// The time of day, for what has no environment: a line of a log.
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.unwrap_or_default().as_nanos();
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Nanoseconds since some moment, to measure how long computations take, even where time is virtual.
pub fn stopwatch_ns() -> u64 {
    static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Measures how long something takes, even where time is virtual.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Self {
        Self(stopwatch_ns())
    }

    /// How long ago that was.
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(stopwatch_ns() - self.0)
    }
}

/// Randomness that nobody can foresee.
pub(crate) fn fresh_rng() -> Rng {
    // The only source of entropy in std.
    let seed = RandomState::new().build_hasher().finish();
    let word = wall_clock().as_nanos().rotate_left(32).cast_unsigned();
    Rng::new(seed ^ word)
}

/// The machine's clock, tokio's timers, and randomness from the operating system's seed.
#[derive(Debug)]
pub struct System {
    rng: Mutex<Rng>,
    /// The time of day when it began, and the same moment by a clock that nobody sets.
    start: (Time, Instant),
}

impl System {
    /// Seeded anew.
    pub fn new() -> Self {
        Self::by(fresh_rng())
    }

    /// With the machine's clock, and randomness that a seed foresees.
    pub fn seeded(seed: u64) -> Self {
        Self::by(Rng::new(seed))
    }

    fn by(rng: Rng) -> Self {
        Self {
            rng: Mutex::new(rng),
            start: (wall_clock(), Instant::now()),
        }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for System {
    fn now(&self) -> Time {
        wall_clock()
    }

    fn monotonic(&self) -> Time {
        let (start, since) = self.start;
        start + since.elapsed()
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let (start, since) = self.start;
        // Nobody lives to see more than that.
        let span = at.since(start).min(Duration::from_secs(1 << 32));
        Box::pin(tokio::time::sleep_until(since + span))
    }

    fn random(&self) -> u64 {
        let rng = self.rng.lock();
        rng.unwrap_or_else(PoisonError::into_inner).next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Late, timeout};

    #[test]
    fn uids_differ() {
        let env = System::new();
        assert_ne!(env.uid(), env.uid());
        assert_ne!(env.uid(), System::new().uid());
    }

    #[tokio::test(start_paused = true)]
    async fn waits_end_when_their_time_has_come() {
        let env = System::new();
        let begin = env.monotonic();
        env.sleep(Duration::from_secs(5)).await;
        assert_eq!(env.monotonic().since(begin), Duration::from_secs(5));
        // What is over is not waited for.
        env.sleep_until(begin).await;
        let never = std::future::pending::<()>();
        assert_eq!(
            timeout(&env, Duration::from_secs(1), never).await,
            Err(Late)
        );
        assert_eq!(timeout(&env, Duration::ZERO, async { 1 }).await, Ok(1));
        assert_eq!(env.monotonic().since(begin), Duration::from_secs(6));
    }
}
