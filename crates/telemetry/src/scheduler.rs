//! kube-scheduler's metrics, and some that it lacks.
//!
//! Names, labels, buckets, help and stability are those of upstream's
//! `pkg/scheduler/metrics/metrics.go` (v1.36.4). What is missing there begins with `stowplan_`, but
//! for `scheduler_preemption_victims_total`, which guides ask for.

use crate::gauge_values::GaugeValues;
use crate::process;
use crate::reasons::reasons_of;
use crate::registered;
use crate::registry::Stability::{Alpha, Beta, Stable};
use crate::registry::{Counter, Desc, Family, Gauge, Histogram, Kind, Registry, Stability, Text};
use std::sync::Arc;

/// At most so many different reasons are told apart; the rest is `other`.
const REASONS: usize = 100;
/// The label value for what is beyond [`REASONS`].
const OTHER: &str = "other";

const fn exponential(start: f64, factor: f64, count: usize) -> Kind {
    Kind::Histogram {
        start,
        factor,
        count,
    }
}

const fn desc(
    stability: Stability,
    kind: Kind,
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Desc {
    Desc {
        name,
        kind,
        stability,
        labels,
        help,
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptResult {
    /// The pod is bound.
    Scheduled,
    /// It fits nowhere.
    Unschedulable,
    /// Something broke.
    Error,
}

impl AttemptResult {
    /// As the label `result` names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

/// Says of each metric once what it is: the field, its type, its description.
macro_rules! metrics {
    (@type family $value:ident) => { Arc<Family<$value>> };
    (@type single $value:ident) => { Arc<$value> };
    ($($field:ident: $shape:ident $value:ident = $desc:expr;)*) => {
        /// The metrics of one scheduler. Values are counted where things happen, but for those of a
        /// [`GaugeValues`].
        pub struct SchedulerMetrics {
            registry: Registry,
            $($field: metrics!(@type $shape $value),)*
        }

        impl Default for SchedulerMetrics {
            fn default() -> Self {
                let mut registry = Registry::default();
                Self {
                    $($field: registry.$shape($desc),)*
                    registry,
                }
            }
        }
    };
}

metrics! {
    schedule_attempts: family Counter = desc(
        Stable,
        Kind::Counter,
        "scheduler_schedule_attempts_total",
        &["profile", "result"],
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    );
    attempt_duration: family Histogram = desc(
        Stable,
        exponential(0.001, 2.0, 15),
        "scheduler_scheduling_attempt_duration_seconds",
        &["profile", "result"],
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    );
    algorithm_duration: single Histogram = desc(
        Alpha,
        exponential(0.001, 2.0, 15),
        "scheduler_scheduling_algorithm_duration_seconds",
        &[],
        "Scheduling algorithm latency in seconds",
    );
    event_handling_duration: family Histogram = desc(
        Alpha,
        exponential(0.0001, 2.0, 12),
        "scheduler_event_handling_duration_seconds",
        &["event"],
        "Event handling latency in seconds.",
    );
    preemption_victims: single Histogram = desc(
        Stable,
        exponential(1.0, 2.0, 7),
        "scheduler_preemption_victims",
        &[],
        "Number of selected preemption victims",
    );
    preemption_victims_total: single Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_preemption_victims_total",
        &[],
        "Number of pods chosen to be evicted so that others find room.",
    );
    preemption_attempts: single Counter = desc(
        Stable,
        Kind::Counter,
        "scheduler_preemption_attempts_total",
        &[],
        "Total preemption attempts in the cluster till now",
    );
    pending_pods: family Gauge = desc(
        Stable,
        Kind::Gauge,
        "scheduler_pending_pods",
        &["queue"],
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
    );
    inflight_events: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "scheduler_inflight_events",
        &["event"],
        "Number of events currently tracked in the scheduling queue.",
    );
    goroutines: family Gauge = desc(
        Beta,
        Kind::Gauge,
        "scheduler_goroutines",
        &["operation"],
        "Number of running goroutines split by the work they do such as binding.",
    );
    sli_duration: family Histogram = desc(
        Beta,
        exponential(0.01, 2.0, 20),
        "scheduler_pod_scheduling_sli_duration_seconds",
        &["attempts"],
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.",
    );
    scheduling_attempts: single Histogram = desc(
        Stable,
        exponential(1.0, 2.0, 5),
        "scheduler_pod_scheduling_attempts",
        &[],
        "Number of attempts to successfully schedule a pod.",
    );
    scheduled_after_flush: single Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_pod_scheduled_after_flush_total",
        &[],
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
    );
    extension_point_duration: family Histogram = desc(
        Stable,
        exponential(0.0001, 2.0, 12),
        "scheduler_framework_extension_point_duration_seconds",
        &["extension_point", "profile", "status"],
        "Latency for running all plugins of a specific extension point.",
    );
    plugin_duration: family Histogram = desc(
        Alpha,
        exponential(0.00001, 1.5, 20),
        "scheduler_plugin_execution_duration_seconds",
        &["extension_point", "plugin", "status"],
        "Duration for running a plugin at a specific extension point.",
    );
    permit_wait: family Histogram = desc(
        Beta,
        exponential(0.001, 2.0, 15),
        "scheduler_permit_wait_duration_seconds",
        &["result"],
        "Duration of waiting on permit.",
    );
    incoming: family Counter = desc(
        Stable,
        Kind::Counter,
        "scheduler_queue_incoming_pods_total",
        &["event", "queue"],
        "Number of pods added to scheduling queues by event and queue type.",
    );
    cache_size: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "scheduler_cache_size",
        &["type"],
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    );
    unschedulable_pods: family Gauge = desc(
        Beta,
        Kind::Gauge,
        "scheduler_unschedulable_pods",
        &["plugin", "profile"],
        "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
    );
    plugin_evaluations: family Counter = desc(
        Beta,
        Kind::Counter,
        "scheduler_plugin_evaluation_total",
        &["extension_point", "plugin", "profile"],
        "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).",
    );
    hint_duration: family Histogram = desc(
        Alpha,
        exponential(0.00001, 1.5, 20),
        "scheduler_queueing_hint_execution_duration_seconds",
        &["event", "hint", "plugin"],
        "Duration for running a queueing hint function of a plugin.",
    );
    batch_attempts: family Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_batch_attempts_total",
        &["profile", "result"],
        "Counts of results when we attempt to use batching.",
    );
    preemption_duration: family Histogram = desc(
        Alpha,
        exponential(0.01, 2.0, 20),
        "scheduler_preemption_goroutines_duration_seconds",
        &["result"],
        "Duration in seconds for running goroutines for the preemption.",
    );
    preemptions: family Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_preemption_goroutines_execution_total",
        &["result"],
        "Number of preemption goroutines executed.",
    );
    api_calls: family Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_async_api_call_execution_total",
        &["call_type", "result"],
        "Total number of API calls executed by the async dispatcher.",
    );
    api_call_duration: family Histogram = desc(
        Alpha,
        exponential(0.001, 2.0, 15),
        "scheduler_async_api_call_execution_duration_seconds",
        &["call_type", "result"],
        "Duration in seconds for executing API call in the async dispatcher.",
    );
    api_calls_pending: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "scheduler_pending_async_api_calls",
        &["call_type"],
        "Number of API calls currently pending in the async queue.",
    );
    volume_errors: family Counter = desc(
        Alpha,
        Kind::Counter,
        "scheduler_volume_scheduling_stage_error_total",
        &["operation"],
        "Volume scheduling stage error count",
    );
    leader: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "leader_election_master_status",
        &["name"],
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    );
    reasons: family Counter = desc(
        Alpha,
        Kind::Counter,
        "stowplan_unschedulable_attempts_total",
        &["profile", "reason"],
        "Number of attempts that found no node, by each reason that was given for at least one node.",
    );
    oldest_pending: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "stowplan_pending_pod_age_seconds_max",
        &["queue"],
        "For how long the oldest pod has been waiting, by the queue that it is in now.",
    );
    utilization: family Gauge = desc(
        Alpha,
        Kind::Gauge,
        "stowplan_node_request_utilization_bucket",
        &["resource", "le"],
        "Number of nodes whose pods request at most this share of what the node can allocate: a histogram of the present state.",
    );
    bindings: family Counter = desc(
        Alpha,
        Kind::Counter,
        "stowplan_bindings_total",
        &["code"],
        "Number of requests to bind a pod, by the HTTP status of the answer; 0 if there was none.",
    );
}

