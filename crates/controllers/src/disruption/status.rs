//! The status of a budget.

use super::DELETION_TIMEOUT;
use super::expected::Expected;
use crate::common::{is_deleting, is_pod_ready, name, namespace, selector_as_go_prints_it};
use crate::{Cx, Event, Plan, Write};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const ALLOWED: &str = "DisruptionAllowed";

/// Brings the status up to date. Upstream's `updatePdbStatus`.
pub(super) fn update(
    cx: &Cx<'_>,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    expected: &Expected,
    plan: Plan,
) -> Plan {
    let old = budget.status.clone().unwrap_or_default();
    let (disrupted, recheck, mut plan) = disrupted(cx, budget, pods, plan);
    let is_healthy = |pod: &&Arc<Pod>| {
        !is_deleting(&***pod) && !disrupted.contains_key(name(&***pod)) && is_pod_ready(pod)
    };
    let healthy = pods.iter().filter(is_healthy).count();
    let current_healthy = i32::try_from(healthy).unwrap_or(i32::MAX);
    let allowed = match expected.pods > 0 {
        true => current_healthy.saturating_sub(expected.healthy).max(0),
        false => 0,
    };
    let mut new = PodDisruptionBudgetStatus {
        current_healthy: Some(current_healthy),
        desired_healthy: Some(expected.healthy),
        expected_pods: Some(expected.pods),
        disruptions_allowed: Some(allowed),
        disrupted_pods: (!disrupted.is_empty()).then_some(disrupted),
        observed_generation: budget.metadata.generation,
        conditions: old.conditions.clone(),
    };
    let reason = if allowed > 0 {
        "SufficientPods"
    } else {
        "InsufficientPods"
    };
    set_condition(cx, &mut new, allowed > 0, reason, "");
    if new != normalized(old) {
        let mut changed = budget.clone();
        changed.status = Some(new);
        plan.writes.push(Write::update_status(&changed));
    }
    match recheck {
        Some(at) => {
            let left = Duration::try_from(at.duration_since(cx.now)).unwrap_or_default();
            plan.requeue_after(left)
        }
        None => plan,
    }
}

/// No map and an empty one are the same.
fn normalized(mut status: PodDisruptionBudgetStatus) -> PodDisruptionBudgetStatus {
    status.disrupted_pods = status.disrupted_pods.filter(|pods| !pods.is_empty());
    status
}

/// When nothing is known, nothing is allowed. Upstream's `failSafe`.
pub(super) fn failed(cx: &Cx<'_>, budget: &PodDisruptionBudget, plan: Plan, error: &str) -> Plan {
    let message = format!("Failed to calculate the number of expected pods: {error}");
    let mut plan = plan.event(Event::warning(
        budget,
        "CalculateExpectedPodCountFailed",
        message,
    ));
    let mut changed = budget.clone();
    let mut status = changed.status.unwrap_or_default();
    status.disruptions_allowed = Some(0);
    set_condition(cx, &mut status, false, "SyncFailed", error);
    if budget.status.as_ref() != Some(&status) {
        changed.status = Some(status);
        plan.writes.push(Write::update_status(&changed));
    }
    plan
}

/// Those whose eviction was granted and that are not deleted yet, and when to look again. Upstream's
/// `buildDisruptedPodMap`.
fn disrupted(
    cx: &Cx<'_>,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    mut plan: Plan,
) -> (BTreeMap<String, Time>, Option<Timestamp>, Plan) {
    let known = budget
        .status
        .as_ref()
        .and_then(|status| status.disrupted_pods.as_ref());
    let (mut kept, mut recheck) = (BTreeMap::new(), None::<Timestamp>);
    for pod in pods.iter().filter(|pod| !is_deleting(&***pod)) {
        let Some(at) = known.and_then(|known| known.get(name(&**pod))) else {
            continue;
        };
        let until = at.0.checked_add(DELETION_TIMEOUT).unwrap_or(Timestamp::MAX);
        if until < cx.now {
            let space = namespace(budget);
            // Upstream's words, the namespace twice included.
            let message =
                format!("Pod was expected by PDB {space}/{space} to be deleted but it wasn't");
            plan = plan.event(Event::warning(&**pod, "NotDeleted", message));
            continue;
        }
        recheck = Some(recheck.map_or(until, |recheck| recheck.min(until)));
        kept.insert(name(&**pod).to_owned(), at.clone());
    }
    (kept, recheck, plan)
}

fn set_condition(
    cx: &Cx<'_>,
    status: &mut PodDisruptionBudgetStatus,
    is_true: bool,
    reason: &str,
    message: &str,
) {
    let generation = status.observed_generation;
    let wanted = if is_true { "True" } else { "False" };
    let conditions = status.conditions.get_or_insert_default();
    match conditions
        .iter_mut()
        .find(|condition| condition.type_ == ALLOWED)
    {
        Some(condition) => {
            if condition.status != wanted {
                wanted.clone_into(&mut condition.status);
                condition.last_transition_time = crate::common::time(cx.now);
            }
            reason.clone_into(&mut condition.reason);
            message.clone_into(&mut condition.message);
            condition.observed_generation = generation;
        }
        None => conditions.push(Condition {
            type_: ALLOWED.to_owned(),
            status: wanted.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition_time: crate::common::time(cx.now),
        }),
    }
}

/// The selector as Go prints it in an event.
pub(super) fn selector_text(budget: &PodDisruptionBudget) -> String {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector_as_go_prints_it(selector)
}
