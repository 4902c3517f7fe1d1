//! A figure, and what it should be.

use serde::Serialize;
use std::time::Duration;

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    AtLeast(f64),
    Below(f64),
}

/// A figure: one line of JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub figure: &'static str,
    /// How much it is.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// How much it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Below what it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// The median of how long one operation took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The 99th percentile of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The server's time on a core per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_us: Option<f64>,
    /// The clients' time on a core per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_us: Option<f64>,
}

impl Figure {
    pub(super) fn new(figure: &'static str, value: f64, unit: &'static str) -> Self {
        Self {
            figure,
            value: rounded(value),
            unit,
            at_least: None,
            below: None,
            p50_ms: None,
            p99_ms: None,
            server_cpu_us: None,
            client_cpu_us: None,
        }
    }

    /// A time.
    pub(super) fn time(figure: &'static str, value: Duration) -> Self {
        Self::new(figure, millis(value), "ms")
    }

    pub(super) fn goal(mut self, goal: Goal) -> Self {
        match goal {
            Goal::AtLeast(value) => self.at_least = Some(value),
            Goal::Below(value) => self.below = Some(value),
        }
        self
    }

    /// With the times of the operations, which it sorts.
    pub(super) fn times(mut self, times: &mut [Duration]) -> Self {
        self.p50_ms = percentile(times, 50).map(millis).map(rounded);
        self.p99_ms = percentile(times, 99).map(millis).map(rounded);
        self
    }

    /// Whether it is what it should be.
    pub fn met(&self) -> Option<bool> {
        let at_least = self.at_least.map(|goal| self.value >= goal);
        at_least.or(self.below.map(|goal| self.value < goal))
    }

    fn goal_text(&self) -> String {
        match (self.at_least, self.below) {
            (Some(goal), _) => format!("at least {}", short(goal)),
            (None, Some(goal)) => format!("below {}", short(goal)),
            (None, None) => "-".to_owned(),
        }
    }

    /// The value, the goal, the times, the time on a core and the name, as they are shown.
    pub fn cells(&self) -> [String; 7] {
        let optional = |value: Option<f64>| value.map_or("-".to_owned(), short);
        [
            format!("{} {}", short(self.value), self.unit),
            self.goal_text(),
            optional(self.p50_ms),
            optional(self.p99_ms),
            optional(self.server_cpu_us),
            optional(self.client_cpu_us),
            self.figure.to_owned(),
        ]
    }
}

/// The time below which so many of a hundred are.
pub(super) fn percentile(times: &mut [Duration], percent: usize) -> Option<Duration> {
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    times.get((times.len() * percent / 100).min(last)).copied()
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Three digits that mean something.
pub(super) fn rounded(value: f64) -> f64 {
    let digits = match value.abs() {
        v if v >= 100.0 => 1.0,
        v if v >= 10.0 => 10.0,
        v if v >= 1.0 => 100.0,
        _ => 1000.0,
    };
    (value * digits).round() / digits
}

fn short(value: f64) -> String {
    rounded(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_or_not() {
        let figure = |value| Figure::new("x", value, "1/s");
        assert_eq!(figure(5.0).met(), None);
        assert_eq!(figure(5.0).goal(Goal::AtLeast(5.0)).met(), Some(true));
        assert_eq!(figure(4.9).goal(Goal::AtLeast(5.0)).met(), Some(false));
        assert_eq!(figure(5.0).goal(Goal::Below(5.0)).met(), Some(false));
    }

    #[test]
    fn percentiles_and_digits() {
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let figure = Figure::new("x", 1234.56, "1/s").times(&mut times);
        assert_eq!((figure.p50_ms, figure.p99_ms), (Some(51.0), Some(100.0)));
        assert_eq!(figure.value, 1235.0);
        assert_eq!([12.345, 1.2345, 0.01234].map(rounded), [12.3, 1.23, 0.012]);
        assert_eq!(percentile(&mut [], 50), None);
    }
}