/// The names of all metrics that a scheduler can serve, those of `/metrics/resources` included.
pub fn own_metric_names() -> Vec<&'static str> {
    let descs = SchedulerMetrics::default().registry.descs();
    let mut names: Vec<_> = descs.iter().map(|desc| desc.name).collect();
    names.extend(registered::names());
    names.extend(process::NAMES);
    names.extend(crate::pods::NAMES);
    names.extend(crate::health::NAMES);
    names
}

impl SchedulerMetrics {
    /// What each metric is, by name.
    pub fn descs(&self) -> Vec<Desc> {
        self.registry.descs()
    }

    /// An attempt is over: a binding ended, or the pod went back to the queue.
    pub fn attempt_ended(&self, profile: &str, result: AttemptResult, seconds: f64) {
        let labels = [profile, result.as_str()];
        self.attempt_duration.with(&labels).observe(seconds);
        self.schedule_attempts.with(&labels).inc();
    }

    /// A node was chosen, or none was found, so long after the pop.
    pub fn decided(&self, seconds: f64) {
        self.algorithm_duration.observe(seconds);
    }

    /// A pod is bound, after so many attempts and so long after it entered the queue.
    pub fn pod_scheduled(&self, attempts: u32, seconds: Option<f64>, after_flush: bool) {
        self.scheduling_attempts.observe(f64::from(attempts));
        if let Some(seconds) = seconds {
            // Upstream's `getAttemptsLabel`: many attempts are told as one number.
            let label = match attempts {
                15.. => "15+",
                n => ATTEMPTS.get(n as usize).copied().unwrap_or("15+"),
            };
            self.sli_duration.with(&[label]).observe(seconds);
        }
        if after_flush {
            self.scheduled_after_flush.inc();
        }
    }

