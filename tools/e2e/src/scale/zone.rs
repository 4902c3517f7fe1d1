//! A zone dies.

use super::{Bench, Server};
use anyhow::{Context, Result, ensure};
use std::process::Command;
use std::time::Instant;

const ZONE: &str = "e";
/// How long pods tolerate that their node is gone.
const TOLERATION_S: f64 = 30.0;
/// How long after that all run again, at most.
const SECONDS: f64 = 60.0;

/// Lets a zone die, and waits until as many pods run as before.
pub(super) async fn run(bench: &mut Bench, server: &Server) -> Result<()> {
    println!("zone: a fifth of the nodes dies");
    let before = server.replicas().await?;
    let (begun, cpu_s) = (Instant::now(), server.cpu_s()?);
    let failed = Command::new(&bench.binary)
        .args(["node", "fail", "--zone", ZONE, "--kubeconfig"])
        .arg(server.kubeconfig())
        .output()
        .context("stowplan node fail")?;
    ensure!(failed.status.success(), "{failed:?}");
    bench.tell("  failed", &server.since(begun, cpu_s)?);
    server
        .wait("taints", || async {
            let of_zone = "labelSelector=topology.kubernetes.io/zone%3De&limit=1";
            let nodes = server.get(&format!("/api/v1/nodes?{of_zone}")).await?;
            let taints = nodes["items"][0]["spec"]["taints"].as_array();
            Ok(taints.is_some_and(|taints| {
                let is_gone = |taint: &serde_json::Value| {
                    taint["key"] == "node.kubernetes.io/unreachable"
                        && taint["effect"] == "NoExecute"
                };
                taints.iter().any(is_gone)
            }))
        })
        .await?;
    let tainted = Instant::now();
    bench.tell("  tainted", &server.since(begun, cpu_s)?);
    server
        .wait("evictions", || async {
            Ok(server.replicas().await?.available < before.available)
        })
        .await?;
    bench.tell("  the first are lost", &server.since(begun, cpu_s)?);
    server
        .wait("replacements", || async {
            let now = server.replicas().await?;
            let is_over = tainted.elapsed().as_secs_f64() > TOLERATION_S;
            Ok(is_over && now.available >= before.available)
        })
        .await?;
    let after_s = tainted.elapsed().as_secs_f64() - TOLERATION_S;
    bench.tell("  as many run as before", &server.since(begun, cpu_s)?);
    bench.expect("seconds after the toleration's end", after_s, SECONDS);
    Ok(())
}
