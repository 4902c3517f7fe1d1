//! One row per rule: what is put into a valid object, and what is said of it.

use super::*;
use serde_json::json;
use stowplan_apimachinery::lookup::Nothing;

const CX: Context<'static> = Context {
    now: "2026-01-02T03:04:05Z",
    cluster: &Nothing,
};

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

/// A new object, as far as the strategy makes it.
fn created(strategy: &dyn Strategy, spec: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template()},
        "status": {"replicas": 9},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    strategy.set_defaults(&mut object);
    strategy.prepare_for_create(&mut object, &CX);
    object
}

#[track_caller]
fn check(strategy: &dyn Strategy, spec: Value, expected: &[&str]) {
    let object = created(strategy, spec);
    let errors = strategy.validate(&object, &CX);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected);
}

/// The object after a change of its spec.
fn updated(strategy: &dyn Strategy, old: &Value, spec: Value) -> Value {
    let mut new = old.clone();
    for (key, value) in spec.as_object().into_iter().flatten() {
        new["spec"][key] = value.clone();
    }
    strategy.set_defaults(&mut new);
    strategy.prepare_for_update(&mut new, old, &CX);
    new
}

#[track_caller]
fn check_update(strategy: &dyn Strategy, spec: Value, expected: &[&str]) {
    let old = created(strategy, json!({}));
    let new = updated(strategy, &old, spec);
    let errors = strategy.validate_update(&new, &old, &CX);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected);
}

