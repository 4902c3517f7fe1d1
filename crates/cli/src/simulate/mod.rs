//! `stowplan simulate`.

mod document;
mod outcome;
mod play;
mod tables;
pub(crate) mod volumes;

pub(crate) use play::play;

use crate::Verdict;
use crate::args::Simulate;
use crate::output::{self, Format};
use crate::world::World;
use anyhow::Result;
use document::Document;
use outcome::Outcome;

/// Runs the command.
pub(crate) fn run(args: &Simulate) -> Result<Verdict> {
    let mut world = World::open(&args.input)?;
    let outcome = Outcome::of(&mut world, args.input.seed);
    let verdict = match outcome.pending.is_empty() {
        true => Verdict::AllPlaced,
        false => Verdict::SomePending,
    };
    match args.input.output {
        format @ (Format::Json | Format::Yaml) => {
            output::print_document(&Document::of(&outcome, args.input.seed), format)?;
        }
        format => {
            let wide = format == Format::Wide;
            output::print(&tables::render(&outcome, wide, output::width()))?;
        }
    }
    Ok(verdict)
}
