//! More than one scheduler at work.

use crate::bindings::Bindings;
use crate::home::Home;
use crate::world::World;
use anyhow::Result;
use serde_json::json;
use std::ops::Range;

/// Pods that fill the nodes exactly.
pub(super) const RACING: usize = 400;

/// Two schedulers of one name without a lease between them, both at work: each pod is bound once, and
/// each learns what the other one did.
pub(crate) async fn race(home: &mut Home) -> Result<()> {
    let world = &home.world;
    full_nodes(world).await?;
    let bindings = Bindings::follow(world);
    let first = home.scheduler("race-1", &["--seed=1"])?;
    let second = home.scheduler("race-2", &["--seed=2"])?;
    // There is room for twice as many, for nobody can forbid two minds the last place at once.
    let (half, most) = (RACING / 2, RACING * 3 / 4);
    create(world, 0..half).await?;
    world.all_bound(half).await?;
    world.nothing_over_committed().await?;
    // Each goes on alone for a while, so that both were there; the last pods fit only if the one that
    // is left knows every pod of the other one.
    drop(first);
    create(world, half..most).await?;
    world.all_bound(most).await?;
    let _third = home.scheduler("race-3", &["--seed=3"])?;
    create(world, most..most + 1).await?;
    world.all_bound(most + 1).await?;
    drop(second);
    create(world, most + 1..RACING).await?;
    world.all_bound(RACING).await?;
    bindings.once_each(RACING).await?;
    world.nothing_over_committed().await
}

pub(super) async fn full_nodes(world: &World) -> Result<()> {
    for i in 0..20 {
        world.node(&format!("n{i}"), "20", json!({})).await?;
    }
    Ok(())
}

pub(super) async fn create(world: &World, numbers: Range<usize>) -> Result<()> {
    for i in numbers {
        world.pod(&format!("p{i}"), "1", json!({})).await?;
    }
    Ok(())
}
