//! What the disruption controller would say of budgets that it has not seen.
//!
//! Upstream: `pkg/controller/disruption/disruption.go`.

use crate::cluster::Loaded;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::sync::Arc;
use stowplan_api::load::Object;
use stowplan_apimachinery::labels::Selector;

/// Gives budgets without a status the one that fits the pods that are there.
pub(super) fn fill(objects: &mut [Loaded]) {
    let statuses: Vec<(usize, PodDisruptionBudgetStatus)> = objects
        .iter()
        .enumerate()
        .filter_map(|(i, loaded)| match &loaded.object {
            Object::PodDisruptionBudget(budget) if is_unseen(budget) => {
                Some((i, status(budget, objects)))
            }
            _ => None,
        })
        .collect();
    for (i, status) in statuses {
        if let Object::PodDisruptionBudget(budget) = &mut objects[i].object {
            Arc::make_mut(budget).status = Some(status);
        }
    }
}

/// Whether the controller has not written a status: one of zeros is what a new budget has.
fn is_unseen(budget: &PodDisruptionBudget) -> bool {
    budget.status.as_ref().is_none_or(|status| {
        let counts = [
            status.current_healthy,
            status.desired_healthy,
            status.disruptions_allowed,
            status.expected_pods,
        ];
        counts.into_iter().flatten().all(|count| count == 0)
            && status.observed_generation.unwrap_or(0) == 0
            && status.conditions.as_ref().is_none_or(Vec::is_empty)
    })
}

fn status(budget: &PodDisruptionBudget, objects: &[Loaded]) -> PodDisruptionBudgetStatus {
    let wanted = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let wanted = serde_json::to_value(wanted).unwrap_or_default();
    // An empty selector guards nothing here.
    let wanted = Selector::from_object(&wanted).filter(|wanted| !wanted.is_everything());
    let pods: Vec<&Pod> = objects
        .iter()
        .filter_map(|loaded| match &loaded.object {
            Object::Pod(pod) if is_guarded(budget, wanted.as_ref(), pod) => Some(&**pod),
            _ => None,
        })
        .collect();
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let expected = count(pods.len());
    let healthy = count(pods.iter().filter(|pod| is_healthy(pod)).count());
    let spec = budget.spec.clone().unwrap_or_default();
    let desired = match (&spec.max_unavailable, &spec.min_available) {
        (Some(unavailable), _) => (expected - scaled(unavailable, expected)).max(0),
        (None, Some(available)) => scaled(available, expected),
        (None, None) => 0,
    };
    let allowed = if expected > 0 {
        healthy.saturating_sub(desired).max(0)
    } else {
        0
    };
    PodDisruptionBudgetStatus {
        current_healthy: Some(healthy),
        desired_healthy: Some(desired),
        expected_pods: Some(expected),
        disruptions_allowed: Some(allowed),
        ..PodDisruptionBudgetStatus::default()
    }
}

/// Whether a budget speaks of a pod. Pods that have run their course do not count.
fn is_guarded(budget: &PodDisruptionBudget, wanted: Option<&Selector>, pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let labels = pod.metadata.labels.as_ref();
    let label = |key: &str| labels?.get(key).map(String::as_str);
    budget.metadata.namespace == pod.metadata.namespace
        && !matches!(phase, Some("Succeeded" | "Failed"))
        && wanted.is_some_and(|wanted| wanted.holds(label))
}

/// On a node, not leaving, and ready; where nothing is said about readiness, it is.
fn is_healthy(pod: &Pod) -> bool {
    let bound = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    let mut conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.find(|condition| condition.type_ == "Ready");
    bound
        && pod.metadata.deletion_timestamp.is_none()
        && ready.is_none_or(|condition| condition.status == "True")
}

/// A number, or a percentage of `total` rounded up.
fn scaled(given: &IntOrString, total: i32) -> i32 {
    match given {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            i32::try_from((i64::from(total) * percent + 99) / 100).unwrap_or(i32::MAX)
        }
    }
}
