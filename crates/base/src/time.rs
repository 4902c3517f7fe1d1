//! Points in time and spans, as data.

use std::fmt;
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
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// From whole seconds since the epoch.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SECOND))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(NANOS_PER_MILLI)
    }

    /// How much later than another point this is; nothing if it is not.
    pub const fn since(self, earlier: Self) -> std::time::Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        std::time::Duration::from_nanos(match nanos < 0 {
            true => 0,
            false => nanos.unsigned_abs(),
        })
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

impl fmt::Display for Duration {
    /// As Go writes it: `1h2m3s`, `1.5s`, `250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let second = NANOS_PER_SECOND.unsigned_abs();
        let decimal = |whole: u64, rest: u64, width: usize| {
            let fraction = format!("{rest:0width$}");
            match fraction.trim_end_matches('0') {
                "" => whole.to_string(),
                fraction => format!("{whole}.{fraction}"),
            }
        };
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{sign}{nanos}ns"),
            1_000..1_000_000 => write!(f, "{sign}{}µs", decimal(nanos / 1_000, nanos % 1_000, 3)),
            1_000_000..1_000_000_000 => {
                write!(
                    f,
                    "{sign}{}ms",
                    decimal(nanos / 1_000_000, nanos % 1_000_000, 6)
                )
            }
            _ => {
                let (minutes, rest) = (nanos / (60 * second), nanos % (60 * second));
                let seconds = decimal(rest / second, rest % second, 9);
                match (minutes / 60, minutes % 60) {
                    (0, 0) => write!(f, "{sign}{seconds}s"),
                    (0, minutes) => write!(f, "{sign}{minutes}m{seconds}s"),
                    (hours, minutes) => write!(f, "{sign}{hours}h{minutes}m{seconds}s"),
                }
            }
        }
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add<std::time::Duration> for Time {
    type Output = Self;
    fn add(self, span: std::time::Duration) -> Self {
        let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<std::time::Duration> for Time {
    type Output = Self;
    fn sub(self, span: std::time::Duration) -> Self {
        let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(nanos))
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

    #[test]
    fn durations_read_as_in_go() {
        for (nanos, text) in [
            (0, "0s"),
            (15, "15ns"),
            (1_500, "1.5µs"),
            (250_000_000, "250ms"),
            (10_000_000_000, "10s"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (900_000_000_000, "15m0s"),
            (3_723_000_000_000, "1h2m3s"),
            (-1_000_000_000, "-1s"),
        ] {
            assert_eq!(Duration(nanos).to_string(), text);
        }
    }
}
