//! Many nodes and pods, from nothing.

use super::server::deployment;
use super::{Bench, Server};
use anyhow::{Result, ensure};

const NODES: usize = 5_000;
const DEPLOYMENTS: usize = 100;
const PODS: usize = 50_000;

/// What is promised: seconds, on two cores, and memory.
const SECONDS: f64 = 60.0;
const CORES: f64 = 2.0;
const MIB: f64 = 2_048.0;

/// Starts a server and waits until all pods run.
pub(super) async fn run(bench: &mut Bench) -> Result<Server> {
    let nodes = bench.sized(NODES);
    let replicas = bench.sized(PODS).div_ceil(DEPLOYMENTS);
    let pods = replicas * DEPLOYMENTS;
    println!("start: {nodes} nodes, {DEPLOYMENTS} Deployments with {replicas} pods each");
    let fast = ["--node-eviction-rate=1000"];
    let server = bench.server("start", nodes, &fast).await?;
    let begun = server.begun;
    server
        .create((0..DEPLOYMENTS).map(|i| deployment(&format!("d{i}"), replicas)))
        .await?;
    bench.tell("  applied", &server.since(begun, 0.0)?);
    server
        .wait("bindings", || async {
            Ok(server.bound().await? as usize >= pods)
        })
        .await?;
    bench.tell("  all bound", &server.since(begun, 0.0)?);
    server
        .wait("running pods", || async {
            Ok(server.replicas().await?.available as usize >= pods)
        })
        .await?;
    let running = server.since(begun, 0.0)?;
    bench.tell("  all Running, from the start", &running);
    let others = "/api/v1/pods?fieldSelector=status.phase%21%3DRunning";
    let others = server.get(others).await?;
    ensure!(
        others["items"].as_array().is_none_or(Vec::is_empty),
        "a Deployment says that its pods run, and they do not"
    );
    bench.tell_requests(&server).await?;
    bench.expect("processor seconds", running.cpu_s, SECONDS * CORES);
    bench.expect("MiB at most", running.peak_mib as f64, MIB);
    Ok(server)
}
