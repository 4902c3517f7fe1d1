//! What is kept of a pod for its own series.

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Quantity, amounts};
use stowplan_bridge::resources::{PodResources, RequestOptions};
use stowplan_telemetry::{Phase, PodRow, PodTable, Resources};

/// Takes in a pod as it is now.
pub(crate) fn upsert(table: &PodTable, pod: &Pod) {
    let (Some(namespace), Some(name)) = (&pod.metadata.namespace, &pod.metadata.name) else {
        return;
    };
    let spec = pod.spec.as_ref();
    let text = |text: Option<&String>| -> Arc<str> { text.map_or("", |text| text).into() };
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let row = PodRow {
        uid: pod.metadata.uid.as_deref().unwrap_or_default().into(),
        node: text(spec.and_then(|spec| spec.node_name.as_ref())),
        scheduler: text(spec.and_then(|spec| spec.scheduler_name.as_ref())),
        priority: spec.and_then(|spec| spec.priority),
        phase: Phase::parse(phase.unwrap_or_default()),
        resources: Arc::new(Resources {
            requests: requests(pod),
            limits: limits(pod),
        }),
    };
    table.upsert(namespace, name, row);
}

fn requests(pod: &Pod) -> Vec<(Box<str>, f64)> {
    let Ok(resources) = PodResources::of(pod) else {
        return Vec::new();
    };
    let requests = resources.requests(RequestOptions::default()).into_iter();
    requests
        .map(|(name, amount)| (name.into(), units(amount)))
        .collect()
}

type Amounts<'a> = BTreeMap<&'a str, f64>;

/// Upstream's `PodLimits` (`component-helpers/resource/helpers.go`).
fn limits(pod: &Pod) -> Vec<(Box<str>, f64)> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let is_sidecar = |container: &Container| container.restart_policy.as_deref() == Some("Always");
    let init = spec.init_containers.iter().flatten();
    let containers = amounts::of_containers(
        spec.containers.iter().map(of_container),
        init.map(|container| (of_container(container), is_sidecar(container))),
    );
    let pod_level = spec.resources.as_ref().and_then(|r| r.limits.as_ref());
    let overhead = parse(spec.overhead.as_ref());
    let limits = amounts::limits_of_pod(containers, &parse(pod_level), &overhead).into_iter();
    limits.map(|(name, amount)| (name.into(), amount)).collect()
}

fn of_container(container: &Container) -> Amounts<'_> {
    let resources = container.resources.as_ref();
    parse(resources.and_then(|resources| resources.limits.as_ref()))
}

fn parse(list: Option<&BTreeMap<String, Text>>) -> Amounts<'_> {
    let pairs = list.into_iter().flatten();
    pairs
        .filter_map(|(name, Text(text))| Some((&**name, units(text.parse().ok()?))))
        .collect()
}

/// An amount in whole units, with fractions as long as it is not huge.
fn units(amount: Quantity) -> f64 {
    let whole = amount.value();
    match whole.checked_mul(1_000) {
        Some(_) => amount.milli_value() as f64 / 1_000.0,
        None => whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(spec: Value, requests_expected: &[(&str, f64)], limits_expected: &[(&str, f64)]) {
        let pod: Pod = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        let owned = |pairs: &[(&str, f64)]| -> Vec<(Box<str>, f64)> {
            pairs.iter().map(|(name, n)| ((*name).into(), *n)).collect()
        };
        assert_eq!(requests(&pod), owned(requests_expected));
        assert_eq!(limits(&pod), owned(limits_expected));
    }

    #[test]
    fn requests_and_limits_are_upstreams() {
        let container = |limits: Value| json!({"name": "c", "resources": {"limits": limits}});
        let sidecar = json!({"name": "s", "restartPolicy": "Always",
            "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}});
        let init = json!({"name": "i", "resources": {"limits": {"cpu": "5", "memory": "1Ki"}}});
        check(
            json!({"containers": [container(json!({"cpu": "2"})), container(json!({"cpu": "500m"}))],
                   "initContainers": [sidecar, init], "overhead": {"cpu": "10m", "memory": "1"}}),
            &[("cpu", 0.11), ("memory", 1.0)],
            &[("cpu", 6.01), ("memory", 1025.0)],
        );
        check(
            json!({"containers": [container(json!({"example.com/gpu": "2"}))],
                   "resources": {"limits": {"cpu": "3"}}}),
            &[],
            &[("cpu", 3.0), ("example.com/gpu", 2.0)],
        );
        // No limit is still none with overhead, and neither is one of 0.
        check(
            json!({"containers": [container(json!({"cpu": "0"}))],
                   "overhead": {"cpu": "10m", "memory": "1"}}),
            &[("cpu", 0.01), ("memory", 1.0)],
            &[("cpu", 0.0)],
        );
    }
}
