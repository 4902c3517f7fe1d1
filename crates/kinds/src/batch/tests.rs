//! One row per rule: what is put into a valid object, and what is said of it.

use super::*;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use stowplan_apimachinery::View;
use stowplan_apimachinery::lookup::Nothing;

const CX: Context<'static> = Context {
    now: "2026-01-02T03:04:05Z",
    cluster: &Nothing,
};

fn template() -> Value {
    json!({"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}})
}

fn job(spec: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"template": template()},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    JOB.set_defaults(&mut object);
    JOB.prepare_for_create(&mut object, &CX);
    object
}

fn texts(errors: &stowplan_apimachinery::field::ErrorList) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(spec: Value, expected: &[&str]) {
    assert_eq!(texts(&JOB.validate(&job(spec), &CX)), expected);
}

#[test]
fn jobs_are_filled_in_and_select_their_own_pods() {
    let object = job(json!({}));
    let spec = &object["spec"];
    for (field, value) in [
        ("completions", json!(1)),
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("manualSelector", json!(false)),
        (
            "selector",
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}),
        ),
    ] {
        assert_eq!(spec[field], value, "{field}");
    }
    assert_eq!(
        spec["template"]["metadata"]["labels"],
        json!({
            "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "job-name": "j",
        })
    );
    check(json!({}), &[]);
    assert_eq!(
        job(json!({"parallelism": 2}))["spec"]["completions"],
        json!(null)
    );
    assert_eq!(
        job(json!({"backoffLimitPerIndex": 1}))["spec"]["backoffLimit"],
        i32::MAX
    );
}

#[test]
fn jobs_without_labels_take_over_those_of_their_template() {
    let generated = json!({
        "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u", "job-name": "j",
    });
    // Generated labels come too late for a job that had none, until it is read back.
    let mut plain = job(json!({}));
    assert!(plain["metadata"].get("labels").is_none());
    assert!(JOB.read_back(&mut plain));
    assert_eq!(plain["metadata"]["labels"], generated);
    assert!(!JOB.read_back(&mut plain));
    // Labels taken over before are those of the template, whatever is added to them.
    let mut labelled = template();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let mut taken = job(json!({"template": labelled}));
    assert_eq!(
        taken["metadata"]["labels"],
        taken["spec"]["template"]["metadata"]["labels"]
    );
    assert_eq!(taken["metadata"]["labels"]["job-name"], "j");
    assert!(!JOB.read_back(&mut taken));
    // The job's own stay its own; and a change of status reads back like any other.
    taken["metadata"]["labels"] = json!({"mine": "x"});
    assert!(!JOB.read_back(&mut taken));
    taken["metadata"]["labels"] = Value::Null;
    assert!(JOB.status().is_some_and(|s| s.read_back(&mut taken)));
}

#[test]
fn selectors_of_jobs() {
    check(
        json!({"selector": {"matchLabels": {"a": "b"}}}),
        &[
            "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` not auto-generated",
            "spec.template.metadata.labels: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\",\"job-name\":\"j\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        json!({"manualSelector": true}),
        &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        ],
    );
    let mut own = template();
    own["metadata"]["labels"] = json!({"job-name": "other"});
    let faults = texts(&JOB.validate(&job(json!({"template": own})), &CX));
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("spec.template.metadata.labels[job-name]: Invalid value: {"));
    assert!(faults[0].ends_with("must be 'j'"));
}

#[test]
fn specs_of_jobs() {
    check(
        json!({"parallelism": -1, "maxFailedIndexes": 1, "managedBy": "x"}),
        &[
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.managedBy: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
        ],
    );
    check(
        json!({"completionMode": "Indexed", "parallelism": 200_000}),
        &[
            "spec.completions: Required value: when completion mode is Indexed",
            "spec.parallelism: Invalid value: 200000: must be less than or equal to 100000 when completion mode is Indexed",
        ],
    );
    check(
        json!({"completionMode": "x", "podReplacementPolicy": "x"}),
        &[
            "spec.completionMode: Unsupported value: \"x\": supported values: \"NonIndexed\", \"Indexed\"",
            "spec.podReplacementPolicy: Unsupported value: \"x\": supported values: \"Failed\", \"TerminatingOrFailed\"",
        ],
    );
    let mut own = template();
    own["spec"]["restartPolicy"] = "Always".into();
    check(
        json!({"template": own}),
        &[
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
        ],
    );
}

