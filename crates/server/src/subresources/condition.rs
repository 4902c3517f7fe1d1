//! Conditions that the server itself writes.

use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View};

/// Sets a condition of a pod. The time of its last change is kept if its status does not change.
/// Upstream: `pkg/api/pod/util.go`, `UpdatePodCondition`.
pub(super) fn set_on_pod(
    pod: &mut Value,
    kind: &str,
    status: &str,
    (reason, message): (&str, &str),
    now: &str,
) {
    let mut condition = json!({
        "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": now,
    });
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition.set(field, text);
        }
    }
    let conditions = pod.at_mut("status").list_mut("conditions");
    match conditions.iter_mut().find(|c| c.text("type") == kind) {
        None => conditions.push(condition),
        Some(old) => {
            if old.text("status") == status {
                let since = old.at("lastTransitionTime").clone();
                condition.set("lastTransitionTime", since);
            }
            *old = condition;
        }
    }
}

/// Sets a `metav1.Condition` without a message. Upstream: `meta.SetStatusCondition`.
pub(super) fn set_on_status(
    status: &mut Value,
    (kind, word, reason): (&str, &str, &str),
    observed_generation: i64,
    now: &str,
) {
    let mut condition = json!({
        "type": kind, "status": word, "reason": reason, "message": "", "lastTransitionTime": now,
    });
    if observed_generation != 0 {
        condition.set("observedGeneration", observed_generation);
    }
    let conditions = status.list_mut("conditions");
    match conditions.iter_mut().find(|c| c.text("type") == kind) {
        None => conditions.push(condition),
        Some(old) => {
            if old.text("status") == word {
                let since = old.at("lastTransitionTime").clone();
                condition.set("lastTransitionTime", since);
            }
            *old = condition;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_changes_with_the_status_only() {
        let mut pod = json!({"status": {}});
        set_on_pod(&mut pod, "PodScheduled", "False", ("Why", "text"), "t1");
        set_on_pod(&mut pod, "PodScheduled", "False", ("Other", ""), "t2");
        let expected = json!([{"type": "PodScheduled", "status": "False", "reason": "Other",
            "lastProbeTime": null, "lastTransitionTime": "t1"}]);
        assert_eq!(pod["status"]["conditions"], expected);
        set_on_pod(&mut pod, "PodScheduled", "True", ("", ""), "t3");
        let expected = json!([{"type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": "t3"}]);
        assert_eq!(pod["status"]["conditions"], expected);
    }

    #[test]
    fn a_status_condition_says_which_generation_it_saw() {
        let mut status = json!({"conditions": [{"type": "Other"}]});
        set_on_status(&mut status, ("A", "True", "Yes"), 4, "t1");
        set_on_status(&mut status, ("A", "True", "Still"), 5, "t2");
        let expected = json!({"type": "A", "status": "True", "reason": "Still", "message": "",
            "lastTransitionTime": "t1", "observedGeneration": 5});
        assert_eq!(status["conditions"][1], expected);
    }
}
