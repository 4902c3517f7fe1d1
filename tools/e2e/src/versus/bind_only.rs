//! What the API server allows: one binding and one event per pod, without a thought.

use crate::world::World;
use anyhow::Result;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;

/// Requests at a time.
const WORKERS: usize = 64;

/// Binds all pods of the namespace to the nodes in turn.
pub(super) async fn run(world: &World) -> Result<()> {
    let nodes = world.all::<Node>().list(&Default::default()).await?;
    let nodes: Vec<_> = nodes.iter().map(ResourceExt::name_any).collect();
    let pods = world.own::<Pod>().list(&Default::default()).await?;
    let bound = pods.iter().enumerate().map(|(i, pod)| {
        let node = &nodes[i % nodes.len()];
        async move {
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name_any(), "uid": pod.uid()},
                "target": {"kind": "Node", "name": node},
            });
            let path = format!(
                "/api/v1/namespaces/{}/pods/{}/binding",
                world.namespace(),
                pod.name_any()
            );
            let request = http::Request::post(path)
                .header("content-type", "application/json")
                .body(serde_json::to_vec(&binding)?)?;
            world.client().request::<serde_json::Value>(request).await?;
            event(world, pod, node).await
        }
    });
    let mut bound = futures::stream::iter(bound).buffer_unordered(WORKERS);
    while bound.try_next().await?.is_some() {}
    Ok(())
}

async fn event(world: &World, pod: &Pod, node: &str) -> Result<()> {
    let note = format!(
        "Successfully assigned {}/{} to {node}",
        world.namespace(),
        pod.name_any()
    );
    let event: Event = serde_json::from_value(json!({
        "metadata": {"generateName": "bind-only-"},
        "eventTime": MicroTime(Timestamp::now()),
        "reportingController": "bind-only",
        "reportingInstance": "bind-only",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": world.namespace(),
            "name": pod.name_any(),
            "uid": pod.uid(),
            "resourceVersion": pod.resource_version(),
        },
        "note": note,
    }))?;
    world
        .own::<Event>()
        .create(&PostParams::default(), &event)
        .await?;
    Ok(())
}