    /// An attempt ended with this message to the user: counts the reasons that it names.
    pub fn unschedulable(&self, profile: &str, message: &str) {
        for reason in reasons_of(message) {
            self.count_reason(profile, &reason);
        }
    }

    fn count_reason(&self, profile: &str, reason: &str) {
        let reason = match self.reasons.find(&[profile, reason]) {
            Some(counter) => return counter.inc(),
            None if self.reasons.len() < REASONS => reason,
            None => OTHER,
        };
        self.reasons.with(&[profile, reason]).inc();
    }

    /// All plugins of an extension point were run.
    pub fn extension_point(&self, point: &str, profile: &str, status: &str, seconds: f64) {
        let labels = [point, profile, status];
        self.extension_point_duration.with(&labels).observe(seconds);
    }

    /// A plugin was run at an extension point.
    pub fn plugin(&self, point: &str, plugin: &str, status: &str, seconds: f64) {
        let labels = [point, plugin, status];
        self.plugin_duration.with(&labels).observe(seconds);
    }

    /// A pod waited at Permit.
    pub fn permit_waited(&self, result: &str, seconds: f64) {
        self.permit_wait.with(&[result]).observe(seconds);
    }

    /// A change of an object was taken in.
    pub fn event_handled(&self, event: &str, seconds: f64) {
        self.event_handling_duration.with(&[event]).observe(seconds);
    }

    /// A plugin was asked whether a change helps a pod.
    pub fn hint_given(&self, event: &str, hint: &str, plugin: &str, seconds: f64) {
        let labels = [event, hint, plugin];
        self.hint_duration.with(&labels).observe(seconds);
    }

    /// Room was looked for by evicting others.
    pub fn preemption_attempted(&self) {
        self.preemption_attempts.inc();
    }

    /// So many pods are in the way of one, and so many of them are to be evicted: the others are on
    /// their way out already.
    pub fn preemption_chosen(&self, victims: usize, evicted: usize) {
        self.preemption_victims.observe(victims as f64);
        self.preemption_victims_total.add(evicted as u64);
    }

    /// The evictions for a pod are over.
    pub fn preemption_ended(&self, ok: bool, seconds: f64) {
        let result = [result(ok)];
        self.preemption_duration.with(&result).observe(seconds);
        self.preemptions.with(&result).inc();
    }

    /// So many more API calls, or fewer, wait for their turn or their answer.
    pub fn api_calls_pending(&self, call_type: &str, delta: f64) {
        self.api_calls_pending.with(&[call_type]).add(delta);
    }

    /// An API call was answered.
    pub fn api_call_ended(&self, call_type: &str, ok: bool, seconds: f64) {
        let labels = [call_type, result(ok)];
        self.api_calls.with(&labels).inc();
        self.api_call_duration.with(&labels).observe(seconds);
    }

    /// A binding was answered with this HTTP status; 0 if not at all.
    pub fn binding_answered(&self, code: u16) {
        let mut digits = [0; 5];
        self.bindings.with(&[decimal(code, &mut digits)]).inc();
    }

    /// A step of volume scheduling (`predicate`, `assume`, `bind`) failed.
    pub fn volume_stage_failed(&self, operation: &str) {
        self.volume_errors.with(&[operation]).inc();
    }

    /// Whether this process holds the lease.
    pub fn leading(&self, lease: &str, is_leader: bool) {
        let value = if is_leader { 1.0 } else { 0.0 };
        self.leader.with(&[lease]).set(value);
    }

