//! `stowplan bench server`: the API server as its clients meet it.
//!
//! The server is this binary, started as `stowplan up` in a process and on a disk of its own; the
//! clients are in this process, on the same cores.

mod child;
mod client;
mod figure;
mod load;
mod measures;
mod watchers;

use super::machine::Machine;
use crate::Verdict;
use crate::args::BenchServer;
use crate::output;
use anyhow::{Context, Result};
use figure::Figure;

/// Runs the command.
pub(crate) fn run(args: &BenchServer) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let mut figures = Vec::new();
    let mut tell = |figure: Figure| {
        if args.json {
            output::print(&(serde_json::to_string(&figure)? + "\n"))?;
        }
        figures.push(figure);
        Ok(())
    };
    runtime.block_on(measures::all(args, &mut tell))?;
    if args.markdown {
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let command = "stowplan bench server --markdown";
        let head = format!(
            "Measured on {today} with stowplan {} on {} by:\n\n```sh\n{command}\n```\n\n",
            env!("CARGO_PKG_VERSION"),
            Machine::this()
        );
        output::print(&(head + &figure::markdown(&figures)))?;
    } else if !args.json {
        output::print(&figure::table(&figures, output::width()))?;
    }
    Ok(Verdict::AllPlaced)
}
