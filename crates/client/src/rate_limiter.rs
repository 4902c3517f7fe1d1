//! How fast requests may be sent: `clientConnection.qps` and `burst`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Time};

/// A bucket of tokens, refilled at a steady rate. client-go's `flowcontrol.RateLimiter`.
pub struct RateLimiter {
    env: Arc<dyn Env>,
    /// The time between two requests; `None` if there is no limit.
    gap: Option<Duration>,
    /// How far requests may be ahead of their time.
    ahead: Duration,
    /// When the next request is due if all come at the steady rate.
    due: Mutex<Option<Time>>,
}

impl RateLimiter {
    /// So many requests per second, and so many at once; no limit if `qps` is not above 0.
    pub fn new(env: Arc<dyn Env>, qps: f32, burst: i32) -> Self {
        let gap = (qps > 0.0).then(|| Duration::from_secs_f64(1.0 / f64::from(qps)));
        let extra = u32::try_from(burst.saturating_sub(1)).unwrap_or(0);
        Self {
            env,
            gap,
            ahead: gap.unwrap_or_default().saturating_mul(extra),
            due: Mutex::new(None),
        }
    }

    /// Waits for one's turn.
    pub async fn wait(&self) {
        if let Some(turn) = self.turn(self.env.monotonic()) {
            self.env.sleep_until(turn).await;
        }
    }

    /// Takes one's turn, and says how long it is until then.
    pub fn reserve(&self) -> Duration {
        let now = self.env.monotonic();
        self.turn(now).map_or(Duration::ZERO, |at| at.since(now))
    }

    /// When the next request may be sent; `None` for at once.
    fn turn(&self, now: Time) -> Option<Time> {
        let gap = self.gap?;
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let at = due.map_or(now, |due| due.max(now));
        *due = Some(at + gap);
        let turn = at - self.ahead;
        (turn > now).then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Virtual;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_steady_rate() {
        let env = Arc::new(Virtual::new(Time::from_secs(100), 0));
        let limiter = RateLimiter::new(env.clone(), 10.0, 3);
        let now = env.monotonic();
        let turns: Vec<_> = (0..5).map(|_| limiter.turn(now)).collect();
        assert_eq!(&turns[..3], [None, None, None]);
        let after = |ms| Some(now + Duration::from_millis(ms));
        assert_eq!(&turns[3..], [after(100), after(200)]);
        assert_eq!(limiter.reserve(), Duration::from_millis(300));
        // After a rest the whole burst is there again.
        let later = now + Duration::from_secs(9);
        assert!((0..3).all(|_| limiter.turn(later).is_none()));
        assert!(limiter.turn(later).is_some());
        assert_eq!(RateLimiter::new(env, -1.0, 0).turn(now), None);
    }
}
