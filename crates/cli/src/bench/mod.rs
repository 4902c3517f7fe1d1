//! `stowplan bench`: scheduler_perf's workloads, and some of our own, on the engine alone.

mod churn;
mod drive;
mod machine;
mod many_templates;
mod meter;
mod objects;
mod one_of_a_kind;
mod report;
mod run;
mod source;
mod workloads;

use crate::Verdict;
use crate::args::Bench;
use crate::output;
use anyhow::{Result, bail};
use output::{Align, Table};
use workloads::{Scale, Workload};

/// Where several nodes are equally good, this decides.
const SEED: u64 = 0;

/// Runs the command.
pub(crate) fn run(args: &Bench) -> Result<Verdict> {
    let selected = match workloads::select(&args.names) {
        Ok(selected) => selected,
        Err(pattern) => {
            bail!("no workload is named {pattern:?}: `stowplan bench --list` shows all")
        }
    };
    if args.list {
        output::print(&list(&selected))?;
        return Ok(Verdict::AllPlaced);
    }
    let mut verdict = Verdict::AllPlaced;
    for workload in selected {
        let report = run::run(workload, Scale(args.scale), SEED, &mut |_| {})?.rounded();
        if report.unschedulable > 0 {
            verdict = Verdict::SomePending;
        }
        output::print(&(serde_json::to_string(&report)? + "\n"))?;
    }
    Ok(verdict)
}

/// The names of workloads, with their sizes.
fn list(workloads: &[&Workload]) -> String {
    let mut table = Table::new([
        ("WORKLOAD", Align::Left),
        ("NODES", Align::Right),
        ("PODS", Align::Right),
    ]);
    for workload in workloads {
        table.row([
            workload.name.into(),
            workload.nodes().to_string().into(),
            workload.measured().to_string().into(),
        ]);
    }
    table.render(output::width())
}
