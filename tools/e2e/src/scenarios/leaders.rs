//! One of several schedulers leads, the others wait.

use super::replicas::{RACING, create, full_nodes};
use crate::bindings::Bindings;
use crate::home::Home;
use crate::world::{World, wait};
use anyhow::Result;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;

/// Upstream's timings, five times as fast.
const ELECTION: &[&str] = &[
    "--leader-elect=true",
    "--leader-elect-resource-name=stowplan-scheduler",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=400ms",
];

async fn leader(world: &World) -> Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(world.client(), "kube-system");
    let lease = leases.get_opt("stowplan-scheduler").await?;
    let Some(spec) = lease.and_then(|lease| lease.spec) else {
        return Ok(None);
    };
    Ok(spec.holder_identity.filter(|holder| !holder.is_empty()))
}

/// Waits until the lease has a holder other than the given one.
pub(super) async fn leader_but(world: &World, old: &str) -> Result<String> {
    let found = || async { Ok(leader(world).await?.filter(|holder| holder != old)) };
    wait("a leader", found).await
}

pub(super) async fn forget_lease(world: &World) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(world.client(), "kube-system");
    let deleted = leases
        .delete("stowplan-scheduler", &Default::default())
        .await;
    crate::world::ignore_missing(deleted)
}

/// The leader is killed; the other one takes over and goes on.
pub(crate) async fn failover(home: &mut Home) -> Result<()> {
    let world = &home.world;
    forget_lease(world).await?;
    world.node("a", "8", json!({})).await?;
    let first = home.scheduler("failover-1", ELECTION)?;
    let old = leader_but(world, "").await?;
    let _second = home.scheduler("failover-2", ELECTION)?;
    world.pod("before", "1", json!({})).await?;
    world.bound("before").await?;
    first.signal("KILL")?;
    world.pod("after", "1", json!({})).await?;
    world.bound("after").await?;
    leader_but(world, &old).await?;
    Ok(())
}

/// The leader is stopped for longer than its lease lasts and wakes up when another one leads: what
/// it had in mind must not come on top of what the other one did.
pub(crate) async fn old_leader(home: &mut Home) -> Result<()> {
    let world = &home.world;
    forget_lease(world).await?;
    full_nodes(world).await?;
    let first = home.scheduler("old-leader-1", ELECTION)?;
    let old = leader_but(world, "").await?;
    let _second = home.scheduler("old-leader-2", ELECTION)?;
    let bindings = Bindings::follow(world);
    let half = RACING / 2;
    create(world, 0..half).await?;
    bindings.some(50).await?;
    first.signal("STOP")?;
    leader_but(world, &old).await?;
    // Requests that were on their way when it was stopped cannot be called back; the pods that
    // existed then are bound before it wakes up.
    world.all_bound(half).await?;
    first.signal("CONT")?;
    create(world, half..RACING).await?;
    world.all_bound(RACING).await?;
    bindings.some(RACING).await?;
    world.nothing_over_committed().await
}
