//! `stowplan bench`: what [`stowplan_bench`] measures, printed.

mod child;
mod figures;
mod progress;
mod server;
mod table;

use crate::Verdict;
use crate::args::{Bench, BenchPart};
use crate::output::{self, Align, Table};
use anyhow::{Result, bail};
use progress::Progress;
use stowplan_bench::{How, Report, Scale, Workload, select, touch_memory};

/// Where several nodes are equally good, this decides.
const SEED: u64 = 0;

/// Runs the command.
pub(crate) fn run(args: &Bench) -> Result<Verdict> {
    if let Some(BenchPart::Server(args)) = &args.part {
        return server::run(args);
    }
    if let Some(bytes) = args.touch {
        touch_memory(bytes);
        return Ok(Verdict::AllPlaced);
    }
    let selected = match select(&args.names) {
        Ok(selected) => selected,
        Err(pattern) => {
            bail!("no workload is named {pattern:?}: `stowplan bench --list` shows all")
        }
    };
    if args.list {
        output::print(&list(&selected))?;
        return Ok(Verdict::AllPlaced);
    }
    if args.child {
        return child_main(&selected, args);
    }
    let (reports, broken) = run_all(&selected, args)?;
    if args.markdown {
        let today = || jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let date = args.date.clone().unwrap_or_else(today);
        output::print(&table::markdown(&reports, &date, &command(args)))?;
    } else if !args.json {
        output::print(&table::render(&reports, output::width()))?;
    }
    if broken > 0 {
        bail!("{} broke", output::count(broken, "workload"));
    }
    Ok(verdict(&reports))
}

/// Runs workloads one after the other; those that break are told of and counted.
fn run_all(selected: &[&Workload], args: &Bench) -> Result<(Vec<Report>, usize)> {
    let progress = Progress::new(!args.json);
    let mut reports = Vec::new();
    let mut broken = 0;
    for (i, workload) in selected.iter().enumerate() {
        progress.begin(i, selected.len(), workload.name);
        let scale = Scale(args.scale);
        let mut done = |share| progress.done(share);
        let result = match args.in_process {
            true => stowplan_bench::run(workload, scale, how(args), &mut done),
            false => child::run(workload, args, &mut done),
        };
        match result {
            Ok(report) => {
                progress.end(&report);
                if args.json {
                    output::print(&(serde_json::to_string(&report)? + "\n"))?;
                }
                reports.push(report);
            }
            Err(error) => {
                broken += 1;
                output::error(format_args!("{error:#}"));
            }
        }
    }
    progress.finish();
    Ok((reports, broken))
}

/// The other end of [`child`].
fn child_main(selected: &[&Workload], args: &Bench) -> Result<Verdict> {
    for workload in selected {
        let mut told = |share: f64| {
            // If nobody listens any more there is nothing to be done about it.
            let _ = output::print(&format!("{share:.3}\n"));
        };
        let scale = Scale(args.scale);
        let report = stowplan_bench::run(workload, scale, how(args), &mut told)?;
        output::print(&(serde_json::to_string(&report)? + "\n"))?;
    }
    Ok(Verdict::AllPlaced)
}

fn how(args: &Bench) -> How {
    How {
        seed: SEED,
        samples_plain: !args.no_plain,
        keeps_records: args.records,
    }
}

fn verdict(reports: &[Report]) -> Verdict {
    match reports.iter().all(|report| report.unschedulable == 0) {
        true => Verdict::AllPlaced,
        false => Verdict::SomePending,
    }
}

/// The command that was given, as far as it matters to the figures.
fn command(args: &Bench) -> String {
    let mut command = "stowplan bench --markdown".to_owned();
    if args.scale != 1.0 {
        command += &format!(" --scale {}", args.scale);
    }
    if args.no_plain {
        command += " --no-plain";
    }
    if args.records {
        command += " --records";
    }
    for name in &args.names {
        command += &match name.contains(['*', '?']) {
            true => format!(" '{name}'"),
            false => format!(" {name}"),
        };
    }
    command
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
