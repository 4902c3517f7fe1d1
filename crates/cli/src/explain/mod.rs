//! `stowplan explain`.

mod find;
pub(crate) mod leader;
pub(crate) mod live;
mod one_node;
mod remedies;
mod spread;
mod tables;

use crate::Verdict;
use crate::args::{Explain, Input};
use crate::input;
use crate::output::{self, Format, Working};
use anyhow::{Result, bail};
use find::Found;
use stowplan_report::{Outcome, Report};
use stowplan_sim::{Simulation, play};

/// Runs the command.
pub(crate) fn run(args: &Explain) -> Result<Verdict> {
    let mut report = match args.input() {
        Some(input) => from_manifests(args, &input)?,
        None => live::tournament(args)?,
    };
    if let Some(node) = &args.node
        && !report.retain_node(node)
    {
        let place = if args.input().is_some() {
            "input"
        } else {
            "cluster"
        };
        bail!("no node {node:?} in the {place}");
    }
    match args.output {
        format @ (Format::Json | Format::Yaml) => output::print_document(&report, format)?,
        format => {
            let wide = format == Format::Wide;
            let text = match args.node {
                Some(_) => one_node::render(&report, output::width()),
                None => tables::render(&report, wide, output::width()),
            };
            output::print(&text)?;
        }
    }
    Ok(match (report.outcome, &report.pod.node) {
        (Outcome::Fits, _) => Verdict::AllPlaced,
        // Of a live cluster: it has its place, whatever would become of it now.
        (_, Some(_)) if report.moment.is_some() => Verdict::AllPlaced,
        _ => Verdict::SomePending,
    })
}

/// A tournament as `explain` prints it.
pub(crate) fn table(report: &Report, width: Option<usize>) -> String {
    tables::render(report, false, width)
}

fn from_manifests(args: &Explain, files: &Input) -> Result<Report> {
    let _working = Working::on("playing the tournament");
    let mut simulation = input::read(files)?.into_simulation()?;
    if args.after_simulation {
        play(&mut simulation, args.seed);
    }
    let found = find::find(&mut simulation, &args.pod(), args.namespace.as_deref())?;
    tournament(&simulation, &found)
}

fn tournament(simulation: &Simulation, found: &Found) -> Result<Report> {
    let scheduler = &simulation.scheduler;
    let Some(framework) = scheduler.profiles().of(&found.pod) else {
        let name = scheduler.cluster().names.text(found.pod.scheduler_name);
        bail!(
            "{} is left to the scheduler {name:?}, for which there is no profile",
            found.pod.key
        );
    };
    let explanation =
        stowplan_engine::explain::explain(framework, scheduler.cx(), &found.pod, true);
    let has_place = !explanation.best.is_empty() || explanation.error.is_some();
    let cluster = scheduler.cluster();
    let mut report = Report::new(cluster, framework, &found.pod, &found.state, &explanation);
    if !has_place {
        let remedies = stowplan_engine::remedy::remedies(framework, scheduler.cx(), &found.pod);
        report.suggest(cluster, &remedies);
    }
    Ok(report)
}