    /// Takes in what was counted just now.
    pub fn sample(&self, gauge_values: &GaugeValues) {
        let [active, backoff, unschedulable, gated] = &gauge_values.pending;
        let queues = [
            ("active", active),
            ("backoff", backoff),
            ("unschedulable", unschedulable),
            ("gated", gated),
        ];
        for (queue, pods) in queues {
            self.pending_pods.with(&[queue]).set(pods.count as f64);
            self.oldest_pending.with(&[queue]).set(pods.oldest_seconds);
        }
        for (kind, n) in [
            ("nodes", gauge_values.nodes),
            ("pods", gauge_values.pods),
            ("assumed_pods", gauge_values.assumed_pods),
        ] {
            self.cache_size.with(&[kind]).set(n as f64);
        }
        let bindings = self.goroutines.with(&["binding"]);
        bindings.set(gauge_values.assumed_pods as f64);
        // The thread that does all of this counts itself only when it does none of it.
        for operation in IDLE {
            self.goroutines.with(&[operation]).set(0.0);
        }
        for (profile, used, none) in &gauge_values.reuse {
            for (result, n) in [("hint_used", used), ("no_hint", none)] {
                self.batch_attempts.with(&[profile, result]).raise_to(*n);
            }
        }
        // A plugin that rejects nobody any more stays at 0, as upstream's gauge does.
        self.unschedulable_pods.each(|gauge| gauge.set(0.0));
        for (plugin, profile, n) in &gauge_values.unschedulable {
            self.unschedulable_pods
                .with(&[plugin, profile])
                .set(*n as f64);
        }
        self.inflight_events.each(|gauge| gauge.set(0.0));
        for (event, n) in &gauge_values.in_flight {
            self.inflight_events.with(&[event]).set(*n as f64);
        }
        for (queue, event, n) in &gauge_values.incoming {
            self.incoming.with(&[event, queue]).raise_to(*n);
        }
        for (point, plugin, profile, n) in &gauge_values.evaluations {
            let labels = [*point, *plugin, profile.as_str()];
            self.plugin_evaluations.with(&labels).raise_to(*n);
        }
        // What no node has any more is full nowhere.
        self.utilization.each(|gauge| gauge.set(0.0));
        for utilization in &gauge_values.utilization {
            for (bound, nodes) in utilization.cumulative() {
                let gauge = self.utilization.with(&[&utilization.resource, bound]);
                gauge.set(nodes as f64);
            }
        }
    }

    /// All metrics, as Prometheus reads them, and those of the process.
    pub fn write(&self, text: &mut Text) {
        self.registry.write(text);
        registered::write(text, &self.registry.descs());
        process::write(text);
    }
}

/// Upstream's other operations that have goroutines of their own.
const IDLE: [&str; 5] = [
    "DefaultPreemption",
    "Filter",
    "InterPodAffinity",
    "PodTopologySpread",
    "Score",
];

const ATTEMPTS: [&str; 15] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
];

fn result(ok: bool) -> &'static str {
    if ok { "success" } else { "error" }
}

/// The number in decimal digits, without asking for memory.
fn decimal(mut n: u16, digits: &mut [u8; 5]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[at..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(metrics: &SchedulerMetrics) -> String {
        let mut text = Text::default();
        metrics.write(&mut text);
        text.into_string()
    }

    #[test]
    fn attempts_are_counted_by_result_and_profile() {
        let metrics = SchedulerMetrics::default();
        metrics.attempt_ended("default-scheduler", AttemptResult::Scheduled, 0.0005);
        metrics.attempt_ended("default-scheduler", AttemptResult::Unschedulable, 3.0);
        metrics.pod_scheduled(20, Some(1.0), true);
        metrics.binding_answered(409);
        metrics.binding_answered(0);
        let text = text_of(&metrics);
        for line in [
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1\n",
            "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"default-scheduler\",result=\"scheduled\",le=\"0.001\"} 1\n",
            "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"15+\"} 1\n",
            "scheduler_pod_scheduled_after_flush_total 1\n",
            "stowplan_bindings_total{code=\"409\"} 1\n",
            "stowplan_bindings_total{code=\"0\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_flood_of_reasons_is_cut_off() {
        let metrics = SchedulerMetrics::default();
        for n in 0..2 * REASONS {
            let message = format!("0/1 nodes are available: 1 reason {n}.");
            metrics.unschedulable("p", &message);
        }
        assert_eq!(metrics.reasons.len(), REASONS + 1);
        assert_eq!(metrics.reasons.with(&["p", OTHER]).get(), REASONS as u64);
    }
}
