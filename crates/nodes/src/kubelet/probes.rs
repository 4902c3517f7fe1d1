//! When probes have their results. They succeed, unless the pod says that they fail.
//!
//! A kubelet asks every period. Startup probes are first asked one period after the container started;
//! readiness as soon as the container has started up, because a container that is not ready is asked at
//! once; none before its initial delay (`prober/worker.go`).

use super::spec::{Role, Spec};
use crate::behaviour::fails_probe;
use k8s_openapi::api::core::v1::{Pod, Probe};
use stowplan_base::{Duration, Time};

/// The first question that is answered, at or after `from`, in steps of a period, and after the initial
/// delay, which counts from the start of the container.
pub(super) fn first(probe: &Probe, since: Time, from: Time) -> Time {
    let open = since + seconds(probe.initial_delay_seconds.unwrap_or(0));
    let period = period(probe).as_nanos();
    let missing = (open - from).as_nanos().max(0);
    let steps = missing / period + i64::from(missing % period != 0);
    from + Duration::from_nanos(steps.saturating_mul(period))
}

fn seconds(count: i32) -> Duration {
    Duration::from_secs(count.into())
}

pub(super) fn period(probe: &Probe) -> Duration {
    seconds(probe.period_seconds.unwrap_or(10).max(1))
}

/// After `count` answers of which `at` is the first.
fn nth(probe: &Probe, at: Time, count: Option<i32>, default: i32) -> Time {
    let more = i64::from(count.unwrap_or(default).max(1) - 1);
    at + Duration::from_nanos(period(probe).as_nanos().saturating_mul(more))
}

/// When a container that started at `since` has started up; `None` if its startup probe fails.
pub(crate) fn started_at(pod: &Pod, spec: &Spec<'_>, since: Time) -> Option<Time> {
    let Some(probe) = spec.container.and_then(|one| one.startup_probe.as_ref()) else {
        return Some(since);
    };
    if fails_probe(pod, spec.name, "startup") {
        return None;
    }
    let at = first(probe, since, since + period(probe));
    Some(nth(probe, at, probe.success_threshold, 1))
}

/// When it is ready; `None` if it never is.
pub(crate) fn ready_at(pod: &Pod, spec: &Spec<'_>, since: Time) -> Option<Time> {
    if !matches!(spec.role, Role::Main | Role::Sidecar) {
        return None;
    }
    let started = started_at(pod, spec, since)?;
    let Some(probe) = spec.container.and_then(|one| one.readiness_probe.as_ref()) else {
        return Some(started);
    };
    if fails_probe(pod, spec.name, "readiness") {
        return None;
    }
    let at = first(probe, since, started);
    Some(nth(probe, at, probe.success_threshold, 1))
}

/// A probe for which a container is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fatal {
    pub(crate) at: Time,
    /// `liveness` or `startup`.
    pub(crate) kind: &'static str,
    /// The grace period that the probe has of its own.
    pub(crate) grace_s: Option<i64>,
}

/// When a container is killed because a probe failed for long enough.
pub(crate) fn killed_at(pod: &Pod, spec: &Spec<'_>, since: Time) -> Option<Fatal> {
    let container = spec.container?;
    let fatal = |probe: &Probe, at, kind| Fatal {
        at: nth(probe, at, probe.failure_threshold, 3),
        kind,
        grace_s: probe.termination_grace_period_seconds,
    };
    if let Some(probe) = &container.startup_probe
        && fails_probe(pod, spec.name, "startup")
    {
        let at = first(probe, since, since + period(probe));
        return Some(fatal(probe, at, "startup"));
    }
    let probe = container.liveness_probe.as_ref()?;
    if !fails_probe(pod, spec.name, "liveness") {
        return None;
    }
    let started = started_at(pod, spec, since)?;
    let at = first(probe, since, started + period(probe));
    Some(fatal(probe, at, "liveness"))
}

#[cfg(test)]
mod tests {
    use super::super::spec::specs;
    use super::*;
    use crate::behaviour::FAIL_PROBES;
    use serde_json::{Value, json};

    /// Seconds until started, ready and killed.
    fn times(container: Value, fail: &str) -> [Option<i64>; 3] {
        let mut container = container;
        container["name"] = json!("c");
        let pod = json!({"metadata": {"annotations": {FAIL_PROBES: fail}}, "spec": {"containers": [container]}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let specs = specs(&pod);
        let since = Time::from_secs(100);
        let after = |at: Time| (at - since).as_nanos() / 1_000_000_000;
        [
            started_at(&pod, &specs[0], since).map(after),
            ready_at(&pod, &specs[0], since).map(after),
            killed_at(&pod, &specs[0], since).map(|fatal| after(fatal.at)),
        ]
    }

    #[test]
    fn results_come_after_delays_periods_and_thresholds() {
        let probe = |delay: i32, period: i32, success: i32| json!({"initialDelaySeconds": delay, "periodSeconds": period, "successThreshold": success, "failureThreshold": 3});
        let rows = [
            (json!({}), "", [Some(0), Some(0), None]),
            (
                json!({"readinessProbe": probe(0, 10, 1)}),
                "",
                [Some(0), Some(0), None],
            ),
            (
                json!({"readinessProbe": probe(5, 10, 1)}),
                "",
                [Some(0), Some(10), None],
            ),
            (
                json!({"readinessProbe": probe(5, 2, 3)}),
                "",
                [Some(0), Some(10), None],
            ),
            (
                json!({"startupProbe": probe(0, 5, 1)}),
                "",
                [Some(5), Some(5), None],
            ),
            (
                json!({"startupProbe": probe(12, 5, 1)}),
                "",
                [Some(15), Some(15), None],
            ),
            (
                json!({"startupProbe": probe(0, 5, 1), "readinessProbe": probe(6, 10, 2)}),
                "",
                [Some(5), Some(25), None],
            ),
            (
                json!({"readinessProbe": probe(0, 10, 1)}),
                "readiness",
                [Some(0), None, None],
            ),
            (
                json!({"livenessProbe": probe(0, 10, 1)}),
                "",
                [Some(0), Some(0), None],
            ),
            (
                json!({"livenessProbe": probe(0, 10, 1)}),
                "liveness",
                [Some(0), Some(0), Some(30)],
            ),
            (
                json!({"startupProbe": probe(0, 5, 1)}),
                "c/startup",
                [None, None, Some(15)],
            ),
        ];
        for (container, fail, expected) in rows {
            assert_eq!(
                times(container.clone(), fail),
                expected,
                "{container} {fail}"
            );
        }
    }
}
