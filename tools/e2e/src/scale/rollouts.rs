//! Many rolling updates at once.

use super::Bench;
use super::server::deployment;
use anyhow::Result;
use serde_json::json;
use std::time::Instant;

const NODES: usize = 1_000;
const DEPLOYMENTS: usize = 1_000;
const REPLICAS: usize = 10;

/// How much longer than as many new pods take.
const TIMES: f64 = 3.0;

/// Makes Deployments, and changes the templates of all.
pub(super) async fn run(bench: &mut Bench) -> Result<()> {
    let (nodes, deployments) = (bench.sized(NODES), bench.sized(DEPLOYMENTS));
    let pods = deployments * REPLICAS;
    println!("rollouts: {deployments} Deployments with {REPLICAS} pods each, on {nodes} nodes");
    let server = bench.server("rollouts", nodes, &[]).await?;
    server.nodes_are_ready(nodes).await?;
    let (begun, cpu_s) = (Instant::now(), server.cpu_s()?);
    let names = || (0..deployments).map(|i| format!("d{i}"));
    server
        .create(names().map(|name| deployment(&name, REPLICAS)))
        .await?;
    server
        .wait("bindings", || async {
            Ok(server.bound().await? as usize >= pods)
        })
        .await?;
    let bound = server.since(begun, cpu_s)?;
    bench.tell("  all bound for the first time", &bound);
    let are_there = || async {
        let now = server.replicas().await?;
        let all = [now.all, now.updated, now.available];
        Ok(all.iter().all(|count| *count as usize == pods))
    };
    server.wait("running pods", are_there).await?;
    let made = server.since(begun, cpu_s)?;
    bench.tell("  all Running for the first time", &made);
    let (begun, cpu_s) = (Instant::now(), server.cpu_s()?);
    let template = json!({"metadata": {"annotations": {"version": "2"}}});
    let patch = json!({"spec": {"template": template}});
    let patches = names().map(|name| {
        let path = format!("/apis/apps/v1/namespaces/default/deployments/{name}");
        (path, patch.clone())
    });
    server.patch(patches).await?;
    bench.tell("  patched", &server.since(begun, cpu_s)?);
    server.wait("updated pods", are_there).await?;
    let updated = server.since(begun, cpu_s)?;
    bench.tell("  all updated", &updated);
    bench.tell_requests(&server).await?;
    let times = updated.wall_s / made.wall_s;
    bench.expect("times as long as as many new pods", times, TIMES);
    Ok(())
}
