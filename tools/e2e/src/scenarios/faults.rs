//! Things break in the middle of the work.

use crate::bindings::Bindings;
use crate::home::Home;
use crate::world::World;
use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};
use serde_json::json;

/// The scheduler is killed in the middle of 2,000 pods, and started again.
pub(crate) async fn kill(home: &mut Home) -> Result<()> {
    const PODS: usize = 2_000;
    let config = fast(home)?;
    let world = &home.world;
    nodes(world, 100, "20").await?;
    backlog(world, PODS).await?;
    let bindings = Bindings::follow(world);
    let first = home.scheduler("kill-1", &[&config])?;
    bindings.some(300).await?;
    first.signal("KILL")?;
    let bound = world.count_bound().await?;
    ensure!(bound < PODS, "it was done before it was killed");
    let _second = home.scheduler("kill-2", &[&config])?;
    world.all_bound(PODS).await?;
    bindings.some(PODS).await?;
    world.nothing_over_committed().await
}

/// The API server is killed in the middle of 1,000 pods, and started again.
pub(crate) async fn api_restart(home: &mut Home) -> Result<()> {
    const PODS: usize = 1_000;
    let config = fast(home)?;
    nodes(&home.world, 50, "20").await?;
    backlog(&home.world, PODS).await?;
    let bindings = Bindings::follow(&home.world);
    let _scheduler = home.scheduler("api-restart", &[&config])?;
    bindings.some(100).await?;
    home.restart_api().await?;
    home.world.all_bound(PODS).await?;
    bindings.some(PODS).await?;
    // It still hears of what is new.
    home.world.node("late", "20", json!({})).await?;
    home.world.pod("late", "1", json!({})).await?;
    home.world.bound_to("late", "late").await?;
    home.world.nothing_over_committed().await
}

/// Lets the scheduler ask as often as it likes: many requests are on their way when something breaks.
fn fast(home: &Home) -> Result<String> {
    let file = home.folder().join("fast.yaml");
    let text = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {qps: 5000, burst: 5000}
";
    std::fs::write(&file, text)?;
    Ok(format!("--config={}", file.display()))
}

async fn nodes(world: &World, count: usize, cpu: &str) -> Result<()> {
    for i in 0..count {
        world.node(&format!("n{i}"), cpu, json!({})).await?;
    }
    Ok(())
}

/// Pods that fill the nodes exactly.
async fn backlog(world: &World, count: usize) -> Result<()> {
    let created = (0..count).map(|i| async move {
        let name = format!("p{i}");
        world.pod(&name, "1", json!({})).await
    });
    let mut created = futures::stream::iter(created).buffer_unordered(16);
    while created.try_next().await?.is_some() {}
    Ok(())
}