#[test]
fn deployments_are_filled_in() {
    let object = created(&DEPLOYMENT, json!({}));
    let spec = &object["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["progressDeadlineSeconds"], 600);
    assert_eq!(
        spec["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(object["status"], json!({}));
    assert_eq!(object["metadata"]["generation"], 1);
    check(&DEPLOYMENT, json!({}), &[]);
}

#[test]
fn deployments_are_checked() {
    check(
        &DEPLOYMENT,
        json!({"selector": null, "replicas": -1}),
        &[
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        &DEPLOYMENT,
        json!({"selector": {}, "strategy": {"type": "Recreate", "rollingUpdate": {}}, "minReadySeconds": 600}),
        &[
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
        ],
    );
    check(
        &DEPLOYMENT,
        json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}),
        &[
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
        ],
    );
    check(
        &DEPLOYMENT,
        json!({"strategy": {"type": "x"}}),
        &[
            "spec.strategy: Unsupported value: {\"Type\":\"x\"}: supported values: \"Recreate\", \"RollingUpdate\"",
        ],
    );
    let bad = json!({"matchExpressions": [{"key": "a", "operator": "x"}]});
    check(
        &DEPLOYMENT,
        json!({"selector": bad}),
        &[
            "spec.selector.matchExpressions[0].operator: Invalid value: \"x\": not a valid selector operator",
            "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"x\"}]}: invalid label selector",
        ],
    );
}

#[test]
fn selectors_stay() {
    let spec = json!({"selector": {"matchLabels": {"c": "d"}}, "template": {"metadata": {"labels": {"c": "d"}}, "spec": template()["spec"]}});
    let fault = "spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable";
    check_update(&DEPLOYMENT, spec.clone(), &[fault]);
    check_update(&REPLICA_SET, spec.clone(), &[fault]);
    check_update(&DAEMON_SET, spec, &[fault]);
}

#[test]
fn templates_that_end_are_refused() {
    let ends = |spec: Value| {
        let mut template = template();
        template["spec"]["restartPolicy"] = spec["restartPolicy"].clone();
        template["spec"]["activeDeadlineSeconds"] = 5.into();
        json!({"template": template})
    };
    for (strategy, kind) in [
        (&DEPLOYMENT as &dyn Strategy, "ReplicaSet"),
        (&REPLICA_SET, "ReplicaSet"),
        (&DAEMON_SET, "DaemonSet"),
        (&STATEFUL_SET, "StatefulSet"),
    ] {
        let deadline = format!(
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in {kind} is not Supported"
        );
        check(
            strategy,
            ends(json!({"restartPolicy": "Never"})),
            &[
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
                &deadline,
            ],
        );
    }
}

#[test]
fn generations_count_changes_of_what_is_wanted() {
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    for strategy in [
        &DEPLOYMENT as &dyn Strategy,
        &REPLICA_SET,
        &STATEFUL_SET,
        &DAEMON_SET,
    ] {
        let old = created(strategy, json!({}));
        assert_eq!(generation(&updated(strategy, &old, json!({}))), Some(1));
        let new = updated(strategy, &old, json!({"minReadySeconds": 5}));
        assert_eq!(generation(&new), Some(2));
    }
    // A deployment's annotations are copied to its replica sets.
    let old = created(&DEPLOYMENT, json!({}));
    let mut new = old.clone();
    new["metadata"]["annotations"] = json!({"a": "b"});
    DEPLOYMENT.prepare_for_update(&mut new, &old, &CX);
    assert_eq!(generation(&new), Some(2));
}

#[test]
fn daemon_sets_count_changes_of_their_template() {
    let count = |object: &Value| {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    let old = created(&DAEMON_SET, json!({}));
    assert_eq!(count(&old), "1");
    let same = updated(&DAEMON_SET, &old, json!({"minReadySeconds": 5}));
    assert_eq!(count(&same), "1");
    let mut changed = template();
    changed["spec"]["containers"][0]["image"] = "j".into();
    let new = updated(&DAEMON_SET, &old, json!({"template": changed}));
    assert_eq!(count(&new), "2");
    let mut shown = new.clone();
    shown["apiVersion"] = "apps/v1".into();
    shown["kind"] = "DaemonSet".into();
    assert!(metadata_alone(&shown).get("annotations").is_none());
    shown["metadata"]["annotations"]["a"] = "b".into();
    assert_eq!(metadata_alone(&shown)["annotations"], json!({"a": "b"}));
    shown["kind"] = "ReplicaSet".into();
    assert_eq!(metadata_alone(&shown), shown["metadata"]);
    check(
        &DAEMON_SET,
        json!({"selector": null}),
        &[
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        &DAEMON_SET,
        json!({"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "101%"}}}),
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ],
    );
    check(
        &DAEMON_SET,
        json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}),
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
        ],
    );
}

#[test]
fn stateful_sets() {
    let object = created(
        &STATEFUL_SET,
        json!({"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]}),
    );
    assert_eq!(
        object["spec"]["volumeClaimTemplates"],
        json!([{
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
            "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"},
        }])
    );
    assert_eq!(
        object["spec"]["updateStrategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    );
    let with_max = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}});
    let object = created(&STATEFUL_SET, with_max);
    assert!(!object["spec"]["updateStrategy"]["rollingUpdate"].has("maxUnavailable"));
    check(
        &STATEFUL_SET,
        json!({
            "podManagementPolicy": "x", "updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}, "serviceName": "A",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "x"}, "ordinals": {"start": -1},
        }),
        &[
            "spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'",
            "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":0}: only allowed for updateStrategy 'RollingUpdate'",
            "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: \"x\": supported values: \"Retain\", \"Delete\"",
            "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
            "spec.serviceName: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    check_update(
        &STATEFUL_SET,
        json!({"serviceName": "other"}),
        &[
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ],
    );
    check_update(&STATEFUL_SET, json!({"replicas": 3}), &[]);
}

#[test]
fn claims_of_a_stateful_set_are_volumes_of_its_pods() {
    let mut own = template();
    own["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "d", "mountPath": "/d"}]);
    let claim = json!({"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}});
    check(
        &STATEFUL_SET,
        json!({"template": own, "volumeClaimTemplates": [claim]}),
        &[],
    );
    check(
        &STATEFUL_SET,
        json!({"template": own}),
        &["spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"d\""],
    );
}

#[test]
fn replication_controllers_select_what_they_make() {
    let object = created(&REPLICATION_CONTROLLER, json!({"selector": null}));
    assert_eq!(object["spec"]["selector"], json!({"a": "b"}));
    assert_eq!(object["metadata"]["labels"], json!({"a": "b"}));
    check(
        &REPLICATION_CONTROLLER,
        json!({"selector": {"c": "d"}}),
        &[
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        &REPLICATION_CONTROLLER,
        json!({"selector": {}, "template": null}),
        &[
            "spec.selector: Required value",
            "spec.template: Required value",
        ],
    );
}

#[test]
fn pod_templates_have_no_spec() {
    let mut object = json!({"metadata": {"name": "x", "namespace": "n"}, "template": template()});
    POD_TEMPLATE.set_defaults(&mut object);
    POD_TEMPLATE.prepare_for_create(&mut object, &CX);
    assert_eq!(POD_TEMPLATE.validate(&object, &CX), []);
    assert!(!object.has("status"));
    object["template"]["spec"]["dnsPolicy"] = "x".into();
    let fault = &POD_TEMPLATE.validate(&object, &CX)[0];
    assert!(
        fault
            .to_string()
            .starts_with("template.spec.dnsPolicy: Unsupported value: \"x\"")
    );
}

#[test]
fn statuses_count_and_leave_the_rest_alone() {
    let old = created(&DEPLOYMENT, json!({}));
    let status = DEPLOYMENT.status().expect("has one");
    let mut new = old.clone();
    new["spec"]["replicas"] = 7.into();
    new["metadata"]["labels"] = json!({"x": "y"});
    new["status"] = json!({"replicas": 1, "readyReplicas": 2, "updatedReplicas": -1});
    status.prepare_for_update(&mut new, &old, &CX);
    assert_eq!(new["spec"], old["spec"]);
    assert!(!new["metadata"].has("labels"));
    let errors = status.validate_update(&new, &old, &CX);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ]
    );
}

#[test]
fn collisions_are_not_forgotten() {
    let kinds: [&dyn Strategy; 3] = [&DEPLOYMENT, &DAEMON_SET, &STATEFUL_SET];
    for strategy in kinds {
        let mut old = created(strategy, json!({}));
        let status = strategy.status().expect("has one");
        for (before, after, fault) in [
            (json!(2), json!(null), Some("0")),
            (json!(2), json!(1), Some("1")),
            (json!(2), json!(2), None),
            (json!(null), json!(0), None),
            (json!(null), json!(null), None),
        ] {
            let mut new = old.clone();
            old["status"]["collisionCount"] = before;
            new["status"]["collisionCount"] = after;
            let errors = status.validate_update(&new, &old, &CX);
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let text = |value| {
                format!("status.collisionCount: Invalid value: {value}: cannot be decremented")
            };
            assert_eq!(found, Vec::from_iter(fault.map(text)));
        }
    }
}

#[test]
fn warnings_come_with_changes_of_what_is_wanted() {
    let constraint =
        json!([{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]);
    let mut own = template();
    own["spec"]["topologySpreadConstraints"] = constraint;
    let old = created(&DEPLOYMENT, json!({"template": own}));
    assert_eq!(
        DEPLOYMENT.warnings(&old, None),
        [
            "spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"
        ]
    );
    assert!(DEPLOYMENT.warnings(&old, Some(&old)).is_empty());
    let new = updated(&DEPLOYMENT, &old, json!({"replicas": 2}));
    assert_eq!(DEPLOYMENT.warnings(&new, Some(&old)).len(), 1);
}
