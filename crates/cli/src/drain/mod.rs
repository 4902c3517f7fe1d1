//! `stowplan drain`.

pub(crate) mod args;
mod cluster;
mod evict;
mod live;
mod tables;

use crate::Verdict;
use crate::input;
use crate::output::{self, Format};
use anyhow::{Context, Result, bail};
use args::Drain;
use std::collections::BTreeSet;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::load::Object;
use stowplan_base::Duration;
use stowplan_sim::drain::{Allowed, Asked, DrainReport, NotThere, Options, dry_run};
use stowplan_sim::{InputErrors, Source};

/// Runs the command.
pub(crate) fn run(args: &Drain) -> Result<Verdict> {
    let working = args
        .dry_run
        .then(|| output::Working::on("playing the drain"));
    let report = match (args.dry_run, args.input()) {
        (true, Some(files)) => {
            // Dumps may leave DaemonSets out, so those that pods name are taken to be there.
            what_if(args, &input::read(&files)?, &|_, _| Ok(()))?
        }
        (true, None) => runtime()?.block_on(what_if_live(args))?,
        (false, _) => return runtime()?.block_on(live::drain(args)),
    };
    drop(working);
    match args.output {
        format @ (Format::Json | Format::Yaml) => output::print_document(&report, format)?,
        _ => output::print(&tables::render(&report, output::width()))?,
    }
    Ok(match report.is_fine() {
        true => Verdict::AllPlaced,
        false => Verdict::SomePending,
    })
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

async fn what_if_live(args: &Drain) -> Result<DrainReport> {
    let client = cluster::client(args).await?;
    let lists = crate::explain::live::read_cluster(&client).await?;
    let daemon_sets: BTreeSet<(String, String)> = cluster::daemon_sets(&client).await?;
    let source = input::of(lists, args.config.as_deref())?;
    what_if(args, &source, &|namespace, name| {
        let key = (namespace.to_owned(), name.to_owned());
        match daemon_sets.contains(&key) {
            true => Ok(()),
            false => Err(NotThere::missing(name)),
        }
    })
}

/// Plays the drain on a copy of the cluster.
fn what_if(
    args: &Drain,
    source: &Source,
    daemon_set: &dyn Fn(&str, &str) -> Result<(), NotThere>,
) -> Result<DrainReport> {
    let mut simulation = source.simulation(source.config())?;
    let options = Options {
        nodes: nodes(args, source)?,
        allowed: allowed(args),
        grace_period: args.grace_seconds().map(Duration::from_secs),
        disable_eviction: args.disable_eviction,
        startup: Duration::from_nanos(args.startup.as_nanos().max(0)),
        seed: args.seed,
    };
    let asked = Asked {
        is_meant: &|pod| is_meant(args, pod),
        daemon_set,
    };
    let report = dry_run(&mut simulation, &options, &asked);
    report.map_err(|error| InputErrors(vec![error]).into())
}

/// The names of the nodes that are meant.
fn nodes(args: &Drain, source: &Source) -> Result<Vec<String>> {
    let Some(selector) = &args.selector else {
        return Ok(args.nodes.clone());
    };
    let mut names = Vec::new();
    for loaded in source.objects() {
        if let Object::Node(node) = &loaded.object
            && selector.hold(node.metadata.labels.as_ref())
        {
            names.push(loaded.object.name().to_owned());
        }
    }
    if names.is_empty() {
        bail!("no node has the labels {:?}", selector.text);
    }
    names.sort();
    Ok(names)
}

fn is_meant(args: &Drain, pod: &Pod) -> bool {
    let selector = args.pod_selector.as_ref();
    selector.is_none_or(|selector| selector.hold(pod.metadata.labels.as_ref()))
}

fn allowed(args: &Drain) -> Allowed {
    Allowed {
        force: args.force,
        ignore_daemonsets: args.ignore_daemonsets,
        delete_emptydir_data: args.delete_emptydir_data,
    }
}
