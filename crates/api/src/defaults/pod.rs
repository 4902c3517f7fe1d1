//! Defaults of pods.
//!
//! Upstream: `SetDefaults_Pod` in `pkg/apis/core/v1/defaults.go`, `PrepareForCreate` in
//! `pkg/registry/core/pod/strategy.go`, the admission plugin DefaultTolerationSeconds.

use crate::resource_names::{allows_overcommit, is_huge_page, text_of};
use crate::resources::{PodResources, RequestOptions, is_supported_pod_level_resource};
use k8s_openapi::api::core::v1::{
    Container, Pod, PodAffinityTerm, PodSpec, PodStatus, ResourceRequirements, Toleration,
    TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

/// Defaults that hold for every pod, new or stored. Doing it twice changes nothing.
pub(super) fn pod(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    let scheduler = spec.scheduler_name.get_or_insert_default();
    if scheduler.is_empty() {
        "default-scheduler".clone_into(scheduler);
    }
    let host_network = spec.host_network == Some(true);
    for container in spec
        .containers
        .iter_mut()
        .chain(spec.init_containers.iter_mut().flatten())
    {
        container_defaults(container, host_network);
    }
    tolerations(spec);
    let status = pod.status.get_or_insert_with(PodStatus::default);
    if status.phase.is_none() {
        let bound = pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.node_name.is_some());
        status.phase = Some(if bound { "Running" } else { "Pending" }.to_owned());
    }
    pod_level_resources(pod);
}

fn container_defaults(container: &mut Container, host_network: bool) {
    if let Some(ResourceRequirements {
        limits: Some(limits),
        requests,
        ..
    }) = &mut container.resources
    {
        let requests = requests.get_or_insert_default();
        for (name, limit) in limits {
            requests
                .entry(name.clone())
                .or_insert_with(|| limit.clone());
        }
    }
    for port in container.ports.iter_mut().flatten() {
        let protocol = port.protocol.get_or_insert_default();
        if protocol.is_empty() {
            "TCP".clone_into(protocol);
        }
        if host_network && port.host_port.unwrap_or(0) == 0 {
            port.host_port = Some(port.container_port);
        }
    }
}

/// Pods leave nodes that are not ready or unreachable only after five minutes, unless they say
/// otherwise.
fn tolerations(spec: &mut PodSpec) {
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is = |field: &Option<String>, text: &str| {
            field
                .as_deref()
                .is_none_or(|field| field.is_empty() || field == text)
        };
        let tolerations = spec.tolerations.get_or_insert_default();
        if !tolerations
            .iter()
            .any(|t| is(&t.key, key) && is(&t.effect, "NoExecute"))
        {
            tolerations.push(Toleration {
                key: Some(key.to_owned()),
                operator: Some("Exists".to_owned()),
                effect: Some("NoExecute".to_owned()),
                toleration_seconds: Some(300),
                ..Toleration::default()
            });
        }
    }
}

/// Pod-level limits for huge pages that containers limit, then pod-level requests from what the
/// containers request, then from the pod-level limits.
fn pod_level_resources(pod: &mut Pod) {
    let Some(given) = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()) else {
        return;
    };
    let mut limits = given.limits.clone().unwrap_or_default();
    let mut requests = given.requests.clone().unwrap_or_default();
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    // Malformed quantities are reported by validation.
    let Ok(parsed) = PodResources::of(pod) else {
        return;
    };
    let containers = parsed.container_requests(RequestOptions::default());
    // Requests and limits of huge pages are equal in every container, so their sums are too.
    for (name, sum) in containers.iter().filter(|(name, _)| is_huge_page(name)) {
        if !requests.contains_key(*name) {
            limits
                .entry((*name).to_owned())
                .or_insert_with(|| text_of(*sum));
        }
    }
    if !limits.is_empty() {
        for (name, sum) in &containers {
            if is_supported_pod_level_resource(name) && allows_overcommit(name) {
                requests
                    .entry((*name).to_owned())
                    .or_insert_with(|| text_of(*sum));
            }
        }
        for (name, limit) in &limits {
            if is_supported_pod_level_resource(name) {
                requests
                    .entry(name.clone())
                    .or_insert_with(|| limit.clone());
            }
        }
    }
    if let Some(given) = pod.spec.as_mut().and_then(|spec| spec.resources.as_mut()) {
        given.limits = Some(limits).filter(|limits| !limits.is_empty());
        given.requests = Some(requests).filter(|requests| !requests.is_empty());
    }
}

/// What creating a pod does to it once: `matchLabelKeys` and `mismatchLabelKeys` become part of the
/// selectors beside them.
pub(super) fn merge_label_keys(pod: &mut Pod) {
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    let Some(spec) = &mut pod.spec else { return };
    for constraint in spec.topology_spread_constraints.iter_mut().flatten() {
        let TopologySpreadConstraint {
            label_selector,
            match_label_keys,
            ..
        } = constraint;
        merge(
            label_selector.as_mut(),
            match_label_keys.as_deref(),
            "In",
            &labels,
        );
    }
    let Some(affinity) = &mut spec.affinity else {
        return;
    };
    let merge_term = |term: &mut PodAffinityTerm| {
        let PodAffinityTerm {
            label_selector,
            match_label_keys,
            mismatch_label_keys,
            ..
        } = term;
        let selector = label_selector;
        merge(
            selector.as_mut(),
            match_label_keys.as_deref(),
            "In",
            &labels,
        );
        merge(
            selector.as_mut(),
            mismatch_label_keys.as_deref(),
            "NotIn",
            &labels,
        );
    };
    if let Some(given) = &mut affinity.pod_affinity {
        let required = &mut given.required_during_scheduling_ignored_during_execution;
        let preferred = &mut given.preferred_during_scheduling_ignored_during_execution;
        terms(required, preferred).for_each(merge_term);
    }
    if let Some(given) = &mut affinity.pod_anti_affinity {
        let required = &mut given.required_during_scheduling_ignored_during_execution;
        let preferred = &mut given.preferred_during_scheduling_ignored_during_execution;
        terms(required, preferred).for_each(merge_term);
    }
}

fn terms<'a>(
    required: &'a mut Option<Vec<PodAffinityTerm>>,
    preferred: &'a mut Option<Vec<WeightedPodAffinityTerm>>,
) -> impl Iterator<Item = &'a mut PodAffinityTerm> {
    let preferred = preferred.iter_mut().flatten();
    let preferred = preferred.map(|term| &mut term.pod_affinity_term);
    required.iter_mut().flatten().chain(preferred)
}

/// Adds a requirement per key that the pod has a label for. Without a selector nothing is selected,
/// and nothing needs to be added.
fn merge(
    selector: Option<&mut LabelSelector>,
    keys: Option<&[String]>,
    operator: &str,
    labels: &Labels,
) {
    let Some(selector) = selector else { return };
    for key in keys.unwrap_or_default() {
        if let Some(value) = labels.get(key) {
            selector
                .match_expressions
                .get_or_insert_default()
                .push(LabelSelectorRequirement {
                    key: key.clone(),
                    operator: operator.to_owned(),
                    values: Some(vec![value.clone()]),
                });
        }
    }
}