#[test]
fn policies_of_jobs() {
    check(
        json!({"podFailurePolicy": {"rules": [
            {"action": "", "onExitCodes": {"operator": "In", "values": [2, 0, 2], "containerName": "x"}},
            {"action": "FailIndex", "onPodConditions": [{"type": "A", "status": "x"}]},
            {"action": "Count"},
        ]}}),
        &[
            "spec.podFailurePolicy.rules[0].action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]",
            "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"x\": must be one of the container or initContainer names in the pod template",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2",
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
            "spec.podFailurePolicy.rules[1].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set",
            "spec.podFailurePolicy.rules[1].onPodConditions[0].status: Unsupported value: \"x\": supported values: \"False\", \"True\", \"Unknown\"",
            "spec.podFailurePolicy.rules[2]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ],
    );
    check(
        json!({"completionMode": "Indexed", "completions": 3, "successPolicy": {"rules": [
            {}, {"succeededIndexes": "0,5"}, {"succeededIndexes": "0-1", "succeededCount": 9},
        ]}}),
        &[
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
            "spec.successPolicy.rules[1].succeededIndexes: Invalid value: \"0,5\": error parsing succeededIndexes: too large index: \"5\"",
            "spec.successPolicy.rules[2].succeededCount: Invalid value: 9: must be less than or equal to 3 (the number of specified completions)",
            "spec.successPolicy.rules[2].succeededCount: Invalid value: 9: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
        ],
    );
}

/// Faults of a change, each once: jobs are looked at twice.
fn update_faults(old: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut new = old.clone();
    change(&mut new);
    JOB.set_defaults(&mut new);
    JOB.prepare_for_update(&mut new, old, &CX);
    let mut faults = texts(&JOB.validate_update(&new, old, &CX));
    faults.dedup();
    faults
}

#[test]
fn what_may_change_about_a_job() {
    let old = job(json!({}));
    let none: [&str; 0] = [];
    assert_eq!(
        update_faults(&old, |new| new["spec"]["parallelism"] = 5.into()),
        none
    );
    assert_eq!(
        update_faults(&old, |new| new["spec"]["completions"] = 5.into()),
        ["spec.completions: Invalid value: 5: field is immutable"]
    );
    let faults = update_faults(&old, |new| {
        new["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
    });
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("spec.template: Invalid value: {"));
    let suspended = job(json!({"suspend": true}));
    assert_eq!(
        update_faults(&suspended, |new| {
            let template = &mut new["spec"]["template"];
            template["spec"]["nodeSelector"] = json!({"a": "b"});
            template["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1"}});
            template["metadata"]["annotations"] = json!({"a": "b"});
        }),
        none
    );
    let faults = update_faults(&suspended, |new| {
        new["spec"]["template"]["spec"]["containers"][0]["image"] = "other".into();
    });
    assert!(
        faults[0].starts_with("spec.template.spec: Invalid value: {"),
        "{faults:?}"
    );
    let indexed = job(json!({"completionMode": "Indexed", "completions": 2, "parallelism": 2}));
    assert_eq!(
        update_faults(&indexed, |new| new["spec"]["completions"] = 3.into()),
        [
            "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
        ]
    );
    assert_eq!(
        update_faults(&indexed, |new| {
            new["spec"]["completions"] = 3.into();
            new["spec"]["parallelism"] = 3.into();
        }),
        none
    );
}

fn status_faults(old_status: Value, new_status: Value) -> Vec<String> {
    let mut old = job(json!({}));
    let mut new = old.clone();
    old["status"] = old_status;
    new["status"] = new_status;
    let status = JOB.status().expect("has one");
    texts(&status.validate_update(&new, &old, &CX))
}

#[test]
fn statuses_of_jobs() {
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let done = json!({
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    let none: [&str; 0] = [];
    assert_eq!(status_faults(json!({}), done.clone()), none);
    assert_eq!(
        status_faults(
            json!({}),
            json!({"conditions": [condition("Complete")], "active": 1})
        ),
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.startTime: Required value: startTime is required for finished job",
        ]
    );
    assert_eq!(
        status_faults(done, json!({"startTime": "2026-01-01T00:00:00Z"})),
        [
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
        ]
    );
    assert_eq!(
        status_faults(
            json!({}),
            json!({"ready": 2, "active": 1, "completedIndexes": "0", "failedIndexes": "0"})
        ),
        [
            "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when non-indexed completion mode",
            "status.failedIndexes: Invalid value: \"0\": cannot set non-null failedIndexes when backoffLimitPerIndex is null",
            "status.failedIndexes: Invalid value: \"0\": failedIndexes and completedIndexes overlap at index: 0",
            "status.ready: Invalid value: 2: cannot set more ready pods than active",
        ]
    );
}

fn cron_job(spec: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "j", "namespace": "n", "resourceVersion": "1"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template()}}},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    CRON_JOB.set_defaults(&mut object);
    CRON_JOB.prepare_for_create(&mut object, &CX);
    object
}

#[test]
fn cron_jobs() {
    let object = cron_job(json!({}));
    for (field, value) in [
        ("concurrencyPolicy", json!("Allow")),
        ("suspend", json!(false)),
        ("successfulJobsHistoryLimit", json!(3)),
        ("failedJobsHistoryLimit", json!(1)),
    ] {
        assert_eq!(object["spec"][field], value, "{field}");
    }
    // A job in a template is not defaulted: the job made from it will be.
    assert!(
        !object
            .path(&["spec", "jobTemplate", "spec"])
            .has("completions")
    );
    let faults = |spec: Value| texts(&CRON_JOB.validate(&cron_job(spec), &CX));
    assert_eq!(faults(json!({})), [""; 0]);
    assert_eq!(
        faults(
            json!({"schedule": "TZ=UTC @daily", "concurrencyPolicy": "x", "timeZone": "Mars/X", "startingDeadlineSeconds": -1})
        ),
        [
            "spec.schedule: Invalid value: \"TZ=UTC @daily\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.timeZone: Invalid value: \"Mars/X\": unknown time zone Mars/X",
            "spec.concurrencyPolicy: Unsupported value: \"x\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
        ]
    );
    assert_eq!(
        faults(json!({"schedule": "61 * * * *"})),
        ["spec.schedule: Invalid value: \"61 * * * *\": end of range (61) above maximum (59): 61",]
    );
    let job = json!({"spec": {"template": template(), "selector": {}, "manualSelector": true}});
    assert_eq!(
        faults(json!({"jobTemplate": job})),
        [
            "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
            "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"",
        ]
    );
    let mut long = cron_job(json!({}));
    long["metadata"]["name"] = "x".repeat(53).into();
    let faults = texts(&CRON_JOB.validate(&long, &CX));
    assert!(faults[0].ends_with("must be no more than 52 characters"));
}
