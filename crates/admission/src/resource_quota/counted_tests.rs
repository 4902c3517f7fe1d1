//! Quotas whose use nobody else counts.

use super::Quotas;
use crate::testing::{Case, Cluster, cluster};
use serde_json::{Value, json};

fn quota(spec: Value, status: Value) -> Value {
    json!({"kind": "ResourceQuota", "spec": spec, "status": status,
        "metadata": {"name": "q", "namespace": "ns", "resourceVersion": "7"}})
}

fn pod(name: &str, cpu: &str, phase: &str) -> Value {
    let containers = json!([{"name": "c", "resources": {"requests": {"cpu": cpu}}}]);
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": containers}, "status": {"phase": phase}})
}

fn new_pod() -> Case {
    let resources = json!({"requests": {"cpu": "1"}});
    Case::pod(json!({"containers": [{"name": "c", "resources": resources}]}))
}

/// The status of the quotas that are written.
fn charged(case: Case, world: &Cluster) -> Result<Vec<Value>, String> {
    let answer = case.ask(|request| super::validate(request, world, Quotas::Counted));
    let writes = answer.map_err(|status| status.message)?;
    Ok(writes
        .into_iter()
        .map(|write| write.quota["status"].clone())
        .collect())
}

#[test]
fn a_quota_without_status_counts_the_objects() {
    let hard = json!({"pods": "4", "requests.cpu": "10", "configmaps": "1"});
    let world = |status| {
        cluster([
            quota(json!({"hard": hard}), status),
            pod("a", "1500m", "Running"),
            pod("b", "1", "Pending"),
            pod("gone", "8", "Succeeded"),
        ])
    };
    // Configmaps are counted when one of them is charged.
    let counted = json!({"hard": hard, "used": {"pods": "3", "requests.cpu": "3500m"}});
    assert_eq!(charged(new_pod(), &world(json!({}))).unwrap(), [counted]);
    let told = json!({"hard": hard, "used": {"pods": "2", "requests.cpu": "2", "configmaps": "1"}});
    let sum = json!({"pods": "3", "requests.cpu": "3", "configmaps": "1"});
    let after = json!({"hard": hard, "used": sum});
    assert_eq!(charged(new_pod(), &world(told)).unwrap(), [after]);
    let as_told = new_pod().ask(|request| {
        super::validate(request, &world(json!({})), Quotas::AsTold).map(|writes| writes.len())
    });
    assert_eq!(as_told.ok(), Some(0));
}

#[test]
fn what_is_gone_is_given_back_when_room_is_needed() {
    let hard = json!({"pods": "2"});
    let full = json!({"hard": hard, "used": {"pods": "2"}});
    let mut world = cluster([quota(json!({"hard": hard}), full), pod("a", "1", "Running")]);
    let used = charged(new_pod(), &world).unwrap();
    assert_eq!(used, [json!({"hard": hard, "used": {"pods": "2"}})]);
    world.put(pod("b", "1", "Running"));
    assert_eq!(
        charged(new_pod(), &world).unwrap_err(),
        "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    );
}

#[test]
fn a_limit_that_changes_is_heeded_at_once() {
    let told = json!({"hard": {"pods": "9"}, "used": {"pods": "0"}});
    let less = cluster([
        quota(json!({"hard": {"pods": "1"}}), told.clone()),
        pod("a", "1", "Running"),
    ]);
    assert!(
        charged(new_pod(), &less)
            .unwrap_err()
            .contains("limited: pods=1")
    );
    // What is no longer limited is no longer known to be charged.
    let none = cluster([quota(json!({"hard": {"services": "1"}}), told)]);
    let status = json!({"hard": {"services": "1"}, "used": {}});
    assert_eq!(charged(new_pod(), &none).unwrap(), [status]);
}

#[test]
fn objects_count_by_the_selector_of_the_moment() {
    let chooses = |class: &str| {
        let expression = json!({"scopeName": "PriorityClass", "operator": "In", "values": [class]});
        json!({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [expression]}})
    };
    let told = json!({"hard": {"pods": "1"}, "used": {"pods": "0"}});
    let mut high = pod("a", "1", "Running");
    high["spec"]["priorityClassName"] = json!("high");
    let case = || Case::pod(json!({"priorityClassName": "high", "containers": []}));
    let world = cluster([quota(chooses("high"), told.clone()), high.clone()]);
    assert!(
        charged(case(), &world)
            .unwrap_err()
            .contains("exceeded quota")
    );
    let world = cluster([quota(chooses("low"), told), high]);
    assert_eq!(charged(case(), &world), Ok(vec![]));
}

#[test]
fn what_pods_and_claims_use_alike_is_counted_of_both() {
    let class = json!({"kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"}});
    let exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2});
    let claim = json!({"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}});
    let mut asks = pod("a", "1", "Running");
    let requests = json!({"example.com/gpu": "3"});
    asks["spec"]["containers"][0]["resources"] = json!({"requests": requests, "limits": requests});
    let hard = json!({"requests.example.com/gpu": "9"});
    let world = cluster([quota(json!({"hard": hard}), json!({})), class, claim, asks]);
    let new = Case::pod(json!({"containers": [
        {"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}));
    let used = json!({"requests.example.com/gpu": "6"});
    assert_eq!(
        charged(new, &world).unwrap(),
        [json!({"hard": hard, "used": used})]
    );
}
