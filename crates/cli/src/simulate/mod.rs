//! `stowplan simulate`.

mod document;
mod outcome;
mod packing;
mod packing_table;
mod play;
mod tables;
pub(crate) mod volumes;

pub(crate) use play::play;

use crate::Verdict;
use crate::args::{Pack, Simulate};
use crate::output::{self, Format};
use crate::world::Source;
use anyhow::Result;
use document::{Comparison, Document};
use outcome::Outcome;

/// Runs the command.
pub(crate) fn run(args: &Simulate) -> Result<Verdict> {
    let source = Source::read(&args.input)?;
    if args.pack == Some(Pack::All) {
        return compare(&source, args);
    }
    let outcome = play_by(args.pack, &source, args.input.seed)?;
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
fn compare(source: &Source, args: &Simulate) -> Result<Verdict> {
    let policies = packing::POLICIES.into_iter();
    let outcomes: Vec<Outcome> = policies
        .map(|policy| play_by(Some(policy), source, args.input.seed))
        .collect::<Result<_>>()?;
    match args.input.output {
        format @ (Format::Json | Format::Yaml) => {
            output::print_document(&Comparison::of(&outcomes, args.input.seed), format)?;
        }
        _ => output::print(&packing_table::render(&outcomes, output::width()))?,
    }
    Ok(verdict(&outcomes))
}

fn play_by(policy: Option<Pack>, source: &Source, seed: u64) -> Result<Outcome> {
    let config = packing::config(source, policy);
    let mut world = source.world(&config)?;
    let title = packing::title(policy, &world);
    Ok(Outcome::of(&mut world, seed, title))
}

fn verdict<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Verdict {
    let mut outcomes = outcomes.into_iter();
    match outcomes.all(|outcome| outcome.pending.is_empty()) {
        true => Verdict::AllPlaced,
        false => Verdict::SomePending,
    }
}
