//! How many replicas a metric asks for. Upstream: `replica_calculator.go`, `metrics/utilization.go`.

use super::metrics::{Sample, Samples};
use super::requests::requests;
use crate::common::{is_deleting, is_pod_ready, name, pod_condition, pod_phase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How far a ratio may be from 1 without anything to be done about it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tolerances {
    pub(super) scale_down: f64,
    pub(super) scale_up: f64,
}

impl Tolerances {
    fn is_within(self, ratio: f64) -> bool {
        (1.0 - self.scale_down) <= ratio && ratio <= (1.0 + self.scale_up)
    }
}

/// What is known when replicas are counted.
pub(super) struct Calculator<'a> {
    /// The pods that the target's selector selects.
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) now: Timestamp,
    pub(super) tolerances: Tolerances,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`
    pub(super) cpu_initialization: SignedDuration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`
    pub(super) readiness_delay: SignedDuration,
}

/// What came of a percentage of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Utilization {
    pub(super) replicas: i32,
    /// In percent of what pods request.
    pub(super) percent: i32,
    /// In thousandths, on average.
    pub(super) value: i64,
}

/// What metrics are measured by.
enum Measure<'a> {
    /// Percent of what each pod requests.
    Percent(i32, &'a BTreeMap<String, i64>),
    /// As much for each pod, in thousandths.
    Value(i64),
}

impl Measure<'_> {
    /// The ratio of usage to target, and the usage: percent of requests (0 for values), and on average.
    fn ratio(&self, samples: &Samples) -> Result<(f64, i32, i64), String> {
        match *self {
            Self::Percent(target, requests) => utilization(samples, requests, target),
            Self::Value(target) => {
                let (ratio, usage) = usage(samples, target);
                Ok((ratio, 0, usage))
            }
        }
    }

    /// What a pod without a sample is taken to use when there seems to be too little to do for all.
    fn assumed(&self, pod: &str) -> i64 {
        match *self {
            Self::Percent(target, requests) => {
                let request = requests.get(pod).copied().unwrap_or_default();
                request.saturating_mul(i64::from(target.max(100))) / 100
            }
            Self::Value(target) => target,
        }
    }
}

