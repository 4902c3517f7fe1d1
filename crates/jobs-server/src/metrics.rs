//! What the job server counts, as Prometheus reads it.

use crate::fwp::Counters;
use std::sync::Arc;
use stowplan_base::Time;
use stowplan_jobs::Machine;
use stowplan_telemetry::registry::{Counter, Desc, Family, Gauge, Kind, Registry, Stability, Text};

const fn desc(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Desc {
    Desc {
        name,
        kind,
        stability: Stability::Alpha,
        labels,
        help,
    }
}

/// Metrics of a job server; they are measured twice a second.
pub struct Metrics {
    registry: Registry,
    depth: Arc<Family<Gauge>>,
    latency: Arc<Family<Gauge>>,
    jobs: Arc<Family<Gauge>>,
    workers: Arc<Gauge>,
    connections: Arc<Gauge>,
    log: Arc<Gauge>,
    counters: [Arc<Counter>; 8],
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let gauge = Kind::Gauge;
        let depth = desc(
            "stowplan_jobs_queue_depth",
            gauge,
            &["queue"],
            "Jobs that wait in a queue.",
        );
        let latency = desc(
            "stowplan_jobs_queue_age_seconds",
            gauge,
            &["queue"],
            "How long the oldest job of a queue waits.",
        );
        let jobs = desc("stowplan_jobs", gauge, &["state"], "Jobs by state.");
        let names = [
            ("stowplan_jobs_pushed_total", "Jobs that were accepted."),
            ("stowplan_jobs_fetched_total", "Jobs that workers got."),
            (
                "stowplan_jobs_processed_total",
                "Runs that ended, well or not.",
            ),
            ("stowplan_jobs_failed_total", "Runs that failed."),
            (
                "stowplan_jobs_reclaimed_total",
                "Jobs whose worker went away.",
            ),
            (
                "stowplan_jobs_fenced_total",
                "Answers of workers whose lease was over.",
            ),
            ("stowplan_jobs_commands_total", "Commands of clients."),
            (
                "stowplan_jobs_log_syncs_total",
                "Times that the log was made durable.",
            ),
        ];
        Self {
            depth: registry.family(depth),
            latency: registry.family(latency),
            jobs: registry.family(jobs),
            workers: registry.single(desc(
                "stowplan_jobs_workers",
                gauge,
                &[],
                "Workers that are there.",
            )),
            connections: registry.single(desc(
                "stowplan_jobs_connections",
                gauge,
                &[],
                "Open connections.",
            )),
            log: registry.single(desc(
                "stowplan_jobs_log_bytes",
                gauge,
                &[],
                "The length of the log.",
            )),
            counters: names
                .map(|(name, help)| registry.single(desc(name, Kind::Counter, &[], help))),
            registry,
        }
    }

    pub(crate) fn measure(
        &self,
        machine: &Machine,
        counters: &Counters,
        log_bytes: u64,
        now: Time,
    ) {
        self.depth.clear();
        self.latency.clear();
        for queue in machine.queues(now) {
            self.depth.with(&[&queue.name]).set(queue.size as f64);
            self.latency
                .with(&[&queue.name])
                .set(queue.latency.as_secs_f64());
        }
        let totals = machine.totals();
        for (state, count) in [
            ("queued", totals.queued),
            ("scheduled", totals.scheduled),
            ("working", totals.working),
            ("retries", totals.retries),
            ("dead", totals.dead),
        ] {
            self.jobs.with(&[state]).set(count as f64);
        }
        self.workers.set(totals.workers as f64);
        self.connections.set(counters.connections as f64);
        self.log.set(log_bytes as f64);
        let counted = [
            counters.pushed,
            counters.fetched,
            totals.processed,
            totals.failures,
            totals.reclaimed,
            totals.fenced,
            counters.commands,
            counters.syncs,
        ];
        for (counter, count) in self.counters.iter().zip(counted) {
            counter.raise_to(count);
        }
    }

    /// All of them, as Prometheus reads them.
    pub fn text(&self) -> String {
        let mut text = Text::default();
        self.registry.write(&mut text);
        text.into_string()
    }
}
