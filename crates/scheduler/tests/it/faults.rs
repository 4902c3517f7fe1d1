//! Schedulers die, race and lose their connections.

use crate::cluster::{Cluster, asks, condition, node_of};
use futures::StreamExt;
use futures::future::join_all;
use http_body_util::{BodyStream, StreamBody};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stowplan_api::k8s::api::core::v1::Pod;
use tower::{BoxError, service_fn};

/// Nodes with room for 4 pods each that ask for one cpu.
async fn nodes(cluster: &Cluster, count: usize) {
    for i in 0..count {
        cluster.plain_node(&format!("node-{i}")).await;
    }
}

async fn pods(cluster: &Cluster, range: std::ops::Range<usize>) {
    for i in range {
        cluster
            .pod(&format!("pod-{i}"), json!({"containers": asks("1")}))
            .await;
    }
}

/// No node has more than it has room for.
fn check(pods: &[Pod]) {
    let mut pods_on: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *pods_on.entry(node_of(pod).unwrap()).or_default() += 1;
    }
    assert!(pods_on.values().all(|&count| count <= 4), "{pods_on:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_that_dies_is_followed_by_another_in_the_middle_of_500_pods() {
    let cluster = Cluster::new().await;
    nodes(&cluster, 125).await;
    let first = cluster.scheduler().await;
    pods(&cluster, 0..250).await;
    cluster.all_bound(100).await;
    drop(first);
    pods(&cluster, 250..500).await;
    let _second = cluster.scheduler().await;
    let bound = cluster.all_bound(500).await;
    check(&bound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_schedulers_that_race_bind_every_pod_once() {
    let cluster = Cluster::new().await;
    nodes(&cluster, 10).await;
    let bindings = Arc::new(AtomicU64::new(0));
    let count = |client: kube::Client| {
        let bindings = bindings.clone();
        faulty(client, move |path, _| {
            if path.contains("/binding") {
                bindings.fetch_add(1, Ordering::Relaxed);
            }
            Fault::None
        })
    };
    let _one = cluster
        .scheduler_with(count(cluster.scheduler_client()), "")
        .await;
    let _two = cluster
        .scheduler_with(count(cluster.scheduler_client()), "")
        .await;
    let all: Vec<_> = (0..200).map(|i| format!("pod-{i}")).collect();
    join_all(all.iter().map(|name| cluster.pod(name, json!({})))).await;
    let bound = cluster.all_bound(200).await;
    // A second binding would have been refused, and the node would not have changed.
    for pod in bound {
        let name = pod.metadata.name.clone().unwrap();
        let now = cluster.all::<Pod>().get(&name).await.unwrap();
        assert_eq!(node_of(&now), node_of(&pod));
        let scheduled = condition(&now, "PodScheduled").expect("a condition");
        assert_eq!(scheduled["status"], "True", "nobody says otherwise");
    }
    assert!(bindings.load(Ordering::Relaxed) >= 200);
}

/// What happens to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It does not arrive.
    Lost,
    /// It arrives; the answer does not.
    Unanswered,
    /// The answer breaks off after so many parts.
    BreaksOff(usize),
}

/// A client whose requests go wrong as `plan` says, which is told their path and number.
pub(crate) fn faulty(
    client: kube::Client,
    plan: impl Fn(&str, u64) -> Fault + Clone + Send + Sync + 'static,
) -> kube::Client {
    let number = Arc::new(AtomicU64::new(0));
    let service = service_fn(move |request: http::Request<kube::client::Body>| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let fault = plan(&request.uri().to_string(), number);
        let client = client.clone();
        async move {
            if fault == Fault::Lost {
                return Err("the request was lost".into());
            }
            let response = client.send(request).await.map_err(BoxError::from)?;
            let parts = match fault {
                Fault::Unanswered => return Err("the answer was lost".into()),
                Fault::BreaksOff(parts) => parts,
                _ => usize::MAX,
            };
            let response = response.map(|body| breaking(body, parts));
            Ok::<_, BoxError>(response)
        }
    });
    kube::Client::new(service, "default")
}

/// A body that ends in an error after so many parts.
fn breaking(
    body: kube::client::Body,
    parts: usize,
) -> impl http_body::Body<Data = bytes::Bytes, Error = BoxError> {
    let mut left = parts;
    let stream = BodyStream::new(body).map(move |part| {
        if left == 0 {
            return Err(BoxError::from("the connection broke"));
        }
        left = left.saturating_sub(1);
        part.map_err(BoxError::from)
    });
    StreamBody::new(stream)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_that_break_lose_nothing() {
    let cluster = Cluster::new().await;
    nodes(&cluster, 25).await;
    let plan = |path: &str, number: u64| match path.contains("watch=") {
        true => Fault::BreaksOff(usize::try_from(number % 7).unwrap_or(0)),
        false => Fault::None,
    };
    let client = faulty(cluster.scheduler_client(), plan);
    let _scheduler = cluster.scheduler_with(client, "").await;
    pods(&cluster, 0..100).await;
    check(&cluster.all_bound(100).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_lost_or_not_answered_bind_no_pod_twice() {
    let cluster = Cluster::new().await;
    nodes(&cluster, 25).await;
    let plan = |path: &str, number: u64| match (path.contains("/binding"), number % 5) {
        (true, 0) => Fault::Lost,
        (true, 1 | 2) => Fault::Unanswered,
        _ => Fault::None,
    };
    let client = faulty(cluster.scheduler_client(), plan);
    let config = "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1";
    let _scheduler = cluster.scheduler_with(client, config).await;
    pods(&cluster, 0..100).await;
    check(&cluster.all_bound(100).await);
}
