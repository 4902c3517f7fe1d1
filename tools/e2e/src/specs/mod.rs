//! `cargo xtask specs`: Kubernetes' own end-to-end specs, on a real kube-apiserver and on `stowplan up`.
//! Nodes are simulated.

mod cluster;
mod list;
mod nodes;
mod outcome;

use crate::home::Folder;
use anyhow::{Result, bail};
use cluster::Running;
use list::{Expected, List};
use outcome::Outcome;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::process::Command;
use xtask::kubernetes::{self, Stowplan};

/// What is run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only specs whose names contain one of these.
    names: Vec<String>,
    /// Whose specs.
    #[arg(long, value_enum, default_value = "scheduling")]
    sig: Sig,
    /// On which API server.
    #[arg(long, value_enum, default_value = "real")]
    home: Home,
    /// Who schedules, on a real API server.
    #[arg(long, value_enum, default_value = "stowplan")]
    scheduler: Who,
    /// Whose controllers run, on a real API server.
    #[arg(long, value_enum, default_value = "stowplan")]
    controllers: Who,
    /// Who plays the kubelets, on a real API server: KWOK or `stowplan nodes`.
    #[arg(long, value_enum, default_value = "stowplan")]
    nodes: Who,
    /// How many specs to run side by side. Serial ones run alone in any case.
    #[arg(long, default_value_t = 6)]
    procs: usize,
    /// Also those that take minutes, and those that cannot pass here.
    #[arg(long)]
    all: bool,
    /// Writes what passed into the list.
    #[arg(long)]
    record: bool,
}

/// Who plays a part.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Who {
    /// What one has without Stowplan.
    Real,
    /// Stowplan.
    Stowplan,
}

/// Which API server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Home {
    /// etcd and kube-apiserver.
    Real,
    /// `stowplan up`.
    Embedded,
}

/// A special interest group of Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Sig {
    /// Pods find their nodes.
    Scheduling,
    /// Workloads.
    Apps,
    /// The API server itself.
    ApiMachinery,
    /// Pods on nodes.
    Node,
    /// Volumes and claims.
    Storage,
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Embedded => "embedded",
        })
    }
}

impl fmt::Display for Sig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduling => "scheduling",
            Self::Apps => "apps",
            Self::ApiMachinery => "api-machinery",
            Self::Node => "node",
            Self::Storage => "storage",
        })
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let list = List::read(options.home, options.sig)?;
    let programs = kubernetes::build()?;
    let specs = kubernetes::build_specs()?;
    let ginkgo = kubernetes::build_ginkgo()?;
    let binary = Stowplan::build_released()?;
    let folder = Folder::new("specs")?;
    let running = Running::start(options, &programs, &binary, &folder.0)?;
    let skipped = skipped(options, &list);
    let mut command = Command::new(ginkgo);
    command
        .args(["run", "--no-color", "--timeout=3h", "--keep-going"])
        .arg(format!("--procs={}", options.procs))
        .args(focus(options))
        .args(off(options.sig))
        .args(
            skipped
                .iter()
                .map(|name| pattern("skip", options.sig, name)),
        );
    let mut suite: Vec<OsString> = vec![specs.into(), "--".into(), "--kubeconfig".into()];
    suite.push(running.kubeconfig().into());
    // There is no kubelet to ask about a node when a spec fails.
    suite.extend(["--provider=skeleton", "--max-nodes-to-gather-from=0"].map(OsString::from));
    suite.push(format!("--num-nodes={}", nodes::NODES).into());
    suite.push("--kubectl-path".into());
    suite.push(programs.join("kubectl").into());
    let outcomes = outcome::of(command, &suite, &folder.0)?;
    for outcome in &outcomes {
        println!("{outcome}");
    }
    for (name, expected) in list.iter().filter(|(name, _)| skipped.contains(name)) {
        match expected {
            Expected::Skip(why) => println!("left out {name}: {why}"),
            _ => println!("left out {name}: takes minutes, see --all"),
        }
    }
    let passed: Vec<&str> = outcomes
        .iter()
        .filter(|o| o.state == "passed")
        .map(|o| &*o.name)
        .collect();
    println!("{} of {} specs passed", passed.len(), outcomes.len());
    if options.record {
        return list.record(options.home, options.sig, &passed);
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
    let sig = options.sig;
    match options.names.is_empty() {
        true => vec![pattern("focus", sig, "")],
        false => {
            let names = options.names.iter();
            names.map(|name| pattern("focus", sig, name)).collect()
        }
    }
}

/// What no cluster runs unless its features are switched on, and what breaks nodes or is known upstream
/// to fail now and then. Of [sig-scheduling] all are listed.
fn off(sig: Sig) -> Vec<String> {
    let tags = r"\[Feature:|\[Disruptive\]|\[Flaky\]|\[Alpha\]|\[LinuxOnly\]\[Feature|\[Driver:";
    match sig {
        Sig::Scheduling => Vec::new(),
        _ => vec![format!("--skip={tags}")],
    }
}

/// Ginkgo takes regular expressions.
fn pattern(flag: &str, sig: Sig, text: &str) -> String {
    let mut pattern = format!(r"--{flag}=\[sig-{sig}\].*");
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
            None => wrong.push(format!("{name}: {state}, and not on the list")),
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
