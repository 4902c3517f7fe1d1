//! What a run came to.

use serde::{Deserialize, Serialize};

/// One line of JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) workload: String,
    pub(super) nodes: usize,
    /// The pods that were measured.
    pub(super) pods: usize,
    pub(super) decisions_per_s: Option<f64>,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) plain_decisions_per_s: Option<f64>,
    /// How many times as many as on the plain path.
    pub(super) ratio: Option<f64>,
    pub(super) allocs_per_decision: Option<f64>,
    pub(super) peak_rss_mib: Option<f64>,
    pub(super) churn_ops: usize,
    pub(super) scheduled: usize,
    pub(super) unschedulable: usize,
    pub(super) preempted: usize,
    /// Pods that came while others were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) background_pods: Option<usize>,
    /// Attempts to place them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) background_decisions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) background_scheduled: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) background_decisions_per_s: Option<f64>,
}

impl Report {
    pub(super) fn set_plain(&mut self, plain: Option<f64>) {
        self.plain_decisions_per_s = plain;
        self.ratio = match (self.decisions_per_s, plain) {
            (Some(fast), Some(plain)) => Some(fast / plain),
            _ => None,
        };
    }

    /// With as many digits as mean something.
    pub(super) fn rounded(mut self) -> Self {
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
