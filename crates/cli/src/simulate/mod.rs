//! `stowplan simulate`.

mod packing_table;
mod tables;

use crate::Verdict;
use crate::args::{Pack, Simulate};
use crate::input;
use crate::output::{self, Format, Working};
use anyhow::Result;
use stowplan_sim::{Comparison, Document, Policy, SimulationReport, Source};

/// Runs the command.
pub(crate) fn run(args: &Simulate) -> Result<Verdict> {
    let working = Working::on("placing pods");
    let source = input::read(&args.input)?;
    if args.pack == Some(Pack::All) {
        return compare(&source, args, working);
    }
    let policy = args.pack.and_then(policy);
    let outcome = SimulationReport::play(&source, policy, args.input.seed)?;
    drop(working);
    match args.input.output {
        format @ (Format::Json | Format::Yaml) => {
            output::print_document(&Document::of(&outcome, args.input.seed), format)?;
        }
        format => {
            let wide = format == Format::Wide;
            output::print(&tables::render(&outcome, wide, output::width()))?;
        }
    }
    Ok(verdict([&outcome]))
}

/// Plays the simulation once for every policy.
fn compare(source: &Source, args: &Simulate, working: Working) -> Result<Verdict> {
    let policies = Policy::ALL.into_iter();
    let outcomes: Vec<SimulationReport> = policies
        .map(|policy| SimulationReport::play(source, Some(policy), args.input.seed))
        .collect::<Result<_, _>>()?;
    drop(working);
    match args.input.output {
        format @ (Format::Json | Format::Yaml) => {
            output::print_document(&Comparison::of(&outcomes, args.input.seed), format)?;
        }
        _ => output::print(&packing_table::render(&outcomes, output::width()))?,
    }
    Ok(verdict(&outcomes))
}

/// The policy of that name; `None` for all of them.
fn policy(pack: Pack) -> Option<Policy> {
    Some(match pack {
        Pack::FirstFit => Policy::FirstFit,
        Pack::BestFit => Policy::BestFit,
        Pack::WorstFit => Policy::WorstFit,
        Pack::FirstFitDecreasing => Policy::FirstFitDecreasing,
        Pack::MostAllocated => Policy::MostAllocated,
        Pack::LeastAllocated => Policy::LeastAllocated,
        Pack::All => return None,
    })
}

fn verdict<'a>(outcomes: impl IntoIterator<Item = &'a SimulationReport>) -> Verdict {
    let mut outcomes = outcomes.into_iter();
    match outcomes.all(|outcome| outcome.pending.is_empty()) {
        true => Verdict::AllPlaced,
        false => Verdict::SomePending,
    }
}
