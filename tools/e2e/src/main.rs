//! Stowplan's scheduler at work on a whole cluster: `cargo xtask e2e`, `cargo xtask specs`, `cargo
//! xtask versus` and `cargo xtask footprint`; and `stowplan up` as a whole: `cargo xtask scale`.
//!
//! Each scenario runs on a real Kubernetes (built by `cargo xtask kubernetes`) and on `stowplan up`; some
//! also with the scheduler that is part of `stowplan up`. What neither has yet (a kubelet; on `stowplan up` also the controllers) is played
//! by [`stand_ins`].

mod bindings;
mod events;
mod footprint;
mod home;
mod metrics;
mod scale;
mod scenarios;
mod scheduler;
mod specs;
mod stand_ins;
mod versus;
mod world;

use anyhow::{Result, bail};
use clap::Parser;
use home::{Home, Kind};
use scenarios::{INSIDE, SCENARIOS};
use std::process::ExitCode;
use std::time::Instant;

/// Runs Stowplan's scheduler on whole clusters.
#[derive(Parser)]
enum Command {
    /// Checks the scheduler on a real Kubernetes and on `stowplan up`.
    E2e {
        /// Only these scenarios.
        scenarios: Vec<String>,
        /// Only this home.
        #[arg(long, value_enum)]
        home: Option<Kind>,
    },
    /// Runs Kubernetes' own specs of scheduling.
    Specs(specs::Options),
    /// Measures the scheduler side by side with kube-scheduler on one real Kubernetes.
    Versus(versus::Options),
    /// Measures the scheduler's memory, its start and its latency.
    Footprint(footprint::Options),
    /// Measures `stowplan up` with many nodes and pods, and checks that everything comes to be.
    Scale(scale::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::E2e { scenarios, home } => e2e(&scenarios, home).await,
        Command::Specs(options) => specs::run(&options),
        Command::Versus(options) => versus::run(&options).await,
        Command::Footprint(options) => footprint::run(&options).await,
        Command::Scale(options) => scale::run(&options).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn e2e(names: &[String], home: Option<Kind>) -> Result<()> {
    if let Some(name) = names
        .iter()
        .find(|name| !SCENARIOS.iter().any(|(known, _)| known == name))
    {
        let known: Vec<_> = SCENARIOS.iter().map(|(name, _)| *name).collect();
        bail!("no scenario {name:?}; there are: {}", known.join(", "));
    }
    let all = vec![Kind::Real, Kind::Embedded, Kind::Inside];
    let kinds = home.map_or(all, |kind| vec![kind]);
    let mut failed = 0;
    for kind in kinds {
        let mut home = Home::start(kind).await?;
        for (name, scenario) in SCENARIOS {
            let is_asked = names.is_empty() || names.iter().any(|n| n == name);
            if !is_asked || (kind == Kind::Inside && !INSIDE.contains(name)) {
                continue;
            }
            let start = Instant::now();
            let outcome = match home.reset(name).await {
                Ok(()) => scenario(&mut home).await,
                Err(error) => Err(error.context("what was before could not be removed")),
            };
            let seconds = start.elapsed().as_secs_f64();
            match outcome {
                Ok(()) => println!("{kind} {name}: ok ({seconds:.1} s)"),
                Err(error) => {
                    failed += 1;
                    println!("{kind} {name}: FAILED ({seconds:.1} s): {error:#}");
                    println!("{}", home.last_words(name));
                }
            }
        }
    }
    match failed {
        0 => Ok(()),
        n => bail!("{n} scenarios failed"),
    }
}
