//! `stowplan explain` finds whom to ask.

use super::leaders::{forget_lease, leader_but};
use crate::home::Home;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::kubernetes::free_ports;

/// The leader is found by its Lease, and tells what it decided; when it is gone, `explain` says what
/// it tried and plays the tournament itself.
pub(crate) async fn by_the_leader(home: &mut Home) -> Result<()> {
    let world = &home.world;
    forget_lease(world).await?;
    world.node("a", "2", json!({})).await?;
    let [port] = free_ports()?;
    let secure = format!("--secure-port={port}");
    let scheduler = home.scheduler(
        "explain",
        &[
            "--leader-elect=true",
            "--leader-elect-resource-name=stowplan-scheduler",
            "--bind-address=127.0.0.1",
            &secure,
        ],
    )?;
    leader_but(world, "").await?;
    world.pod("placed", "1", json!({})).await?;
    world.bound("placed").await?;
    // By a token, and by a certificate that the cluster trusts.
    let by_token = home.kubeconfig().to_owned();
    for kubeconfig in [Some(by_token.clone()), home.certified_admin()?] {
        let Some(kubeconfig) = kubeconfig else {
            continue;
        };
        let (said, warned) = home.explain("placed", &kubeconfig)?;
        let report: Value = serde_json::from_str(&said).with_context(|| warned.clone())?;
        let moment = &report["moment"];
        ensure!(moment["atDecision"] == true, "{moment}; {warned}");
        ensure!(moment["lastAttempt"].is_string(), "{moment}");
        ensure!(warned.is_empty(), "{warned}");
    }

    // It goes without a word: the Lease still names it.
    scheduler.signal("KILL")?;
    drop(scheduler);
    let (said, warned) = home.explain("placed", &by_token)?;
    let report: Value = serde_json::from_str(&said).with_context(|| warned.clone())?;
    ensure!(report["moment"]["atDecision"] == false, "{report}");
    let address = format!("127.0.0.1:{port}");
    for word in [&*address, "kube-system/stowplan-scheduler", "--scheduler"] {
        ensure!(warned.contains(word), "{word} is not in {warned}");
    }
    Ok(())
}
