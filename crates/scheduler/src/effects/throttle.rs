//! How fast requests may be sent: `clientConnection.qps` and `burst`.

use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// A bucket of tokens, refilled at a steady rate. client-go's `flowcontrol.RateLimiter`.
pub(super) struct Throttle {
    /// The time between two requests; `None` if there is no limit.
    gap: Option<Duration>,
    /// How far requests may be ahead of their time.
    ahead: Duration,
    /// When the next request is due if all come at the steady rate.
    due: Mutex<Option<Instant>>,
}

impl Throttle {
    /// So many requests per second, and so many at once; no limit if `qps` is not above 0.
    pub(super) fn new(qps: f32, burst: i32) -> Self {
        let gap = (qps > 0.0).then(|| Duration::from_secs_f64(1.0 / f64::from(qps)));
        let extra = u32::try_from(burst.saturating_sub(1)).unwrap_or(0);
        Self {
            gap,
            ahead: gap.unwrap_or_default().saturating_mul(extra),
            due: Mutex::new(None),
        }
    }

    /// Waits for one's turn.
    pub(super) async fn wait(&self) {
        if let Some(turn) = self.turn(Instant::now()) {
            tokio::time::sleep_until(turn).await;
        }
    }

    /// When the next request may be sent; `None` for at once.
    fn turn(&self, now: Instant) -> Option<Instant> {
        let gap = self.gap?;
        let mut due = self.due.lock().unwrap_or_else(|lock| lock.into_inner());
        let at = due.map_or(now, |due| due.max(now));
        *due = Some(at + gap);
        let turn = at.checked_sub(self.ahead).unwrap_or(now);
        (turn > now).then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_steady_rate() {
        let throttle = Throttle::new(10.0, 3);
        let now = Instant::now();
        let turns: Vec<_> = (0..5).map(|_| throttle.turn(now)).collect();
        assert_eq!(&turns[..3], [None, None, None]);
        let after = |ms| Some(now + Duration::from_millis(ms));
        assert_eq!(&turns[3..], [after(100), after(200)]);
        // After a rest the whole burst is there again.
        let later = now + Duration::from_secs(9);
        assert!((0..3).all(|_| throttle.turn(later).is_none()));
        assert!(throttle.turn(later).is_some());
        assert_eq!(Throttle::new(-1.0, 0).turn(now), None);
    }
}
