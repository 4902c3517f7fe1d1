//! Scales workloads so that their metrics stay near a target.
//!
//! Upstream: `pkg/controller/podautoscaler`.
//!
//! ```text
//! sync ──▶ scale of the target ──▶ metrics ──▶ replicas for each metric ──▶ limits ──▶ new scale ──▶ status
//! ```
//!
//! Scales and metrics are in no store: each look at an autoscaler reads them ([`Plan::read`]). An
//! autoscaler is looked at once per period, whatever happens.

mod calculator;
mod compute;
mod conditions;
mod judge;
mod limits;
mod look;
mod memory;
mod metrics;
mod requests;
mod scaling;
#[cfg(test)]
mod tests;

use crate::common::Selector;
use crate::{Controller, Cx, Delta, Key, Plan, Watches};
use jiff::SignedDuration;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use look::Look;
use memory::Memory;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often autoscalers are looked at, and how they judge. Upstream's flags and defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct PodAutoscalerOptions {
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period: Duration,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: Duration,
    /// `--horizontal-pod-autoscaler-tolerance`.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: Duration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: Duration,
    /// `--concurrent-horizontal-pod-autoscaler-syncs`.
    pub workers: usize,
}

impl Default for PodAutoscalerOptions {
    fn default() -> Self {
        Self {
            sync_period: Duration::from_secs(15),
            downscale_stabilization: Duration::from_secs(5 * 60),
            tolerance: 0.1,
            cpu_initialization_period: Duration::from_secs(5 * 60),
            initial_readiness_delay: Duration::from_secs(30),
            workers: 5,
        }
    }
}

/// A span as times are reckoned with.
fn signed(span: Duration) -> SignedDuration {
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}

/// The horizontal-pod-autoscaler-controller.
pub struct PodAutoscalers(Arc<Shared>);

/// What all looks at autoscalers share.
struct Shared {
    options: PodAutoscalerOptions,
    known: Mutex<Known>,
}

/// What is remembered of autoscalers.
#[derive(Default)]
struct Known {
    memories: BTreeMap<Key, Memory>,
    /// Which pods they scale, as far as they know.
    selectors: BTreeMap<Key, Selector>,
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is not known yet which pods a new autoscaler scales.
    fn begin(&self, key: &Key) {
        let selectors = &mut self.known().selectors;
        selectors
            .entry(key.clone())
            .or_insert_with(|| Selector::new(None));
    }
}

impl PodAutoscalers {
    /// With these flags.
    pub fn new(options: PodAutoscalerOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            known: Mutex::default(),
        }))
    }
}

impl Controller for PodAutoscalers {
    fn watch(&self, watches: &mut Watches) {
        let period = self.0.options.sync_period;
        // As upstream, a change waits for the period to pass.
        watches.on::<HorizontalPodAutoscaler>(move |_, delta, keys| {
            let key = Key::of(&**delta.object());
            match delta {
                Delta::Deleted(_) => keys.add(key),
                Delta::Added(_) | Delta::Updated(..) => keys.add_after(key, period),
            }
        });
        watches.reads::<Pod>();
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let found = cx
            .cluster
            .get::<HorizontalPodAutoscaler>(&key.namespace, &key.name);
        let Some(autoscaler) = found else {
            let mut known = self.0.known();
            known.memories.remove(key);
            known.selectors.remove(key);
            return Plan::nothing();
        };
        let plan = Look::new(self.0.clone(), key.clone(), &autoscaler).begin(cx);
        plan.requeue_after(self.0.options.sync_period)
    }

    fn component(&self) -> Option<&'static str> {
        Some("horizontal-pod-autoscaler")
    }

    fn workers(&self) -> usize {
        self.0.options.workers
    }
}
