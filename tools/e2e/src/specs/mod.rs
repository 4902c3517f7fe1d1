//! `cargo xtask specs`: Kubernetes' own end-to-end specs of scheduling, on a real Kubernetes whose
//! kubelets are played by KWOK.

mod list;
mod nodes;
mod outcome;

use crate::home::{Folder, let_scheduler_in};
use crate::scheduler::Scheduler;
use anyhow::{Result, bail};
use list::{Expected, List};
use outcome::Outcome;
use std::collections::BTreeSet;
use std::process::Command;
use xtask::kubernetes::{self, Cluster, Stowplan};

/// What is run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only specs whose names contain one of these.
    names: Vec<String>,
    /// Who schedules.
    #[arg(long, value_enum, default_value = "stowplan")]
    scheduler: Who,
    /// Also those that take minutes, and those that cannot pass here.
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Who {
    /// kube-scheduler.
    Real,
    /// `stowplan scheduler`.
    Stowplan,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let list = List::read()?;
    let programs = kubernetes::build()?;
    let kwok = kubernetes::build_kwok()?;
    let specs = kubernetes::build_specs()?;
    let folder = Folder::new("specs")?;
    let cluster = Cluster::start(
        &programs,
        &folder.0.join("cluster"),
        &kubernetes::Options {
            controller_manager: true,
            scheduler: options.scheduler == Who::Real,
            ..kubernetes::Options::default()
        },
    )?;
    let _kubelets = nodes::start(&kwok, &cluster, &folder.0)?;
    let _scheduler = match options.scheduler {
        Who::Real => None,
        Who::Stowplan => {
            let kubeconfig = let_scheduler_in(&cluster.kubeconfig(), &folder.0)?;
            let binary = Stowplan::build_released()?;
            let scheduler = Scheduler::start(&binary, &kubeconfig, &folder.0, "specs", &[])?;
            Some(scheduler)
        }
    };
    let skipped = skipped(options, &list);
    let mut command = Command::new(specs);
    command
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["--provider=skeleton", "--ginkgo.no-color"])
        // There is no kubelet to ask about a node when a spec fails.
        .arg("--max-nodes-to-gather-from=0")
        .arg(format!("--num-nodes={}", nodes::NODES))
        .args(focus(options))
        .args(skipped.iter().map(|name| pattern("skip", name)));
    let outcomes = outcome::of(&mut command, &folder.0)?;
    for outcome in &outcomes {
        println!("{outcome}");
    }
    for (name, expected) in list.iter().filter(|(name, _)| skipped.contains(name)) {
        match expected {
            Expected::Skip(why) => println!("left out {name}: {why}"),
            _ => println!("left out {name}: takes minutes, see --all"),
        }
    }
    judge(options, &list, &skipped, &outcomes)
}

fn is_asked_for(options: &Options, name: &str) -> bool {
    options.names.is_empty() || options.names.iter().any(|part| name.contains(part))
}

/// What is not run although it was asked for.
fn skipped<'a>(options: &Options, list: &'a List) -> BTreeSet<&'a str> {
    let not_now = |expected: &Expected| !options.all && *expected != Expected::Pass;
    list.iter()
        .filter(|(name, expected)| is_asked_for(options, name) && not_now(expected))
        .map(|(name, _)| name)
        .collect()
}

fn focus(options: &Options) -> Vec<String> {
    match options.names.is_empty() {
        true => vec![pattern("focus", "")],
        false => options.names.iter().map(|n| pattern("focus", n)).collect(),
    }
}

/// Ginkgo takes regular expressions.
fn pattern(flag: &str, text: &str) -> String {
    let mut pattern = format!(r"--ginkgo.{flag}=\[sig-scheduling\].*");
    for char in text.chars() {
        if char.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

fn judge(
    options: &Options,
    list: &List,
    skipped: &BTreeSet<&str>,
    outcomes: &[Outcome],
) -> Result<()> {
    let mut wrong = Vec::new();
    for Outcome { name, state, .. } in outcomes {
        match list.expected(name) {
            None => wrong.push(format!("{name}: not on the list")),
            Some(Expected::Skip(_)) => {}
            Some(_) if state == "passed" => {}
            Some(_) => wrong.push(format!("{name}: {state}")),
        }
    }
    for (name, expected) in list.iter() {
        let times = outcomes.iter().filter(|o| o.name == name).count();
        let should = is_asked_for(options, name) && !skipped.contains(name);
        if should && times != 1 && !matches!(expected, Expected::Skip(_)) {
            wrong.push(format!("{name}: ran {times} times"));
        }
    }
    if outcomes.is_empty() {
        wrong.push("no spec ran: is the name right, and does a slow one lack --all?".to_owned());
    }
    match wrong.len() {
        0 => Ok(()),
        n => bail!("{n} specs not as expected:\n{}", wrong.join("\n")),
    }
}
