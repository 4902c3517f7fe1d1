//! Points in time and spans, as data.

use std::ops::{Add, Sub};

/// A point in time, in nanoseconds since the Unix epoch. Clocks live outside; this is a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(i64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(i64);

const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

impl Time {
    /// The latest point that can be told.
    pub const MAX: Self = Self(i64::MAX);

    /// From nanoseconds since the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * NANOS_PER_MILLI)
    }

    /// From whole seconds since the epoch.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(NANOS_PER_MILLI)
    }

    /// This point without the part below a second.
    pub const fn truncate_to_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(NANOS_PER_SECOND))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SECOND))
    }

    /// From milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_to_the_second_on_both_sides_of_the_epoch() {
        assert_eq!(
            Time::from_millis(1725).truncate_to_second(),
            Time::from_secs(1)
        );
        assert_eq!(
            Time::from_millis(-1).truncate_to_second(),
            Time::from_secs(-1)
        );
        assert_eq!(Time::from_secs(3).truncate_to_second(), Time::from_secs(3));
    }
}
