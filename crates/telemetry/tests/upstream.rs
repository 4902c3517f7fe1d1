//! The metrics against those that a kube-scheduler v1.36.4 served (`data/`).

use stowplan_telemetry::SchedulerMetrics;
use stowplan_telemetry::registry::{Kind, go_float};

/// Metrics of ways to work that are not ours, none of them STABLE or BETA: there is nothing to
/// count.
const ABSENT: [&str; 3] = [
    "scheduler_batch_cache_flushed_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
];

fn bounds(kind: Kind) -> Vec<String> {
    let Kind::Histogram {
        start,
        factor,
        count,
    } = kind
    else {
        return Vec::new();
    };
    let bounds = std::iter::successors(Some(start), |bound| Some(bound * factor));
    let bounds = bounds.take(count).chain([f64::INFINITY]);
    bounds.map(go_float).collect()
}

#[test]
fn names_types_labels_buckets_and_stability_are_upstreams() {
    let upstream = include_str!("data/kube-scheduler-metrics.json");
    let upstream: Vec<serde_json::Value> = serde_json::from_str(upstream).unwrap();
    assert!(upstream.len() > 20);
    let ours = SchedulerMetrics::default().descs();
    for theirs in upstream {
        let name = theirs["name"].as_str().unwrap();
        let Some(ours) = ours.iter().find(|desc| desc.name == name) else {
            assert!(ABSENT.contains(&name), "{name} is missing");
            assert_eq!(theirs["stability"], "ALPHA", "{name}");
            continue;
        };
        assert!(!ABSENT.contains(&name), "{name} is there");
        assert_eq!(theirs["type"], ours.kind.as_str(), "{name}");
        assert_eq!(theirs["stability"], ours.stability.as_str(), "{name}");
        // A metric that had no series told no labels.
        assert_eq!(theirs["labels"], serde_json::json!(ours.labels), "{name}");
        assert_eq!(
            theirs["buckets"],
            serde_json::json!(bounds(ours.kind)),
            "{name}"
        );
    }
}

#[test]
fn labels_are_in_order_and_names_are_used_once() {
    let descs = SchedulerMetrics::default().descs();
    for desc in &descs {
        let is_bucket = desc.name.ends_with("_bucket");
        assert!(is_bucket || desc.labels.is_sorted(), "{}", desc.name);
    }
    assert!(descs.windows(2).all(|pair| pair[0].name < pair[1].name));
}
