//! Pods that only need a place.

use crate::home::Home;
use crate::world::World;
use anyhow::{Result, bail, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// Pods are bound where there is room, with an event; the one too many is told why.
pub(crate) async fn basic(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("basic", &[])?;
    let world = &home.world;
    for name in ["a", "b", "c"] {
        world.node(name, "2", json!({})).await?;
    }
    for i in 0..6 {
        world.pod(&format!("p{i}"), "1", json!({})).await?;
    }
    let nodes = world.all_bound(6).await?;
    for name in ["a", "b", "c"] {
        let count = nodes.values().filter(|node| *node == name).count();
        ensure!(count == 2, "{count} pods on {name}, expected 2");
    }
    let note = world.event("p0", "Scheduled").await?;
    let expected = format!(
        "Successfully assigned {}/p0 to {}",
        world.namespace(),
        nodes["p0"]
    );
    ensure!(note == expected, "the event says {note:?}");

    world.pod("much", "1", json!({})).await?;
    let start = "0/3 nodes are available: 3 Insufficient cpu.";
    world.refused("much", start).await?;
    let note = world.event("much", "FailedScheduling").await?;
    ensure!(note.starts_with(start), "the event says {note:?}");

    tokio::select! {
        told = world.event_series("much", "FailedScheduling") => told?,
        given = crumbs(world, "a") => given?,
    }

    // A new node is reason enough to try again.
    world.node("d", "2", json!({})).await?;
    world.bound_to("much", "d").await
}

/// Gives a node of two cpus a little more again and again: reason to try again, in vain.
async fn crumbs(world: &World, node: &str) -> Result<()> {
    for more in 1..900 {
        let cpu = format!("{}m", 2000 + more);
        let amounts = json!({"status": {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}});
        let nodes = world.all::<Node>();
        let patch = Patch::Merge(amounts);
        nodes
            .patch_status(node, &PatchParams::default(), &patch)
            .await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    bail!("nothing came of {node}'s crumbs")
}

/// A pod with gates waits until they are gone.
pub(crate) async fn gates(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("gates", &[])?;
    let world = &home.world;
    world.node("a", "2", json!({})).await?;
    let gates = json!({"schedulingGates": [{"name": "example.com/wait"}]});
    world.pod("gated", "1", gates).await?;
    // The API server says that it is gated; the scheduler leaves it alone while others pass.
    world.pod("other", "1", json!({})).await?;
    world.bound_to("other", "a").await?;
    world.pending("gated", "SchedulingGated").await?;
    let open = Patch::Merge(json!({"spec": {"schedulingGates": []}}));
    let pods = world.own::<Pod>();
    pods.patch("gated", &PatchParams::default(), &open).await?;
    world.bound_to("gated", "a").await
}

/// Two profiles of one scheduler: each pod is decided by the one it names.
pub(crate) async fn profiles(home: &mut Home) -> Result<()> {
    let config = home.folder().join("profiles.yaml");
    let text = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}]
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
";
    std::fs::write(&config, text)?;
    let argument = format!("--config={}", config.display());
    let _scheduler = home.scheduler("profiles", &[&argument])?;
    let world = &home.world;
    world.node("full", "8", json!({})).await?;
    world.pod("first", "4", json!({})).await?;
    world.bound_to("first", "full").await?;
    world.node("free", "8", json!({})).await?;
    world.seen("free").await?;
    let packer = json!({"schedulerName": "packer"});
    world.pod("packed", "1", packer).await?;
    world.bound_to("packed", "full").await?;
    world.pod("spread", "1", json!({})).await?;
    world.bound_to("spread", "free").await?;
    let stranger = json!({"schedulerName": "somebody-else"});
    world.pod("stranger", "1", stranger).await?;
    world.pod("last", "1", json!({})).await?;
    world.bound("last").await?;
    let pod = world.get_pod("stranger").await?;
    ensure!(
        crate::world::node_of(&pod).is_none(),
        "a pod of another scheduler was bound"
    );
    Ok(())
}
