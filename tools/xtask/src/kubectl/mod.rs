//! `cargo xtask kubectl`: a script of kubectl commands, each run against a real kube-apiserver and
//! against `stowplan up`, and compared.
//!
//! Neither side runs controllers or kubelets. The steps are in `e2e/kubectl/script`, the files they
//! use in `e2e/kubectl/files`. `--living` runs `e2e/kubectl/living` instead, on clusters that live.

mod known;
mod living;
mod normal;
mod repairs;
mod script;

use crate::kubernetes::{self, Cluster, Options, Stowplan};
use anyhow::{Context, Result, bail};
use known::Known;
use script::{Outcome, Side, Step};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Arguments {
    /// Sections to run, by the beginning of their names; all if empty. The first, which makes what
    /// the others use, is always run.
    pub sections: Vec<String>,
    /// Another kubectl than the one built.
    pub kubectl: Option<PathBuf>,
    /// Show what each command printed.
    pub verbose: bool,
    /// Run the steps of living clusters: with controllers, schedulers and nodes on both sides.
    pub living: bool,
}

impl Arguments {
    /// Reads the arguments after the command's name.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut out = Self::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--kubectl" => out.kubectl = arguments.next().map(PathBuf::from),
                "--verbose" => out.verbose = true,
                "--living" => out.living = true,
                flag if flag.starts_with('-') => bail!("there is no {flag}"),
                section => out.sections.push(section.to_owned()),
            }
        }
        Ok(out)
    }
}

/// Runs the script on both sides. True if no step differs unexpectedly.
pub fn compare(arguments: &Arguments) -> Result<bool> {
    if arguments.living {
        return living::compare(arguments);
    }
    let home = crate::tidy::workspace().join("e2e/kubectl");
    let steps = script::read(&home.join("script"), &arguments.sections)?;
    let steps: Vec<&Step> = steps.iter().collect();
    let known = Known::read(&home.join("known-differences.txt"))?;
    let programs = kubernetes::build()?;
    let binary = Stowplan::build()?;
    let folder = std::env::temp_dir().join(format!("stowplan-kubectl-{}", std::process::id()));
    let kubectl = match &arguments.kubectl {
        Some(kubectl) => kubectl.clone(),
        None => programs.join("kubectl"),
    };
    let real = Cluster::start(&programs, &folder.join("real"), &Options::default())?;
    repairs::silence(&real)?;
    let ours = Stowplan::start(&binary, &folder.join("ours"), &[])?;
    let side = |name: &str, kubeconfig: &Path| {
        Side::new(
            &folder.join(name),
            &home.join("files"),
            &kubectl,
            kubeconfig,
        )
    };
    let expected = side("run-real", &real.kubeconfig())?;
    let actual = side("run-ours", ours.kubeconfig())?;
    let (expected, actual) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| expected.run(&steps));
        let actual = actual.run(&steps);
        (expected.join(), actual)
    });
    let Ok(expected) = expected else {
        bail!("the run against the real server panicked");
    };
    let (expected, actual) = (expected?, actual?);
    drop((real, ours));
    let same = report(&steps, &expected, &actual, &known, arguments, &folder)?;
    fs::remove_dir_all(&folder).context("cannot clean up")?;
    Ok(same)
}

/// Prints every difference, and says whether there is none that nobody knows.
fn report(
    steps: &[&Step],
    expected: &[Outcome],
    actual: &[Outcome],
    known: &Known,
    arguments: &Arguments,
    folder: &Path,
) -> Result<bool> {
    let (mut unknown, mut expected_differences, mut stale) = (0, 0, 0);
    for (step, (expected, actual)) in steps.iter().zip(expected.iter().zip(actual)) {
        let (real, ours) = (expected.normal(), actual.normal());
        if arguments.verbose {
            println!("--- {}: {}\n{real}", step.section, step.text);
        }
        match (real == ours, known.reason(step)) {
            (true, None) => {}
            (true, Some(_)) => {
                stale += 1;
                println!("=== no difference any more: {}", step.text);
            }
            (false, Some(_)) => expected_differences += 1,
            (false, None) => {
                unknown += 1;
                println!("=== {}: {}", step.section, step.text);
                println!("{}", difference(folder, &real, &ours)?);
            }
        }
    }
    println!(
        "kubectl steps={} differences={unknown} known={expected_differences} stale={stale}",
        steps.len()
    );
    Ok(unknown == 0 && stale == 0)
}

/// The lines that differ: `-` the real server's, `+` ours.
fn difference(folder: &Path, real: &str, ours: &str) -> Result<String> {
    let (a, b) = (folder.join("real.txt"), folder.join("ours.txt"));
    fs::write(&a, real)?;
    fs::write(&b, ours)?;
    let output = Command::new("diff")
        .args(["-U2", "--label=real", "--label=ours"])
        .args([&a, &b])
        .output()
        .context("cannot run diff")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
