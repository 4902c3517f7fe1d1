//! A clock that runs faster or slower than the machine's.

use crate::system::{fresh_rng, wall_clock};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Rng, Sleep, Time};
use tokio::time::Instant;

/// An environment in which so many seconds pass per second of the machine: the time of day, deadlines and
/// waits alike. Its two clocks are one, which nobody sets.
#[derive(Debug)]
pub struct Scaled {
    rng: Mutex<Rng>,
    /// Its own time at the moment when it began.
    begin: Time,
    since: Instant,
    speed: f64,
}

impl Scaled {
    /// Begins at some time; `speed` must be above 0.
    pub fn new(begin: Time, speed: f64) -> Self {
        assert!(speed > 0.0 && speed.is_finite(), "time stands still");
        Self {
            rng: Mutex::new(fresh_rng()),
            begin,
            since: Instant::now(),
            speed,
        }
    }

    /// Begins at such a time that it does not overtake the machine's clock for so long. Clients that reckon
    /// ages by their own clock take what is from the future for invalid.
    pub fn behind(speed: f64, span: Duration) -> Self {
        Self::new(wall_clock() - span.mul_f64((speed - 1.0).max(0.0)), speed)
    }

    /// The time at which it began.
    pub fn begin(&self) -> Time {
        self.begin
    }
}

impl Env for Scaled {
    fn now(&self) -> Time {
        self.begin + self.since.elapsed().mul_f64(self.speed)
    }

    fn monotonic(&self) -> Time {
        self.now()
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        // Nobody lives to see more than that. Not a moment too early: who wakes looks at the clock.
        let span = at.since(self.begin).as_secs_f64() / self.speed;
        let span = Duration::from_secs_f64(span.min(4e9)) + Duration::from_nanos(1);
        Box::pin(tokio::time::sleep_until(self.since + span))
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

    const START: Time = Time::from_secs(1_800_000_000);

    #[tokio::test(start_paused = true)]
    async fn an_hour_passes_in_a_minute_by_every_clock() {
        let env = Scaled::new(START, 60.0);
        let begin = Instant::now();
        env.sleep(Duration::from_secs(3_600)).await;
        let took = begin.elapsed();
        let (least, most) = (Duration::from_secs(60), Duration::from_millis(60_010));
        assert!((least..most).contains(&took), "{took:?}");
        assert_eq!(env.now(), env.monotonic());
        let passed = env.now().since(START);
        assert!(passed >= Duration::from_secs(3_600), "{passed:?}");
        let never = std::future::pending::<()>();
        let waited = timeout(&env, Duration::from_secs(60), never);
        assert_eq!(waited.await, Err(Late));
        assert!(begin.elapsed() < Duration::from_secs(62));
    }

    #[tokio::test(start_paused = true)]
    async fn time_can_be_slow() {
        let env = Scaled::new(START, 0.5);
        let begin = Instant::now();
        env.sleep(Duration::from_secs(10)).await;
        assert!(begin.elapsed() >= Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn who_wakes_finds_that_his_time_has_come() {
        for speed in [0.3, 1.0, 7.0, 59.9, 100.0] {
            let env = Scaled::new(START, speed);
            for nanos in [1, 999, 1_000_001, 86_400_000_000_007] {
                let at = env.now() + Duration::from_nanos(nanos);
                env.sleep_until(at).await;
                assert!(env.now() >= at, "{speed} {nanos}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_begins_behind_and_catches_up() {
        let span = Duration::from_secs(3_600);
        let now = wall_clock();
        let behind = now.since(Scaled::behind(11.0, span).begin()).as_secs();
        assert!((35_990..=36_000).contains(&behind), "{behind}");
        for speed in [0.5, 1.0] {
            assert!(Scaled::behind(speed, span).begin() >= now);
        }
    }
}
