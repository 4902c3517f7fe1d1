//! Room that runs out, of all kinds.

use crate::home::Home;
use crate::world::World;
use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// Memory, extended resources and the number of pods.
pub(crate) async fn of_nodes(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("limits", &[])?;
    let world = &home.world;
    for name in ["a", "b"] {
        world.node(name, "16", json!({})).await?;
    }
    world
        .pod("huge", "100m", asking(json!({"memory": "1Ti"})))
        .await?;
    world.refused("huge", "2 Insufficient memory").await?;

    room(world, "b", json!({"example.com/gpu": "1"})).await?;
    world.seen("b").await?;
    for name in ["gpu-1", "gpu-2"] {
        world
            .pod(name, "100m", asking(json!({"example.com/gpu": "1"})))
            .await?;
    }
    // Those that came first are tried first.
    world.bound_to("gpu-1", "b").await?;
    world
        .refused("gpu-2", "2 Insufficient example.com/gpu")
        .await?;
    room(world, "a", json!({"example.com/gpu": "1"})).await?;
    world.bound_to("gpu-2", "a").await?;

    room(world, "a", json!({"pods": "1"})).await?;
    world.seen("b").await?;
    let only = json!({"nodeSelector": {"kubernetes.io/hostname": "a"}});
    world.pod("one-too-many", "100m", only).await?;
    world.refused("one-too-many", "1 Too many pods").await?;
    room(world, "a", json!({"pods": "2"})).await?;
    world.bound_to("one-too-many", "a").await
}

/// A spec whose container asks for this.
fn asking(resources: Value) -> Value {
    json!({"containers": [{
        "name": "main",
        "image": "example.com/main:1",
        "resources": {"requests": resources, "limits": resources},
    }]})
}

/// Changes what a node has room for.
async fn room(world: &World, node: &str, room: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": {"capacity": room, "allocatable": room}}));
    let nodes = world.all::<Node>();
    nodes
        .patch_status(node, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}
