//! Every constraint once.

use crate::home::Home;
use crate::world::World;
use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One pod per constraint; only one node satisfies it.
pub(crate) async fn each_once(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("constraints", &[])?;
    let world = &home.world;
    for (name, zone) in [("a", "x"), ("b", "x"), ("c", "y")] {
        let labels = json!({"topology.kubernetes.io/zone": zone, "disk": name});
        world.node(name, "16", labels).await?;
    }
    nodes(world).await?;
    pods(world).await?;
    spread(world).await?;
    taints(world).await
}

async fn nodes(world: &World) -> Result<()> {
    let selected = json!({"nodeSelector": {"disk": "b"}});
    world.pod("selected", "100m", selected).await?;
    world.bound_to("selected", "b").await?;

    let term = |key: &str, value: &str| json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
    let zone = "topology.kubernetes.io/zone";
    let required = json!({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term(zone, "y")]},
    }}});
    world.pod("required", "100m", required).await?;
    world.bound_to("required", "c").await?;

    let preferred = json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": term("disk", "a")},
        ],
    }}});
    world.pod("preferred", "100m", preferred).await?;
    world.bound_to("preferred", "a").await?;

    let nowhere = json!({"nodeSelector": {"disk": "none"}});
    world.pod("nowhere", "100m", nowhere).await?;
    let expected = "3 node(s) didn't match Pod's node affinity/selector";
    world.refused("nowhere", expected).await?;
    // A label brings it home.
    let label = Patch::Merge(json!({"metadata": {"labels": {"disk": "none"}}}));
    let nodes = world.all::<Node>();
    nodes.patch("c", &PatchParams::default(), &label).await?;
    world.bound_to("nowhere", "c").await
}

async fn pods(world: &World) -> Result<()> {
    let term = |app: &str, key: &str| json!([{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]);
    let host = "kubernetes.io/hostname";
    let near = json!({"affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": term("selected", host),
    }}});
    world.pod("near", "100m", near).await?;
    world.bound_to("near", "b").await?;

    let far = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution":
            term("selected", "topology.kubernetes.io/zone"),
    }}});
    world.pod("far", "100m", far).await?;
    world.bound_to("far", "c").await?;

    for (name, node) in [("port-1", "a"), ("port-2", "b"), ("port-3", "c")] {
        let pinned = json!({"containers": [port()], "nodeSelector": {host: node}});
        world.pod(name, "100m", pinned).await?;
        world.bound_to(name, node).await?;
    }
    let spec = json!({"containers": [port()]});
    world.pod("port-4", "100m", spec).await?;
    let expected = "3 node(s) didn't have free ports for the requested pod ports";
    world.refused("port-4", expected).await?;
    world.remove_pod("port-2").await?;
    world.bound_to("port-4", "b").await
}

fn port() -> Value {
    json!({
        "name": "main",
        "image": "example.com/main:1",
        "ports": [{"containerPort": 80, "hostPort": 8080}],
    })
}

async fn spread(world: &World) -> Result<()> {
    let constraint = json!({"topologySpreadConstraints": [{
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"spread": "yes"}},
    }]});
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for i in 0..6 {
        let name = format!("spread-{i}");
        let mut pod = crate::world::pod(&name, "100m", constraint.clone());
        pod["metadata"]["labels"]["spread"] = "yes".into();
        world.put::<Pod>(pod).await?;
        let zone = match world.bound(&name).await?.as_str() {
            "c" => "y",
            _ => "x",
        };
        *zones.entry(zone).or_default() += 1;
    }
    ensure!(
        zones.values().all(|count| *count == 3),
        "spread over the zones as {zones:?}"
    );
    Ok(())
}

async fn taints(world: &World) -> Result<()> {
    let nodes = world.all::<Node>();
    let params = PatchParams::default();
    let taint = json!({"spec": {"taints": [
        {"key": "only", "value": "friends", "effect": "NoSchedule"},
    ]}});
    for name in ["a", "b"] {
        nodes.patch(name, &params, &Patch::Merge(&taint)).await?;
    }
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes.patch("c", &params, &cordon).await?;
    world.seen("c").await?;
    world.pod("kept-out", "100m", json!({})).await?;
    for expected in [
        "1 node(s) were unschedulable",
        "2 node(s) had untolerated taint(s)",
    ] {
        world.refused("kept-out", expected).await?;
    }
    let friend = json!({
        "tolerations": [{"key": "only", "operator": "Equal", "value": "friends"}],
        "nodeSelector": {"kubernetes.io/hostname": "a"},
    });
    world.pod("friend", "100m", friend).await?;
    world.bound_to("friend", "a").await?;
    let open = Patch::Merge(json!({"spec": {"unschedulable": null}}));
    nodes.patch("c", &params, &open).await.context("uncordon")?;
    world.bound_to("kept-out", "c").await
}
