//! `metav1.Duration`: spans of time as Go writes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use stowplan_base::DurationError;
use stowplan_engine::framework::args::ArgValue;

/// `metav1.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Duration(stowplan_base::Duration);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(stowplan_base::Duration::ZERO);

    /// Whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(stowplan_base::Duration::from_secs(secs))
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0.as_nanos()
    }

    /// Milliseconds, rounded towards zero.
    pub const fn as_millis(self) -> i64 {
        self.as_nanos() / 1_000_000
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Duration> for ArgValue {
    fn from(value: Duration) -> Self {
        Self::Text(value.to_string())
    }
}
