//! The one clock.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use stowplan_base::Time;

/// Wall time that never goes back: the time of the start, and what passed since by a clock that
/// nobody sets.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Time,
    since: Instant,
}

/// Nanoseconds since some moment, to measure by.
pub fn nanos() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Clock {
    /// A clock that agrees with the system's for now.
    pub fn system() -> Self {
        let now = SystemTime::now();
        let nanos = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start: Time::from_nanos(i64::try_from(nanos.as_nanos()).unwrap_or(i64::MAX)),
            since: Instant::now(),
        }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let passed = i64::try_from(self.since.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.start + stowplan_base::Duration::from_nanos(passed)
    }
}
