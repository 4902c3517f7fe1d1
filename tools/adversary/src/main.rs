//! An adversary: requests that grow in each dimension which a client controls, and what they cost.
//!
//! Each attack is made twice, the second time four times as large. **Time** must grow no faster than
//! `n log n`, **memory** must stay below a multiple of what was sent. Memory is counted. Time is first
//! measured, which is quick and noisy; whatever looks worse than linear is run again under callgrind,
//! which counts instructions, and only that count is a verdict. So noise costs time, and fails nothing.

mod attack;
mod attacks;
mod flood;
mod instructions;
mod measure;
mod server;

use anyhow::{Context, Result, bail};
use attack::Attack;
use attacks::kinds::{self, Road};
use clap::{Parser, Subcommand};
use measure::Cost;
use peak_alloc::PeakAlloc;
use server::Server;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use stowplan_server::limits::{MEMORY_PER_BODY_BYTE, REQUEST_MEMORY_MAX};

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

/// The second size of an attack, as a multiple of the first.
const GROWTH: usize = 4;
/// Time that grows by more than this is looked into. Linear is 4, n log n about 4.6.
const SUSPICIOUS: f64 = 6.0;
/// Instructions that grow by more than this are too many.
const TOO_STEEP: f64 = 5.6;
/// Below this nothing is suspicious.
const SHORT_MS: f64 = 4.0;
/// Who takes more memory for a byte is tried at full size, too.
const GREEDY: usize = 100;
const FULL_BYTES: usize = 2_900_000;
/// What any request may take, however small.
const MEMORY_FREE: usize = 4 << 20;

/// Attacks the API server in this process, and fails if it is too costly to answer.
#[derive(Parser)]
#[command(name = "cargo xtask adversary")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only attacks whose name contains this.
    #[arg(long, value_name = "NAME", default_value = "")]
    attack: String,
    /// Each list of each kind by each road, and larger.
    #[arg(long)]
    nightly: bool,
    /// Print what each attack costs.
    #[arg(long)]
    verbose: bool,
    /// Every M-th attack, from the I-th on: `I/M`.
    #[arg(long, value_name = "I/M", value_parser = shard, default_value = "0/1")]
    shard: (usize, usize),
}

#[derive(Subcommand)]
enum Command {
    /// Floods `stowplan up` as two users, and measures how long others wait.
    Flood {
        /// The program.
        program: PathBuf,
        /// Only floods whose name contains this.
        #[arg(default_value = "")]
        name: String,
    },
    /// Sends the requests of a file, one per line.
    #[command(hide = true)]
    Replay { file: PathBuf },
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(i, m)| Some((i.parse().ok()?, m.parse().ok()?)));
    let good = parts.filter(|(i, m): &(usize, usize)| i < m);
    good.ok_or_else(|| "expected I/M with I < M, such as 0/2".to_owned())
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::Replay { file }) => instructions::replay(file).map(|()| ExitCode::SUCCESS),
        Some(Command::Flood { program, name }) => flood::run(program, name).map(code),
        None => attack(&arguments).map(code),
    }
}

fn code(good: bool) -> ExitCode {
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Makes all attacks; says whether the server stood them.
fn attack(arguments: &Arguments) -> Result<bool> {
    // What it costs to look: a server that does quadratic work must be found out.
    instructions::check_the_check()?;
    let server = Server::new();
    let mut failures = Vec::new();
    let (index, of) = arguments.shard;
    let attacks = all(&server, arguments.nightly);
    let attacks = attacks.into_iter().skip(index).step_by(of);
    let mut count = 0;
    if arguments.verbose {
        eprintln!("{} attacks", attacks.len());
    }
    for attack in attacks.filter(|attack| attack.name.contains(&arguments.attack)) {
        count += 1;
        failures.extend(judge(&attack, &server, arguments)?);
    }
    if count == 0 {
        bail!("no attack has {:?} in its name", arguments.attack);
    }
    for failure in &failures {
        println!("FAILED {failure}");
    }
    println!(
        "{} passed, {} failed",
        count - failures.len(),
        failures.len()
    );
    Ok(failures.is_empty())
}

fn all(server: &Server, nightly: bool) -> Vec<Attack> {
    let mut all = attacks::by_hand();
    all.extend(kinds::all_at_once(server));
    for (i, place) in kinds::places().into_iter().map(Arc::new).enumerate() {
        for (j, road) in [Road::Json, Road::Yaml, Road::Apply]
            .into_iter()
            .enumerate()
        {
            for same in [false, true] {
                // By turns, but for the road that most take.
                let turn = (road == Road::Json && !same) || (i + j + usize::from(same)) % 6 == 0;
                if nightly || turn {
                    all.extend(Arc::clone(&place).attack(server, road, same));
                }
            }
        }
    }
    all
}

/// How large the first request is made, about.
fn size(attack: &Attack, nightly: bool) -> usize {
    const PROBE: usize = 256;
    let target = match attack.by_bystander {
        // So much that it would be felt.
        true => 512 << 10,
        false if nightly => 256 << 10,
        false => 64 << 10,
    };
    // With its scene, all of which has to be taken.
    let sent = (attack.make)(PROBE)
        .iter()
        .map(attack::Request::bytes)
        .sum::<usize>();
    let size = PROBE * target / sent.max(1);
    size.clamp(64, 16 * 1024)
}

fn judge(attack: &Attack, server: &Server, arguments: &Arguments) -> Result<Option<String>> {
    let n = size(attack, arguments.nightly);
    let runs = 2;
    let small = measure::cost(attack, server, n, runs);
    let large = measure::cost(attack, server, GROWTH * n, runs);
    let (Some(small), Some(large)) = (small, large) else {
        bail!("{}: its scene is refused", attack.name);
    };
    let growth = ms(large) / ms(small).max(0.01);
    if arguments.verbose {
        let times = large.peak_bytes as f64 / large.sent_bytes.max(1) as f64;
        println!(
            "{:8.2} ms {growth:6.2}× {times:7.1} bytes/byte  {} {} ({n})",
            ms(large),
            large.code,
            attack.name
        );
    }
    let allowed = MEMORY_FREE + MEMORY_PER_BODY_BYTE * large.sent_bytes;
    if large.peak_bytes > allowed {
        let (peak, sent) = (large.peak_bytes, large.sent_bytes);
        return Ok(Some(format!(
            "{}: {peak} bytes of memory for {sent} bytes",
            attack.name
        )));
    }
    if attack.by_bystander {
        let slower = ms(large) > SHORT_MS && growth > GROWTH as f64 / 2.0;
        let name = &attack.name;
        return Ok(slower
            .then(|| format!("{name}: {growth:.1} times as long beside {GROWTH} times as much")));
    }
    if large.peak_bytes > GREEDY * large.sent_bytes {
        let n = n * FULL_BYTES / small.sent_bytes.max(1);
        let full = measure::cost(attack, server, n, 1);
        let peak = full.map_or(0, |full| full.peak_bytes);
        if peak > REQUEST_MEMORY_MAX {
            let name = &attack.name;
            return Ok(Some(format!("{name}: {peak} bytes of memory at full size")));
        }
    }
    if ms(large) < SHORT_MS || growth < SUSPICIOUS {
        return Ok(None);
    }
    let growth =
        instructions::growth(attack, n, GROWTH * n).context("cannot count instructions")?;
    Ok((growth > TOO_STEEP).then(|| {
        let name = &attack.name;
        format!("{name}: {growth:.1} times the instructions for {GROWTH} times the size ({n})")
    }))
}

fn ms(cost: Cost) -> f64 {
    cost.time.as_secs_f64() * 1e3
}
