//! Policies of failure, success and replacement.

use super::super::pod_failure_policy::{Verdict, judge};
use super::*;
use k8s_openapi::api::batch::v1::JobSpec;

fn on_codes(action: &str, operator: &str, values: &[i32], container: Option<&str>) -> Value {
    json!({"action": action, "onExitCodes": {
        "containerName": container, "operator": operator, "values": values,
    }})
}

fn on_condition(action: &str, type_: &str, status: &str) -> Value {
    json!({"action": action, "onPodConditions": [{"type": type_, "status": status}]})
}

fn verdict(rules: &[Value], pod: Value) -> Verdict {
    let spec: JobSpec = serde_json::from_value(json!({
        "template": {}, "podFailurePolicy": {"rules": rules},
    }))
    .expect("a spec");
    judge(&spec, &serde_json::from_value(pod).expect("a pod"))
}

/// `TestMatchPodFailurePolicy`.
#[test]
fn the_first_rule_that_matches_counts() {
    let code = |code| exited(pod("p", "Failed"), code, "2026-03-01T11:00:00Z");
    let mut evicted = pod("p", "Failed");
    evicted["status"]["conditions"] = json!([
        {"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "status": "True"},
    ]);
    let mut init = pod("p", "Failed");
    init["status"]["initContainerStatuses"] = json!([{
        "name": "i", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": 5}},
    }]);
    let fail = |message: &str| Verdict::FailJob(message.to_owned());
    let by_code =
        "Container c for pod shop/p failed with exit code 2 matching FailJob rule at index";
    for (rules, pod, expected) in [
        (vec![], code(2), Verdict::Count),
        (
            vec![on_codes("Ignore", "In", &[1, 2], None)],
            code(2),
            Verdict::Ignore,
        ),
        (
            vec![on_codes("Ignore", "In", &[1, 3], None)],
            code(2),
            Verdict::Count,
        ),
        (
            vec![on_codes("FailJob", "In", &[2], None)],
            code(2),
            fail(&format!("{by_code} 0")),
        ),
        (
            vec![on_codes("FailJob", "NotIn", &[2], None)],
            code(2),
            Verdict::Count,
        ),
        (
            vec![on_codes("FailJob", "NotIn", &[1], Some("c"))],
            code(2),
            fail(&format!("{by_code} 0")),
        ),
        (
            vec![on_codes("FailJob", "In", &[2], Some("other"))],
            code(2),
            Verdict::Count,
        ),
        (
            vec![on_codes("FailIndex", "In", &[2], None)],
            code(2),
            Verdict::FailIndex,
        ),
        (
            vec![
                on_codes("Count", "In", &[2], None),
                on_codes("FailJob", "In", &[2], None),
            ],
            code(2),
            Verdict::Count,
        ),
        (
            vec![
                on_codes("Ignore", "In", &[1], None),
                on_codes("FailJob", "In", &[2], None),
            ],
            code(2),
            fail(&format!("{by_code} 1")),
        ),
        // A container that succeeded is not meant, nor one that runs.
        (
            vec![on_codes("FailJob", "NotIn", &[1], None)],
            code(0),
            Verdict::Count,
        ),
        (
            vec![on_codes("FailJob", "NotIn", &[1], None)],
            pod("p", "Failed"),
            Verdict::Count,
        ),
        (
            vec![on_codes("FailIndex", "In", &[5], None)],
            init.clone(),
            Verdict::FailIndex,
        ),
        (
            vec![on_condition("Ignore", "DisruptionTarget", "True")],
            evicted.clone(),
            Verdict::Ignore,
        ),
        (
            vec![on_condition("Ignore", "DisruptionTarget", "False")],
            evicted.clone(),
            Verdict::Count,
        ),
        (
            vec![on_condition("Ignore", "DisruptionTarget", "True")],
            code(2),
            Verdict::Count,
        ),
        (
            vec![on_condition("Count", "DisruptionTarget", "True")],
            evicted.clone(),
            Verdict::Count,
        ),
        (
            vec![on_condition("FailIndex", "DisruptionTarget", "True")],
            evicted.clone(),
            Verdict::FailIndex,
        ),
        (
            vec![on_condition("FailJob", "DisruptionTarget", "True")],
            evicted.clone(),
            fail("Pod shop/p has condition DisruptionTarget matching FailJob rule at index 0"),
        ),
        (
            vec![
                on_condition("Odd", "DisruptionTarget", "True"),
                on_condition("Ignore", "DisruptionTarget", "True"),
            ],
            evicted.clone(),
            Verdict::Ignore,
        ),
    ] {
        let what = json!(rules).to_string();
        assert_eq!(verdict(&rules, pod), expected, "{what}");
    }
}

fn with_rules(rules: Value) -> Value {
    job(json!({
        "completions": 2, "parallelism": 2, "backoffLimit": 0,
        "podReplacementPolicy": "Failed", "podFailurePolicy": {"rules": rules},
    }))
}

const LONG_AGO: &str = "2026-03-01T11:00:00Z";

#[test]
fn a_rule_fails_the_job_at_once() {
    let rules = json!([on_codes("FailJob", "In", &[42], None)]);
    let mut given = with_rules(rules);
    given["spec"]["backoffLimit"] = json!(6);
    let mut world = world(
        given,
        [
            exited(pod("a", "Failed"), 42, LONG_AGO),
            pod("b", "Running"),
        ],
    );
    sync(&mut world);
    assert_eq!(conditions(&world), ["FailureTarget"]);
    let (reason, message) = last_condition(&world);
    assert_eq!(reason, "PodFailurePolicy");
    assert_eq!(
        message,
        "Container c for pod shop/a failed with exit code 42 matching FailJob rule at index 0"
    );
    assert_eq!(count(&world, Method::Delete, "/pods"), 1);
    let seen = status(&world);
    assert_eq!(
        (seen.active, seen.failed, seen.terminating),
        (None, Some(2), Some(1))
    );
    assert_eq!(world.take_reasons(), ["SuccessfulDelete"]);
    // When the other one is gone, it has failed, and the reason is still known.
    world.remove::<Pod>("shop", "b");
    sync(&mut world);
    assert_eq!(conditions(&world), ["FailureTarget", "Failed"]);
    assert_eq!(last_condition(&world), (reason, message));
    assert_eq!(world.take_reasons(), ["PodFailurePolicy"]);
}

#[test]
fn failures_that_are_ignored_do_not_count() {
    let mut world = world(
        with_rules(json!([on_codes("Ignore", "In", &[42], None)])),
        [exited(pod("a", "Failed"), 42, LONG_AGO)],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!((seen.failed, seen.active), (None, Some(2)));
    assert_eq!(conditions(&world), [""; 0]);
    assert_eq!(count(&world, Method::Patch, "/pods"), 1);
}

#[test]
fn with_a_policy_pods_count_when_they_are_over() {
    let mut world = world(
        with_rules(json!([on_codes("Ignore", "In", &[42], None)])),
        [deleted(pod("a", "Running"))],
    );
    sync(&mut world);
    let seen = status(&world);
    assert_eq!(
        (seen.failed, seen.active, seen.terminating),
        (None, Some(1), Some(1))
    );
    assert_eq!(count(&world, Method::Patch, "/pods"), 0);
}

#[test]
fn an_index_fails_by_a_rule() {
    let mut given = indexed(2, 2);
    given["spec"]["backoffLimitPerIndex"] = json!(3);
    given["spec"]["podReplacementPolicy"] = json!("Failed");
    given["spec"]["podFailurePolicy"] = json!({"rules": [
        on_codes("FailIndex", "In", &[42], None), on_codes("Ignore", "In", &[7], None),
    ]});
    let mut world = world(
        given,
        [
            with_index(exited(pod("a", "Failed"), 42, LONG_AGO), 0),
            with_index(exited(pod("b", "Failed"), 7, LONG_AGO), 1),
        ],
    );
    sync(&mut world);
    assert_eq!(status(&world).failed_indexes.as_deref(), Some("0"));
    let new = pods(&world)
        .into_iter()
        .find(|pod| pod.metadata.generate_name.is_some());
    let annotations = new
        .expect("a pod")
        .metadata
        .annotations
        .clone()
        .expect("annotations");
    assert_eq!(annotations["batch.kubernetes.io/job-completion-index"], "1");
    assert_eq!(
        annotations["batch.kubernetes.io/job-index-failure-count"],
        "0"
    );
    assert_eq!(
        annotations["batch.kubernetes.io/job-index-ignored-failure-count"],
        "1"
    );
}

#[test]
fn enough_indices_are_enough() {
    let mut given = indexed(3, 3);
    given["spec"]["successPolicy"] = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut world = world(
        given,
        [
            with_index(pod("a", "Succeeded"), 0),
            with_index(pod("b", "Running"), 1),
            with_index(exited(pod("c", "Failed"), 1, LONG_AGO), 2),
        ],
    );
    sync(&mut world);
    assert_eq!(conditions(&world), ["SuccessCriteriaMet"]);
    assert_eq!(
        last_condition(&world),
        (
            "SuccessPolicy".to_owned(),
            "Matched rules at index 0".to_owned()
        )
    );
    let seen = status(&world);
    // The one that ran is deleted, which is no failure of its own.
    assert_eq!(
        (seen.succeeded, seen.failed, seen.terminating),
        (Some(1), Some(1), Some(1))
    );
    world.remove::<Pod>("shop", "b");
    sync(&mut world);
    assert_eq!(conditions(&world), ["SuccessCriteriaMet", "Complete"]);
    let seen = status(&world);
    assert_eq!(seen.completed_indexes.as_deref(), Some("0"));
    assert!(seen.completion_time.is_some());
}

#[test]
fn failure_comes_before_success() {
    let mut given = indexed(2, 2);
    given["spec"]["backoffLimit"] = json!(0);
    given["spec"]["successPolicy"] = json!({"rules": [{"succeededCount": 1}]});
    let mut world = world(
        given,
        [
            with_index(pod("a", "Succeeded"), 0),
            with_index(exited(pod("c", "Failed"), 1, LONG_AGO), 1),
        ],
    );
    sync(&mut world);
    assert_eq!(conditions(&world), ["FailureTarget", "Failed"]);
    assert_eq!(last_condition(&world).0, "BackoffLimitExceeded");
}

#[test]
fn an_index_that_terminates_is_not_taken_again() {
    for (policy, made) in [("Failed", 0), ("TerminatingOrFailed", 1)] {
        let mut given = indexed(2, 2);
        given["spec"]["podReplacementPolicy"] = json!(policy);
        let mut world = world(
            given,
            [
                deleted(with_index(pod("a", "Running"), 0)),
                with_index(pod("b", "Running"), 1),
            ],
        );
        sync(&mut world);
        assert_eq!(count(&world, Method::Post, "/pods"), made, "{policy}");
    }
}
