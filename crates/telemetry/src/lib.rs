//! What a running scheduler tells about itself: metrics, health, and the ports that serve them.
//!
//! - [`registry`]: counters, gauges and histograms that are counted without locks, and their text
//!   form as Prometheus reads it.
//! - [`SchedulerMetrics`]: kube-scheduler's metrics, under its names, labels and buckets.
//! - [`GaugeValues`]: what is counted when somebody asks, not when it happens.
//! - [`PodTable`]: the series that exist per pod.
//! - [`Health`]: `/healthz`, `/livez` and `/readyz`.
//! - [`Logs`]: one line per event.
//! - [`Ports`]: which request is answered with what, and who may ask.
//!
//! Nothing here knows a Kubernetes client: who a caller is and what he may do is asked through
//! [`Gate`], and the scheduler is asked through [`Source`].

mod gauge_values;
mod health;
mod logs;
mod pods;
mod ports;
mod process;
mod reasons;
mod registered;
pub mod registry;
mod scheduler;

pub use gauge_values::{GaugeValues, PendingPods, Utilization};
pub use health::{Check, Health};
pub use logs::{LogFormat, Logs};
pub use pods::{Phase, PodRow, PodTable, Resources};
pub use ports::{
    AccessRequest, Answer, BoxFuture, Caller, DecisionAnswer, Gate, Identity, OPEN_PATHS, Ports,
    Reader, Refusal, Source,
};
pub use scheduler::{AttemptResult, SchedulerMetrics, own_metric_names};
