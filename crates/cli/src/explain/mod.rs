//! `stowplan explain`.

mod find;
mod one_node;
mod report;
mod tables;

use crate::Verdict;
use crate::args::Explain;
use crate::output::{self, Format};
use crate::simulate::play;
use crate::world::World;
use anyhow::{Result, bail};
use find::Found;
use report::{Outcome, Report};

/// Runs the command.
pub(crate) fn run(args: &Explain) -> Result<Verdict> {
    let mut world = World::open(&args.input)?;
    if args.after_simulation {
        play(&mut world, args.input.seed);
    }
    let pod = args.pod.as_deref().unwrap_or_default();
    let found = find::find(&mut world, pod, args.namespace.as_deref())?;
    let mut report = tournament(&world, &found)?;
    if let Some(node) = &args.node
        && !report.retain_node(node)
    {
        bail!("no node {node:?} in the input");
    }
    match args.input.output {
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
    Ok(match report.outcome {
        Outcome::Fits => Verdict::AllPlaced,
        _ => Verdict::SomePending,
    })
}

fn tournament(world: &World, found: &Found) -> Result<Report> {
    let scheduler = &world.scheduler;
    let Some(framework) = scheduler.profiles().of(&found.pod) else {
        let name = scheduler.cluster().names.text(found.pod.scheduler_name);
        bail!(
            "{} is left to the scheduler {name:?}, for which there is no profile",
            found.pod.key
        );
    };
    let explanation =
        stowplan_engine::explain::explain(framework, scheduler.cx(), &found.pod, true);
    Ok(Report::new(
        scheduler.cluster(),
        framework,
        found,
        &explanation,
    ))
}
