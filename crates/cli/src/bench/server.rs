//! `stowplan bench server`: the API server as its clients meet it.

use super::figures;
use crate::Verdict;
use crate::args::BenchServer;
use crate::output;
use anyhow::{Context, Result};
use stowplan_bench::Machine;
use stowplan_bench::server::{Figure, all};

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
    let root = args.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    runtime.block_on(all(args.scale, &root, &mut tell))?;
    if args.markdown {
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let command = "stowplan bench server --markdown";
        let head = format!(
            "Measured on {today} with stowplan {} on {} by:\n\n```sh\n{command}\n```\n\n",
            env!("CARGO_PKG_VERSION"),
            Machine::this()
        );
        output::print(&(head + &figures::markdown(&figures)))?;
    } else if !args.json {
        output::print(&figures::table(&figures, output::width()))?;
    }
    Ok(Verdict::AllPlaced)
}
