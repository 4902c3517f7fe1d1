//! What is wished for, and not asked.

use crate::home::Home;
use crate::world::World;
use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// One pod per preference; both nodes would do.
pub(crate) async fn each_once(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("preferences", &[])?;
    let world = &home.world;
    for name in ["a", "b"] {
        world.node(name, "64", json!({})).await?;
    }
    world.seen("a").await?;
    let only = json!({"nodeSelector": {"kubernetes.io/hostname": "b"}});
    world.pod("friend", "100m", only).await?;
    world.bound_to("friend", "b").await?;

    let term = json!([{"weight": 100, "podAffinityTerm": {
        "labelSelector": {"matchLabels": {"app": "friend"}},
        "topologyKey": "kubernetes.io/hostname",
    }}]);
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let near = json!({"affinity": {"podAffinity": {preferred: term}}});
    world.pod("near", "100m", near).await?;
    world.bound_to("near", "b").await?;
    let far = json!({"affinity": {"podAntiAffinity": {preferred: term}}});
    world.pod("far", "100m", far).await?;
    world.bound_to("far", "a").await?;

    taint(world).await?;
    image(world).await?;
    spread(world).await
}

async fn change(world: &World, node: &str, patch: Value) -> Result<()> {
    let nodes = world.all::<Node>();
    let params = PatchParams::default();
    let is_status = patch.get("status").is_some();
    let patch = Patch::Merge(patch);
    match is_status {
        true => nodes.patch_status(node, &params, &patch).await?,
        false => nodes.patch(node, &params, &patch).await?,
    };
    Ok(())
}

async fn taint(world: &World) -> Result<()> {
    let taint = json!([{"key": "rather", "value": "not", "effect": "PreferNoSchedule"}]);
    change(world, "a", json!({"spec": {"taints": taint}})).await?;
    world.seen("b").await?;
    // Its neighbours make b the fuller one, so that only the taint speaks for it.
    world.pod("shy", "100m", json!({})).await?;
    world.bound_to("shy", "b").await?;
    change(world, "a", json!({"spec": {"taints": null}})).await?;
    world.seen("a").await
}

async fn image(world: &World) -> Result<()> {
    let image = "example.com/large:1";
    let images = json!([{"names": [image], "sizeBytes": 1_000_000_000}]);
    change(world, "b", json!({"status": {"images": images}})).await?;
    world.seen("b").await?;
    let container = json!({"name": "main", "image": image});
    world
        .pod("large", "100m", json!({"containers": [container]}))
        .await?;
    world.bound_to("large", "b").await
}

async fn spread(world: &World) -> Result<()> {
    let constraint = json!({"topologySpreadConstraints": [{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"spread": "yes"}},
    }]});
    let mut on_a = 0;
    for i in 0..4 {
        let name = format!("spread-{i}");
        let mut pod = crate::world::pod(&name, "100m", constraint.clone());
        pod["metadata"]["labels"]["spread"] = "yes".into();
        world.put::<Pod>(pod).await?;
        on_a += usize::from(world.bound(&name).await? == "a");
    }
    ensure!(on_a == 2, "{on_a} of 4 pods are on a");
    Ok(())
}
