//! Whether a disruption budget lets a pod go.
//! Upstream: `pkg/registry/core/pod/storage/eviction.go`.

use crate::subresources::condition;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::labels::Selector;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Cause, Edit, Status, View, meta};

/// More evictions than this cannot wait to be noticed by whoever keeps the budget.
const MAX_DISRUPTED_PODS: usize = 2000;
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// What has to be done before a pod may be deleted.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// Nothing.
    Go,
    /// The pod must not have changed since, because it was not ready.
    GoIfUnchanged {
        /// The name of the budget that lets it go.
        budget: String,
    },
    /// This budget has to be charged.
    Charge(Arc<Value>),
}

/// Pods that have ended, not begun or are on their way out need no budget.
pub(super) fn is_free(pod: &Value) -> bool {
    let phase = pod.at("status").text("phase");
    matches!(phase, "Succeeded" | "Failed" | "Pending")
        || pod.at("metadata").has("deletionTimestamp")
}

/// Whether a free pod must still be what it was when it is deleted: it could become ready.
pub(super) fn may_wake(pod: &Value) -> bool {
    let phase = pod.at("status").text("phase");
    !matches!(phase, "Succeeded" | "Failed") && !pod.at("metadata").has("deletionTimestamp")
}

/// What the budgets of its namespace say of a pod.
pub(super) fn judge(pod: &Value, budgets: Vec<Arc<Value>>) -> Result<Verdict, Status> {
    let covers = |budget: &Arc<Value>| {
        let selector = Selector::from_object(budget.at("spec").at("selector"));
        selector.is_some_and(|selector| selector.selects(pod))
    };
    let mut covering = budgets.into_iter().filter(covers);
    let Some(budget) = covering.next() else {
        return Ok(Verdict::Go);
    };
    if covering.next().is_some() {
        return Err(Status::plain_error(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    if !is_ready(pod) {
        let status = budget.at("status");
        let number = |field: &str| status.int(field).unwrap_or_default();
        let policy = budget.at("spec").text("unhealthyPodEvictionPolicy");
        let desired = number("desiredHealthy");
        if policy == "AlwaysAllow" || (number("currentHealthy") >= desired && desired > 0) {
            return Ok(Verdict::GoIfUnchanged {
                budget: meta::name(&budget).to_owned(),
            });
        }
    }
    Ok(Verdict::Charge(budget))
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod.at("status").list("conditions").iter();
    let ready = conditions.find(|condition| condition.text("type") == "Ready");
    ready.is_some_and(|condition| condition.text("status") == "True")
}

/// 429: whoever keeps the budget has not seen its last change, or the pod has changed.
pub(super) fn still_processing(name: &str) -> Status {
    Status::too_many_requests(VIOLATES, 10).because(Cause {
        reason: "DisruptionBudget".to_owned(),
        message: format!("The disruption budget {name} is still being processed by the server."),
        field: String::new(),
    })
}

/// The budget with one disruption less and this pod noted, or why it allows none.
pub(super) fn charge(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = meta::name(budget);
    let status = budget.at("status");
    let number = |field: &str| status.int(field).unwrap_or_default();
    let generation = budget.at("metadata").int("generation").unwrap_or_default();
    if number("observedGeneration") < generation {
        return Err(still_processing(name));
    }
    let forbidden = |why: &str| {
        let resource = GroupResource::new("policy", "poddisruptionbudget");
        Status::forbidden(&resource, name, why)
    };
    let allowed = number("disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    let disrupted = status.at("disruptedPods").as_object();
    if disrupted.is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        return Err(exhausted(budget));
    }
    let observed = number("observedGeneration");
    let mut charged = budget.clone();
    let status = charged.at_mut("status");
    status.set("disruptionsAllowed", allowed - 1);
    if allowed == 1 {
        let condition = ("DisruptionAllowed", "False", "InsufficientPods");
        condition::set_on_status(status, condition, observed, now);
    }
    status.at_mut("disruptedPods").set(pod, now);
    Ok(charged)
}

/// 429, without a time to come back: nobody knows.
fn exhausted(budget: &Value) -> Status {
    let name = meta::name(budget);
    let status = budget.at("status");
    let number = |field: &str| status.int(field).unwrap_or_default();
    let mut conditions = status.list("conditions").iter();
    let condition = conditions.find(|c| c.text("type") == "DisruptionAllowed");
    let said = condition.filter(|c| c.text("status") == "False" && !c.text("message").is_empty());
    let (current, desired) = (number("currentHealthy"), number("desiredHealthy"));
    let message = match said {
        Some(c) if c.text("reason") == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            c.text("message")
        ),
        _ if current <= desired => format!(
            "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        ),
        Some(c) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            c.text("reason"),
            c.text("message")
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    };
    Status::too_many_requests(VIOLATES, 0).because(Cause {
        reason: "DisruptionBudget".to_owned(),
        message,
        field: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(ready: &str) -> Value {
        json!({"metadata": {"name": "p", "labels": {"app": "x"}}, "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn budget(spec: Value, status: Value) -> Arc<Value> {
        let mut budget = json!({"metadata": {"name": "b", "generation": 1},
            "spec": {"selector": {"matchLabels": {"app": "x"}}}, "status": {"observedGeneration": 1}});
        for (part, more) in [("spec", spec), ("status", status)] {
            let fields = budget[part].as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
        }
        Arc::new(budget)
    }

    #[test]
    fn ended_pending_and_leaving_pods_need_no_budget() {
        let with = |phase: &str, metadata: Value| json!({"metadata": metadata, "status": {"phase": phase}});
        let plain = json!({});
        let leaving = json!({"deletionTimestamp": "t"});
        for (pod, free, wakes) in [
            (with("Succeeded", plain.clone()), true, false),
            (with("Failed", plain.clone()), true, false),
            (with("Pending", plain.clone()), true, true),
            (with("Running", leaving), true, false),
            (with("Running", plain), false, true),
        ] {
            assert_eq!((is_free(&pod), may_wake(&pod)), (free, wakes), "{pod}");
        }
    }

    #[test]
    fn the_covering_budget_is_charged() {
        let plain = || budget(json!({}), json!({}));
        assert_eq!(judge(&pod("True"), vec![]), Ok(Verdict::Go));
        let none = budget(json!({"selector": null}), json!({}));
        assert_eq!(judge(&pod("True"), vec![none]), Ok(Verdict::Go));
        assert_eq!(
            judge(&pod("True"), vec![plain()]),
            Ok(Verdict::Charge(plain()))
        );
        let all = budget(json!({"selector": {}}), json!({}));
        let two = judge(&pod("True"), vec![plain(), all]).unwrap_err();
        assert_eq!((two.code, two.reason), (500, ""));
    }

    #[test]
    fn unready_pods_go_where_that_hurts_nobody() {
        let lax = budget(
            json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            json!({}),
        );
        let goes = || {
            let budget = "b".to_owned();
            Ok(Verdict::GoIfUnchanged { budget })
        };
        assert_eq!(judge(&pod("False"), vec![lax]), goes());
        let healthy = budget(json!({}), json!({"currentHealthy": 2, "desiredHealthy": 2}));
        assert_eq!(judge(&pod("False"), vec![healthy]), goes());
        let nothing_wanted = budget(json!({}), json!({"currentHealthy": 2, "desiredHealthy": 0}));
        let verdict = judge(&pod("False"), vec![nothing_wanted]);
        assert!(matches!(verdict, Ok(Verdict::Charge(_))));
    }

    #[test]
    fn charging_counts_down_and_notes_the_pod() {
        let two = budget(json!({}), json!({"disruptionsAllowed": 2}));
        let status = charge(&two, "p", "now").unwrap()["status"].clone();
        assert_eq!(
            status,
            json!({"observedGeneration": 1, "disruptionsAllowed": 1, "disruptedPods": {"p": "now"}})
        );
        let one = budget(json!({}), json!({"disruptionsAllowed": 1}));
        let status = charge(&one, "p", "now").unwrap()["status"].clone();
        assert_eq!(
            status["conditions"],
            json!([{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
                "message": "", "observedGeneration": 1, "lastTransitionTime": "now"}])
        );
    }

    #[test]
    fn a_budget_says_why_it_allows_nothing() {
        let said = |status: Value| charge(&budget(json!({}), status), "p", "now").unwrap_err();
        let stale = said(json!({"observedGeneration": 0, "disruptionsAllowed": 1}));
        assert_eq!(stale, still_processing("b"));
        assert_eq!(stale.to_json()["details"]["retryAfterSeconds"], 10);
        assert_eq!(said(json!({"disruptionsAllowed": -1})).code, 403);
        let cause = |status: Value| {
            let details = said(status).to_json()["details"].clone();
            assert!(details.get("retryAfterSeconds").is_none());
            details["causes"][0]["message"].as_str().unwrap().to_owned()
        };
        let condition = |reason: &str| json!([{"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "m"}]);
        assert_eq!(
            cause(json!({"currentHealthy": 1, "desiredHealthy": 2})),
            "The disruption budget b needs 2 healthy pods and has 1 currently"
        );
        assert_eq!(
            cause(json!({"currentHealthy": 3, "desiredHealthy": 2})),
            "The disruption budget b does not allow evicting pods currently"
        );
        assert_eq!(
            cause(json!({"currentHealthy": 3, "conditions": condition("Other")})),
            "The disruption budget b does not allow evicting pods currently (Other): m"
        );
        assert_eq!(
            cause(json!({"conditions": condition("SyncFailed")})),
            "The disruption budget b does not allow evicting pods currently because it failed sync: m"
        );
    }
}
