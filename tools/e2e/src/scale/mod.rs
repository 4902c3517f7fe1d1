//! `stowplan up` with thousands of nodes and tens of thousands of pods: how long things take, and what they
//! cost.
//!
//! Other programs may have the processors meanwhile, so that the clock on the wall says little: beside each
//! time there are the processor seconds of the server. A promise of "60 s on two cores" is one of 120
//! processor seconds.

mod cron;
mod rollouts;
mod server;
mod start;
mod zone;

use crate::home::Folder;
use anyhow::{Result, bail};
use server::{Progress, Server};
use std::path::PathBuf;
use xtask::kubernetes::Stowplan;

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these: start (which zone goes on from), zone, rollouts, cron.
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// How large everything is; below 1 nothing but the outcome is judged.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Shows the most frequent requests.
    #[arg(long)]
    requests: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Scenario {
    /// 5,000 nodes, and 100 Deployments with 500 pods each, from nothing.
    Start,
    /// A zone of 1,000 of these nodes dies.
    Zone,
    /// 1,000 Deployments with 10 pods each get another template at once.
    Rollouts,
    /// 10,000 CronJobs that are due in the same minute.
    Cron,
}

/// What scenarios are run with.
struct Bench {
    binary: PathBuf,
    folder: Folder,
    scale: f64,
    shows_requests: bool,
    failures: Vec<String>,
}

impl Bench {
    /// So many, made smaller as the whole is.
    fn sized(&self, count: usize) -> usize {
        ((count as f64 * self.scale).round() as usize).max(1)
    }

    /// Starts a server of a scenario with arguments of its own.
    async fn server(&self, name: &str, nodes: usize, arguments: &[&str]) -> Result<Server> {
        let nodes = nodes.to_string();
        let all = ["--memory", "--nodes", &nodes, "--zones", "a,b,c,d,e"];
        let folder = self.folder.0.join(name);
        Server::start(&self.binary, &folder, &[&all, arguments].concat()).await
    }

    /// Prints a line of the table.
    fn tell(&self, what: &str, progress: &Progress) {
        println!(
            "{what:<44} {:>8.1} s  {:>8.1} cpu s  {:>6} MiB now  {:>6} MiB at most",
            progress.wall_s, progress.cpu_s, progress.memory_mib, progress.peak_mib
        );
    }

    /// Prints how often what was asked for.
    async fn tell_requests(&self, server: &Server) -> Result<()> {
        if !self.shows_requests {
            return Ok(());
        }
        let mut requests: Vec<_> = server.requests().await?.into_iter().collect();
        requests.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for ((verb, resource), count) in requests.iter().take(20) {
            println!("  {count:>8}  {verb:<6} {resource}");
        }
        Ok(())
    }

    /// Notes what was promised and is not so; small clusters promise nothing.
    fn expect(&mut self, what: &str, is: f64, limit: f64) {
        let holds = is <= limit;
        let verdict = match (holds, self.scale < 1.0) {
            (true, _) => "ok",
            (false, true) => "not judged",
            (false, false) => "TOO MUCH",
        };
        println!("  {what}: {is:.2}, at most {limit:.2}: {verdict}");
        if !holds && self.scale >= 1.0 {
            self.failures.push(format!("{what}: {is:.2} > {limit:.2}"));
        }
    }
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    if !(options.scale > 0.0 && options.scale <= 10.0) {
        bail!("--scale: {} is not above 0 and at most 10", options.scale);
    }
    let mut bench = Bench {
        binary: Stowplan::build_released()?,
        folder: Folder::new("scale")?,
        scale: options.scale,
        shows_requests: options.requests,
        failures: Vec::new(),
    };
    let wants = |scenario| options.scenarios.is_empty() || options.scenarios.contains(&scenario);
    if wants(Scenario::Start) || wants(Scenario::Zone) {
        let server = start::run(&mut bench).await?;
        if wants(Scenario::Zone) {
            zone::run(&mut bench, &server).await?;
        }
    }
    if wants(Scenario::Rollouts) {
        rollouts::run(&mut bench).await?;
    }
    if wants(Scenario::Cron) {
        cron::run(&mut bench).await?;
    }
    match bench.failures.is_empty() {
        true => Ok(()),
        false => bail!("not as promised: {}", bench.failures.join("; ")),
    }
}