impl Calculator<'_> {
    /// By a percentage of what pods request. Upstream's `GetResourceReplicas`.
    pub(super) fn by_utilization(
        &self,
        samples: Samples,
        current: i32,
        target: i32,
        resource: &str,
        container: Option<&str>,
    ) -> Result<Utilization, String> {
        let groups = self.grouped(&samples, resource)?;
        let samples = groups.counted(samples)?;
        let requests = requests(self.pods, container, resource)?;
        self.by_measure(
            &Measure::Percent(target, &requests),
            samples,
            &groups,
            current,
        )
    }

    /// By an average amount. Upstream's `calcPlainMetricReplicas`.
    pub(super) fn by_average(
        &self,
        samples: Samples,
        current: i32,
        target: i64,
        resource: &str,
    ) -> Result<(i32, i64), String> {
        let groups = self.grouped(&samples, resource)?;
        let samples = groups.counted(samples)?;
        let found = self.by_measure(&Measure::Value(target), samples, &groups, current)?;
        Ok((found.replicas, found.value))
    }

    fn by_measure(
        &self,
        measure: &Measure<'_>,
        mut samples: Samples,
        groups: &Groups,
        current: i32,
    ) -> Result<Utilization, String> {
        let (ratio, percent, value) = measure.ratio(&samples)?;
        let found = |replicas| Utilization {
            replicas,
            percent,
            value,
        };
        let counts_unready = !groups.unready.is_empty() && ratio > 1.0;
        if !counts_unready && groups.missing.is_empty() {
            // Too small a change is none.
            return Ok(found(match self.tolerances.is_within(ratio) {
                true => current,
                false => ceil(ratio * groups.ready as f64),
            }));
        }
        for pod in &groups.missing {
            if ratio < 1.0 {
                samples.insert(pod.clone(), Sample::assumed(measure.assumed(pod)));
            } else if ratio > 1.0 {
                samples.insert(pod.clone(), Sample::assumed(0));
            }
        }
        if counts_unready {
            for pod in &groups.unready {
                samples.insert(pod.clone(), Sample::assumed(0));
            }
        }
        let (after, _, _) = measure.ratio(&samples)?;
        let turned = (ratio < 1.0 && after > 1.0) || (ratio > 1.0 && after < 1.0);
        if self.tolerances.is_within(after) || turned {
            return Ok(found(current));
        }
        let replicas = ceil(after * samples.len() as f64);
        // That more or fewer pods count must not turn the direction.
        let turned = (after < 1.0 && replicas > current) || (after > 1.0 && replicas < current);
        Ok(found(if turned { current } else { replicas }))
    }

    /// By the value of one thing, in proportion to the pods that are ready. Upstream's
    /// `getUsageRatioReplicaCount`.
    pub(super) fn by_value(&self, usage: i64, target: i64, current: i32) -> Result<i32, String> {
        let ratio = usage as f64 / target as f64;
        if current == 0 {
            return Ok(ceil(ratio));
        }
        if self.tolerances.is_within(ratio) {
            return Ok(current);
        }
        if self.pods.is_empty() {
            return Err(format!("unable to calculate ready pods: {NO_PODS}"));
        }
        let is_ready = |pod: &&Arc<Pod>| pod_phase(pod) == "Running" && is_pod_ready(pod);
        let ready = self.pods.iter().filter(is_ready).count();
        Ok(ceil(ratio * ready as f64))
    }

    /// By the value of one thing, shared among all replicas. Upstream's `GetObjectPerPodMetricReplicas`.
    pub(super) fn by_share(&self, usage: i64, target: i64, status_replicas: i32) -> (i32, i64) {
        let replicas = f64::from(status_replicas);
        let ratio = usage as f64 / (target as f64 * replicas);
        let wanted = match self.tolerances.is_within(ratio) {
            true => status_replicas,
            false => ceil(usage as f64 / target as f64),
        };
        let share = match usage {
            i64::MAX => usage,
            usage => (usage as f64 / replicas).ceil() as i64,
        };
        (wanted, share)
    }

    fn grouped(&self, samples: &Samples, resource: &str) -> Result<Groups, String> {
        match self.pods.is_empty() {
            true => Err(NO_PODS.to_owned()),
            false => Ok(self.groups(samples, resource)),
        }
    }

    /// Which pods count, and how. Upstream's `groupPods`.
    fn groups(&self, samples: &Samples, resource: &str) -> Groups {
        let mut groups = Groups::default();
        for pod in self.pods {
            let name = name(&**pod);
            if is_deleting(&**pod) || pod_phase(pod) == "Failed" {
                groups.ignored.insert(name.to_owned());
            } else if pod_phase(pod) == "Pending" {
                groups.unready.insert(name.to_owned());
            } else if let Some(sample) = samples.get(name) {
                match resource == "cpu" && self.is_unready(pod, sample) {
                    true => drop(groups.unready.insert(name.to_owned())),
                    false => groups.ready += 1,
                }
            } else {
                groups.missing.insert(name.to_owned());
            }
        }
        groups
    }

    /// Whether a sample of cpu says nothing yet: the pod is starting up.
    fn is_unready(&self, pod: &Pod, sample: &Sample) -> bool {
        let started = pod
            .status
            .as_ref()
            .and_then(|status| status.start_time.as_ref());
        let (Some(ready), Some(started)) = (pod_condition(pod, "Ready"), started) else {
            return true;
        };
        let after = |at: Timestamp, span| at.checked_add(span).unwrap_or(Timestamp::MAX);
        let changed = ready.last_transition_time.as_ref();
        let changed = changed.map_or(Timestamp::MIN, |at| at.0);
        let is_false = ready.status == "False";
        match after(started.0, self.cpu_initialization) > self.now {
            // No window was measured since it became ready.
            true => is_false || sample.at < after(changed, sample.window),
            // It has never been ready.
            false => is_false && after(started.0, self.readiness_delay) > changed,
        }
    }
}

const NO_PODS: &str = "no pods returned by selector while calculating replica count";

/// Names of pods by how they count.
#[derive(Default, Debug)]
struct Groups {
    ready: usize,
    unready: BTreeSet<String>,
    missing: BTreeSet<String>,
    ignored: BTreeSet<String>,
}

impl Groups {
    /// The samples that count.
    fn counted(&self, mut samples: Samples) -> Result<Samples, String> {
        samples.retain(|pod, _| !self.ignored.contains(pod) && !self.unready.contains(pod));
        match samples.is_empty() {
            true => {
                Err("did not receive metrics for targeted pods (pods might be unready)".to_owned())
            }
            false => Ok(samples),
        }
    }
}

/// Upstream's `GetResourceUtilizationRatio`.
fn utilization(
    samples: &Samples,
    requests: &BTreeMap<String, i64>,
    target: i32,
) -> Result<(f64, i32, i64), String> {
    let (mut used, mut requested, mut count) = (0_i64, 0_i64, 0_i64);
    for (pod, sample) in samples {
        if let Some(request) = requests.get(pod) {
            used = used.saturating_add(sample.value);
            requested = requested.saturating_add(*request);
            count += 1;
        }
    }
    if requested == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let percent = i128::from(used) * 100 / i128::from(requested);
    let percent = i32::try_from(percent).unwrap_or(i32::MAX);
    Ok((
        f64::from(percent) / f64::from(target),
        percent,
        used / count,
    ))
}

/// Upstream's `GetMetricUsageRatio`.
fn usage(samples: &Samples, target: i64) -> (f64, i64) {
    let sum = samples
        .values()
        .fold(0_i64, |sum, sample| sum.saturating_add(sample.value));
    let usage = sum / i64::try_from(samples.len().max(1)).unwrap_or(i64::MAX);
    (usage as f64 / target as f64, usage)
}

/// The next whole number; the greatest that there is, if it is greater.
fn ceil(number: f64) -> i32 {
    number.ceil() as i32
}
