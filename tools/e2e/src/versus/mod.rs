//! Stowplan and kube-scheduler side by side on one real kube-apiserver.
//!
//! The backlog is created before the scheduler starts, and the clock runs from the first pod that is
//! bound to the last, as a watch sees them: starting up is not part of it. A loop that only binds
//! (and writes an event per pod, as schedulers do) shows what the API server allows. Schedulers write
//! their events behind the bindings: the time until the last one is there is shown beside it.

mod bind_only;
mod drain;

use crate::home::client;
use crate::world::World;
use anyhow::Result;
use drain::{Contestant, Speed};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use xtask::kubernetes::{self, Cluster, Stowplan};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Nodes of the cluster.
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// Pods of the basic backlog.
    #[arg(long, default_value_t = 10_000)]
    basic: usize,
    /// Pods of the backlog with topology spread.
    #[arg(long, default_value_t = 2_000)]
    spread: usize,
    /// How often everything is repeated; the order changes each time.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// A backlog of pods that look alike.
#[derive(Clone, Copy, PartialEq)]
enum Backlog {
    Basic,
    Spread,
}

impl Backlog {
    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Spread => "spread",
        }
    }

    fn pod(self, name: &str) -> Value {
        let spec = match self {
            Self::Basic => json!({}),
            Self::Spread => json!({"topologySpreadConstraints": [{
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"color": "blue"}},
            }]}),
        };
        let mut pod = crate::world::pod(name, "100m", spec);
        pod["metadata"]["labels"] = json!({"color": "blue"});
        pod
    }
}

/// The cluster that all share.
struct Arena {
    world: World,
    kubeconfig: PathBuf,
    folder: PathBuf,
    programs: PathBuf,
    stowplan: PathBuf,
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("stowplan-versus-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measure(options, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

async fn measure(options: &Options, folder: &Path) -> Result<()> {
    let programs = kubernetes::build()?;
    let cluster = Cluster::start(&programs, &folder.join("cluster"), &Default::default())?;
    let mut world = World::new(client(&cluster.kubeconfig()).await?);
    world.without_controllers("versus").await?;
    let arena = Arena {
        world,
        kubeconfig: cluster.kubeconfig(),
        folder: folder.to_owned(),
        programs,
        stowplan: Stowplan::build_released()?,
    };
    crate::footprint::nodes(&arena.world, options.nodes).await?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        for (backlog, pods) in [
            (Backlog::Basic, options.basic),
            (Backlog::Spread, options.spread),
        ] {
            let mut order = [
                Contestant::BindOnly,
                Contestant::Upstream,
                Contestant::Stowplan,
            ];
            order.rotate_left(number % 3);
            let mut speeds = Vec::new();
            for contestant in order {
                let speed = drain::drained(&arena, contestant, backlog, pods).await?;
                let events = match speed.told {
                    Some(told) => format!("{told:.0} with their events"),
                    None => "some without an event".to_owned(),
                };
                println!(
                    "round {number} {} {}: {:.0} pods/s, {events}",
                    backlog.name(),
                    contestant.name(),
                    speed.bound,
                );
                speeds.push((contestant, speed));
            }
            rounds.push(Round {
                number,
                backlog,
                speeds,
            });
        }
    }
    summary(&rounds);
    Ok(())
}

/// The speeds of one round over one backlog.
struct Round {
    number: usize,
    backlog: Backlog,
    speeds: Vec<(Contestant, Speed)>,
}

/// Ratios within each round: rounds differ more from each other than contestants do.
fn summary(rounds: &[Round]) {
    println!(
        "\nround backlog  bind-only  kube-scheduler  stowplan  of bind-only  with events  \
         of kube-scheduler"
    );
    for round in rounds {
        let speed = |wanted: Contestant| {
            let mut speeds = round.speeds.iter();
            speeds
                .find(|(contestant, _)| *contestant == wanted)
                .map_or((f64::NAN, f64::NAN), |(_, speed)| {
                    (speed.bound, speed.told.unwrap_or(f64::NAN))
                })
        };
        let (limit, limit_told) = speed(Contestant::BindOnly);
        let (upstream, _) = speed(Contestant::Upstream);
        let (ours, ours_told) = speed(Contestant::Stowplan);
        println!(
            "{:<5} {:<8} {limit:>9.0} {upstream:>15.0} {ours:>9.0} {:>12.0}% {:>11.0}% {:>17.1}×",
            round.number,
            round.backlog.name(),
            100.0 * ours / limit,
            100.0 * ours_told / limit_told,
            ours / upstream,
        );
    }
}

async fn create(world: &World, backlog: Backlog, count: usize) -> Result<()> {
    let made = (0..count).map(|i| async move {
        let name = format!("{}-{i}", backlog.name());
        world.put::<Pod>(backlog.pod(&name)).await
    });
    let mut made = futures::stream::iter(made).buffer_unordered(32);
    while made.try_next().await?.is_some() {}
    Ok(())
}
