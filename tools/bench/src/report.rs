//! What a run came to.

use serde::{Deserialize, Serialize};

/// What a run of a workload came to: one line of JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The workload's name.
    pub workload: String,
    /// How many nodes there were.
    pub nodes: usize,
    /// The pods that were measured.
    pub pods: usize,
    /// Measured pods bound per second.
    pub decisions_per_s: Option<f64>,
    /// The median time per decision, in µs.
    pub p50_us: Option<f64>,
    /// The 99th percentile of it.
    pub p99_us: Option<f64>,
    /// The same on the plain path.
    pub plain_decisions_per_s: Option<f64>,
    /// How many times as many as on the plain path.
    pub ratio: Option<f64>,
    /// Allocations per decision.
    pub allocs_per_decision: Option<f64>,
    /// The most memory that the process held.
    pub peak_rss_mib: Option<f64>,
    /// How many operations of churn there were.
    pub churn_ops: usize,
    /// Measured pods that were bound.
    pub scheduled: usize,
    /// Measured pods that stayed pending.
    pub unschedulable: usize,
    /// Pods that were evicted.
    pub preempted: usize,
    /// Pods that came while others were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_pods: Option<usize>,
    /// Attempts to place them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_decisions: Option<usize>,
    /// Those of them that were bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_scheduled: Option<usize>,
    /// Attempts for them per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_decisions_per_s: Option<f64>,
}

impl Report {
    /// Sets the rate on the plain path, and the ratio with it.
    pub fn set_plain(&mut self, plain: Option<f64>) {
        self.plain_decisions_per_s = plain;
        self.ratio = match (self.decisions_per_s, plain) {
            (Some(fast), Some(plain)) => Some(fast / plain),
            _ => None,
        };
    }

    /// With as many digits as mean something.
    pub(crate) fn rounded(mut self) -> Self {
        let round = |value: &mut Option<f64>, digits: i32| {
            if let Some(value) = value {
                let unit = 10_f64.powi(digits);
                *value = (*value * unit).round() / unit;
            }
        };
        for (value, digits) in [
            (&mut self.decisions_per_s, 1),
            (&mut self.p50_us, 2),
            (&mut self.p99_us, 2),
            (&mut self.plain_decisions_per_s, 1),
            (&mut self.ratio, 2),
            (&mut self.allocs_per_decision, 3),
            (&mut self.peak_rss_mib, 1),
            (&mut self.background_decisions_per_s, 1),
        ] {
            round(value, digits);
        }
        self
    }
}
