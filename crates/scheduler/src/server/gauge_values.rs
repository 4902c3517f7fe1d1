//! Counting the scheduler, on the thread that owns it.

use std::collections::BTreeMap;
use stowplan_base::Time;
use stowplan_engine::Snapshot;
use stowplan_engine::model::ResourceId;
use stowplan_engine::queue::{InFlightEntry, QueuePart};
use stowplan_engine::scheduler::Scheduler;
use stowplan_telemetry::{GaugeValues, Utilization};

/// Counts everything that [`GaugeValues`] holds. Takes a time in proportion to nodes and waiting pods.
pub(crate) fn take(scheduler: &Scheduler, now: Time) -> GaugeValues {
    let cluster = scheduler.cluster();
    let mut gauge_values = GaugeValues {
        nodes: cluster.nodes().len(),
        pods: cluster.nodes().iter().map(|node| node.pods.len()).sum(),
        assumed_pods: scheduler.bindings().count(),
        utilization: utilization(cluster),
        ..GaugeValues::default()
    };
    count_waiting(scheduler, now, &mut gauge_values);
    let incoming = scheduler.queue().incoming().iter();
    gauge_values.incoming = incoming
        .map(|(part, cause, n)| (part.as_str(), cause.label(), n))
        .collect();
    let evaluations = scheduler.evaluations().into_iter();
    gauge_values.evaluations = evaluations
        .map(|(profile, point, plugin, n)| (point, plugin, profile.to_owned(), n))
        .collect();
    let reuse = scheduler.reuse();
    gauge_values.reuse = reuse
        .map(|(profile, used, none)| (profile.to_owned(), used, none))
        .collect();
    let mut in_flight: BTreeMap<String, u64> = BTreeMap::new();
    for entry in scheduler.queue().in_flight() {
        let event = match entry {
            InFlightEntry::Pod(_) => "PodPopped".to_owned(),
            InFlightEntry::Event(happening) => happening.event.label(),
        };
        *in_flight.entry(event).or_default() += 1;
    }
    gauge_values.in_flight = in_flight.into_iter().collect();
    gauge_values
}

fn count_waiting(scheduler: &Scheduler, now: Time, gauge_values: &mut GaugeValues) {
    let mut rejected: BTreeMap<(&'static str, &str), u64> = BTreeMap::new();
    for (place, queued) in scheduler.queue().waiting() {
        let part = match place {
            QueuePart::Active => 0,
            QueuePart::Backoff | QueuePart::ErrorBackoff => 1,
            QueuePart::Unschedulable => 2,
            QueuePart::Gated => 3,
        };
        // Who was never tried has waited since it came.
        let since = queued.initial_attempt.unwrap_or(queued.timestamp);
        let age = (now - since).as_nanos() as f64 / 1e9;
        if let Some(pending) = gauge_values.pending.get_mut(part) {
            pending.add(age.max(0.0));
        }
        let profile = scheduler.cluster().names.text(queued.pod.scheduler_name);
        for plugin in scheduler.profiles().names(queued.rejectors()) {
            *rejected.entry((plugin, profile)).or_default() += 1;
        }
    }
    gauge_values.unschedulable = rejected
        .into_iter()
        .map(|((plugin, profile), n)| (plugin, profile.to_owned(), n))
        .collect();
}

/// How full nodes are of cpu, memory and whatever else they offer.
fn utilization(cluster: &Snapshot) -> Vec<Utilization> {
    let mut all: BTreeMap<ResourceId, Utilization> = BTreeMap::new();
    for node in cluster.nodes() {
        for (resource, allocatable) in node.allocatable().iter() {
            let is_counted =
                resource.is_scalar() || [ResourceId::CPU, ResourceId::MEMORY].contains(&resource);
            if is_counted {
                let name = cluster.resource_names.name(resource);
                let name = || Utilization::new(cluster.names.text(name));
                let utilization = all.entry(resource).or_insert_with(name);
                utilization.add(node.requested.get(resource), allocatable);
            }
        }
    }
    all.into_values().collect()
}
