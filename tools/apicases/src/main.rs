//! Replays conversations that were recorded with a real kube-apiserver v1.36.4, and compares every
//! answer.
//!
//! A case is a list of requests with the answers that the real server gave. What a server makes up
//! (uids, revisions, generated names, times) is replaced by labels before comparing; see
//! [`normalise`]. The server under test runs in this process, in memory, without sockets.

mod case;
mod compare;
mod files;
mod fill;
mod fuzz;
mod normalise;
mod ordered;
mod run;

use anyhow::{Context, Result};
use case::Case;
use clap::Parser;
use run::{Outcome, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Replays recorded API cases in process and compares every answer.
#[derive(Parser)]
#[command(name = "cargo xtask apicases")]
struct Arguments {
    /// Files of cases: one JSON object per line, plain or compressed with zstd.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Run only the cases whose name contains this, and show how they differ.
    #[arg(long, value_name = "NAME", default_value = "")]
    case: String,
    /// Show the first N cases that differ.
    #[arg(long, value_name = "N", default_value_t = 0)]
    diff: usize,
    /// Also say how many single steps were equal.
    #[arg(long)]
    steps: bool,
    /// Write the names of the cases that differ, one per line.
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Cases that are known to differ, one name per line: only others make the run fail.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// How many cases run at a time.
    #[arg(long, value_name = "N", default_value_t = 32)]
    at_once: usize,
    /// Send at least N requests made by chance from the cases, and look for failures.
    #[arg(long, value_name = "N")]
    fuzz: Option<usize>,
    /// Read every object that is created as if from a file, too, and compare with what the server said.
    #[arg(long = "files")]
    files_too: bool,
    /// What chance does; `--fuzz 1 --seed S --case I` repeats one conversation and shows it.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

#[derive(Default)]
struct Tally {
    cases: usize,
    mismatches: usize,
    steps: usize,
    equal: usize,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        self.mismatches += usize::from(!outcome.differences.is_empty());
        self.steps += outcome.steps;
        self.equal += outcome.steps - outcome.wrong_steps();
    }

    fn print(&self, family: &str, with_steps: bool) {
        let (cases, mismatches) = (self.cases, self.mismatches);
        match with_steps {
            true => println!(
                "{family} cases={cases} mismatches={mismatches} steps={} equal={}",
                self.steps, self.equal
            ),
            false => println!("{family} cases={cases} mismatches={mismatches}"),
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let only = match arguments.fuzz {
        Some(_) => "",
        None => &arguments.case,
    };
    let mut cases = Vec::new();
    for file in &arguments.files {
        let read = case::read(file).with_context(|| file.display().to_string())?;
        let wanted = |case: &Case| case.name.contains(only);
        cases.extend(read.into_iter().filter(wanted));
    }
    let known = match &arguments.known {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?,
        None => String::new(),
    };
    let known: BTreeSet<&str> = known.lines().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let Some(requests) = arguments.fuzz {
        let plan = fuzz::Plan {
            requests,
            seed: arguments.seed,
            only: arguments.case.parse().ok(),
            at_once: arguments.at_once,
        };
        return Ok(runtime.block_on(fuzz::run(cases, plan)));
    }
    if arguments.files_too {
        return Ok(runtime.block_on(files::run(cases)));
    }
    let outcomes = runtime.block_on(run_all(cases, arguments.at_once));
    Ok(report(&arguments, &outcomes, &known))
}

/// Runs cases side by side; those that change what all share run alone afterwards.
async fn run_all(cases: Vec<Case>, at_once: usize) -> Vec<Outcome> {
    let server = Arc::new(Server::new().await);
    let (alone, together): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.exclusive);
    let permits = Arc::new(tokio::sync::Semaphore::new(at_once.max(1)));
    let mut tasks = Vec::new();
    for case in together {
        let (server, permits) = (Arc::clone(&server), Arc::clone(&permits));
        tasks.push(tokio::spawn(async move {
            let _permit = permits.acquire_owned().await;
            run::case(&server, case).await
        }));
    }
    let mut outcomes = Vec::new();
    for task in tasks {
        match task.await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => eprintln!("a case broke down: {error}"),
        }
    }
    for case in alone {
        outcomes.push(run::case(&server, case).await);
    }
    outcomes
}

fn report(arguments: &Arguments, outcomes: &[Outcome], known: &BTreeSet<&str>) -> ExitCode {
    let show = match arguments.case.is_empty() {
        true => arguments.diff,
        false => arguments.diff.max(10),
    };
    let wrong = || outcomes.iter().filter(|o| !o.differences.is_empty());
    for outcome in wrong().take(show) {
        println!("DIFFERS {}", outcome.name);
        for (step, lines) in &outcome.differences {
            println!("  {step}");
            for line in lines {
                println!("    {line}");
            }
        }
    }
    if let Some(file) = &arguments.list {
        let names: Vec<&str> = wrong().map(|o| o.name.as_str()).collect();
        if let Err(error) = std::fs::write(file, names.join("\n") + "\n") {
            eprintln!("cannot write {}: {error}", file.display());
        }
    }
    let mut families: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut total = Tally::default();
    for outcome in outcomes {
        families.entry(&outcome.family).or_default().add(outcome);
        total.add(outcome);
    }
    for (family, tally) in &families {
        tally.print(family, arguments.steps);
    }
    total.print("TOTAL", arguments.steps);
    let unknown: Vec<&Outcome> = wrong()
        .filter(|o| !known.contains(o.name.as_str()))
        .collect();
    for outcome in unknown.iter().filter(|_| !known.is_empty()) {
        eprintln!("{} differs and is not known to", outcome.name);
    }
    match unknown.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
