//! More than one scheduler at work.

use crate::home::Home;
use crate::metrics;
use crate::scheduler::Scheduler;
use crate::world::{PATIENCE, World};
use anyhow::{Result, ensure};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};
use xtask::kubernetes::free_ports;

/// Pods that fill the nodes exactly.
pub(super) const RACING: usize = 400;

/// Two schedulers of one name without a lease between them, both at work: as many bindings are
/// accepted as there are pods, and each learns what the other one did.
///
/// Not promised: two minds may take the last place of a node at once, as two kube-schedulers may, for
/// no API server looks at room when it binds. So there is room for twice as many pods while both are at
/// work, and the nodes are filled to the brim when one is left, which works out only if it knows every
/// pod of the other.
pub(crate) async fn race(home: &mut Home) -> Result<()> {
    let world = &home.world;
    full_nodes(world).await?;
    let mut count = Accepted::default();
    let first = count.scheduler(home, 1)?;
    let second = count.scheduler(home, 2)?;
    let (half, most) = (RACING / 2, RACING * 3 / 4);
    create(world, 0..half).await?;
    world.all_bound(half).await?;
    count.are(home, half).await?;
    // Each goes on alone for a while, so that both were there.
    drop(first);
    create(world, half..most).await?;
    world.all_bound(most).await?;
    let _third = count.scheduler(home, 3)?;
    create(world, most..most + 1).await?;
    world.all_bound(most + 1).await?;
    count.are(home, most + 1).await?;
    drop(second);
    create(world, most + 1..RACING).await?;
    world.all_bound(RACING).await?;
    count.are(home, RACING).await?;
    world.nothing_over_committed().await
}

/// How many bindings the API accepted from each scheduler, as their metrics tell.
#[derive(Default)]
struct Accepted(BTreeMap<u16, usize>);

impl Accepted {
    fn scheduler(&mut self, home: &Home, number: usize) -> Result<Scheduler> {
        let [port] = free_ports()?;
        let (seed, port_flag) = (format!("--seed={number}"), format!("--secure-port={port}"));
        let arguments = [seed.as_str(), &port_flag, "--bind-address=127.0.0.1"];
        // The last count of a scheduler stays when it is gone.
        self.0.insert(port, 0);
        home.scheduler(&format!("race-{number}"), &arguments)
    }

    /// Waits until exactly so many bindings were accepted, from all schedulers that there were.
    async fn are(&mut self, home: &Home, expected: usize) -> Result<()> {
        let start = Instant::now();
        loop {
            for (port, count) in &mut self.0 {
                if let Ok(text) = metrics::text(home.kubeconfig(), *port).await {
                    *count = accepted(&text);
                }
            }
            let sum: usize = self.0.values().sum();
            ensure!(
                sum <= expected,
                "{sum} bindings of {expected} pods were accepted: {:?}",
                self.0
            );
            if sum == expected {
                return Ok(());
            }
            // What is bound is counted a little later.
            ensure!(start.elapsed() < PATIENCE, "{sum} of {expected} bindings");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The bindings that were answered with 201, in a text of metrics.
fn accepted(text: &str) -> usize {
    let start = "stowplan_bindings_total{code=\"201\"} ";
    let count = text.lines().find_map(|line| line.strip_prefix(start));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
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
