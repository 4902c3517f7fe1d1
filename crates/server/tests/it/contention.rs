//! Many clients who want the same thing at the same time.

use crate::client::{Answer, Client, pod};
use serde_json::json;
use std::future::Future;

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// Runs all at the same time and says how many answers had which code.
async fn race<F>(count: usize, ask: impl Fn(usize) -> F) -> Vec<(u16, usize)>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|i| tokio::spawn(ask(i))).collect();
    let mut codes = Vec::new();
    for task in tasks {
        codes.push(task.await.expect("no panic").code);
    }
    codes.sort_unstable();
    let mut counted: Vec<(u16, usize)> = Vec::new();
    for code in codes {
        match counted.last_mut() {
            Some((last, n)) if *last == code => *n += 1,
            _ => counted.push((code, 1)),
        }
    }
    counted
}

async fn limit(client: &Client, name: &str, pods: &str) {
    let spec = json!({"hard": {"pods": pods}});
    client
        .create(QUOTAS, json!({"metadata": {"name": name}, "spec": spec}))
        .await;
    let status = json!({"status": {"hard": {"pods": pods}, "used": {"pods": "0"}}});
    client
        .patch(&format!("{QUOTAS}/{name}/status"), status)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quota_is_never_exceeded() {
    let client = Client::new().await;
    limit(&client, "a", "7").await;
    limit(&client, "b", "9").await;
    let codes = race(40, |i| {
        let client = client.clone();
        async move { client.post(PODS, pod(&format!("p{i}"))).await }
    });
    assert_eq!(codes.await, [(201, 7), (403, 33)]);
    let pods = client.get(PODS).await;
    assert_eq!(pods["items"].as_array().map(Vec::len), Some(7));
    for name in ["a", "b"] {
        let quota = client.get(&format!("{QUOTAS}/{name}")).await;
        assert_eq!(quota["status"]["used"]["pods"], "7", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_name_is_given_once_and_charged_once() {
    let client = Client::new().await;
    limit(&client, "a", "9").await;
    let codes = race(20, |_| {
        let client = client.clone();
        async move { client.post(PODS, pod("same")).await }
    });
    assert_eq!(codes.await, [(201, 1), (409, 19)]);
    let quota = client.get(&format!("{QUOTAS}/a")).await;
    assert_eq!(quota["status"]["used"]["pods"], "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quota_that_counts_quotas_survives_one_of_its_own_name() {
    let client = Client::new().await;
    let hard = json!({"resourcequotas": "5"});
    let quota = json!({"metadata": {"name": "a"}, "spec": {"hard": hard}});
    client.create(QUOTAS, quota.clone()).await;
    let status = json!({"status": {"hard": hard, "used": {"resourcequotas": "1"}}});
    client.patch(&format!("{QUOTAS}/a/status"), status).await;
    assert_eq!(client.post(QUOTAS, quota).await.code, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pod_is_bound_once() {
    let client = Client::new().await;
    client.create(PODS, pod("p")).await;
    let codes = race(20, |i| {
        let client = client.clone();
        let target = json!({"kind": "Node", "name": format!("n{i}")});
        let binding = json!({"metadata": {"name": "p"}, "target": target});
        async move { client.post(&format!("{PODS}/p/binding"), binding).await }
    });
    assert_eq!(codes.await, [(201, 1), (409, 19)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_budget_lets_no_more_pods_go_than_it_allows() {
    let client = Client::new().await;
    for i in 0..12 {
        let name = format!("p{i}");
        client.create(PODS, pod(&name)).await;
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"status": {"phase": "Running", "conditions": ready}});
        client.patch(&format!("{PODS}/{name}/status"), status).await;
    }
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}});
    client
        .create(BUDGETS, json!({"metadata": {"name": "b"}, "spec": spec}))
        .await;
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": 5, "currentHealthy": 12,
        "desiredHealthy": 7, "expectedPods": 12});
    client
        .patch(&format!("{BUDGETS}/b/status"), json!({"status": status}))
        .await;
    let codes = race(12, |i| {
        let client = client.clone();
        let name = format!("p{i}");
        let eviction = json!({"metadata": {"name": name}});
        async move {
            client
                .post(&format!("{PODS}/{name}/eviction"), eviction)
                .await
        }
    });
    assert_eq!(codes.await, [(201, 5), (429, 7)]);
    let budget = client.get(&format!("{BUDGETS}/b")).await;
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    let disrupted = budget["status"]["disruptedPods"].as_object();
    assert_eq!(disrupted.map(serde_json::Map::len), Some(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_created_goes_with_its_definition_or_does_not_come_to_be() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const OBJECTS: &str = "/apis/race.io/v1/namespaces/default/rs";
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let names = json!({"plural": "rs", "kind": "R"});
    let spec = json!({"group": "race.io", "scope": "Namespaced", "names": names,
        "versions": [version]});
    let definition = json!({"metadata": {"name": "rs.race.io"}, "spec": spec});
    let name = format!("{DEFINITIONS}/rs.race.io");
    let client = Client::new().await;
    for round in 0..100 {
        client.create(DEFINITIONS, definition.clone()).await;
        let codes = race(9, |i| {
            let (client, name) = (client.clone(), name.clone());
            let object = json!({"apiVersion": "race.io/v1", "kind": "R",
                "metadata": {"name": format!("x{i}")}});
            async move {
                match i {
                    4 => client.delete(&name).await,
                    _ => client.post(OBJECTS, object).await,
                }
            }
        });
        let codes = codes.await;
        let known = |(code, _): &(u16, usize)| [200, 201, 403, 404].contains(code);
        assert!(codes.iter().all(known), "{codes:?}");
        assert_eq!(client.get(&name).await["code"], 404, "round {round}");
        client.create(DEFINITIONS, definition.clone()).await;
        let left = client.get(OBJECTS).await;
        assert_eq!(left["items"], json!([]), "round {round}");
        assert_eq!(client.delete(&name).await.code, 200);
    }
}

/// As a kubelet does that sees that the time of a pod is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_deletes_at_once_is_told_so_even_if_another_removes_it() {
    let client = Client::new().await;
    for i in 0..50 {
        client.create(PODS, pod(&format!("p{i}"))).await;
        let path = format!("{PODS}/p{i}");
        let (kubelet, its_path) = (client.clone(), path.clone());
        let kubelet = tokio::spawn(async move {
            loop {
                let seen = kubelet.get(&its_path).await;
                if seen["kind"] == "Status" {
                    break;
                }
                if seen["metadata"].get("deletionTimestamp").is_some() {
                    kubelet.delete(&its_path).await;
                }
            }
        });
        assert_eq!(client.delete(&path).await.code, 200, "{i}");
        kubelet.await.expect("no panic");
    }
}
