//! The `stowplan` binary: arguments, wiring, tables.

mod address;
mod args;
mod bench;
mod controllers;
mod drain;
mod explain;
mod input;
mod jobs;
mod man;
mod nodes;
mod output;
mod page;
mod scheduler;
mod simulate;
mod telemetry_args;
mod top;
mod up;
mod version;

use alloc_tracker::Allocator;
use args::{Cli, Color, Command};
use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;
use stowplan_sim::InputErrors;

/// The API server handles objects as trees, whose many small parts the system's allocator is slow
/// with. `bench` tells how often the engine allocates, so allocations are counted, thread by thread:
/// that costs each a little whatever command runs, and nothing is shared with other threads.
#[global_allocator]
static GLOBAL: Allocator<MiMalloc> = Allocator::new(MiMalloc);

/// How a command ended, other than in an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Every pod has a place.
    AllPlaced,
    /// Some pod stays pending.
    SomePending,
}

/// How many of many errors are told.
const ERRORS_TOLD: usize = 20;

fn main() -> ExitCode {
    // Containers have processes of this program beside them, which have no command line to speak of.
    if let Some(code) = stowplan_processes::run_if_asked() {
        return code;
    }
    let cli = Cli::parse();
    match cli.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let result = match cli.command {
        Command::Up(args) => up::run(&args),
        Command::Scheduler(args) => scheduler::run(&args),
        Command::Controllers(args) => controllers::run(&args),
        Command::Nodes(args) => nodes::run(&args),
        Command::Node(args) => nodes::fault::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Explain(args) => {
            explain::run(&args.complete().unwrap_or_else(|error| error.exit()))
        }
        Command::Drain(args) => drain::run(&args),
        Command::Page(args) => page::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Jobs(args) => jobs::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Version(args) => version::run(&args),
        Command::Completions(args) => output::print(&args.script()).map(|()| Verdict::AllPlaced),
    };
    match result {
        Ok(Verdict::AllPlaced) => ExitCode::SUCCESS,
        Ok(Verdict::SomePending) => ExitCode::from(3),
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn report(error: &anyhow::Error) {
    match error.downcast_ref::<InputErrors>() {
        Some(InputErrors(errors)) => {
            errors.iter().take(ERRORS_TOLD).for_each(output::error);
            if errors.len() > ERRORS_TOLD {
                output::error(format_args!("and {} more", errors.len() - ERRORS_TOLD));
            }
        }
        None => output::error(told(error)),
    }
}

/// An error with its causes, but for those that it already tells, and for pictures of their places.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let text = text.lines().next().unwrap_or_default();
        if told.is_empty() {
            told.push_str(text);
        } else if !told.contains(text) {
            told.push_str(": ");
            told.push_str(text);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cause_is_told_twice() {
        let cause = anyhow::anyhow!("no such file");
        let middle = cause.context("failed to read x: no such file");
        let error = middle.context("cannot read x");
        let expected = "cannot read x: failed to read x: no such file";
        assert_eq!(told(&error), expected);
        let picture = anyhow::anyhow!("expected a map\n 1 | vm\n   | ^").context("cannot read x");
        assert_eq!(told(&picture), "cannot read x: expected a map");
    }
}
