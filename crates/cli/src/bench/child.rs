//! Runs a workload in a process of its own, so that its memory is its own too.
//!
//! The child is this binary with `--child`. It prints how far it is, a number from 0 to 1 per line,
//! and at last its report as JSON.

use crate::args::Bench;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use stowplan_bench::{Report, Scale, Workload};

/// Runs a workload, telling how far it is.
pub(super) fn run(
    workload: &Workload,
    args: &Bench,
    progress: &mut dyn FnMut(f64),
) -> Result<Report> {
    let binary = std::env::current_exe().context("this binary cannot be found")?;
    // In a process of its own, which gives it all back.
    let bytes = memory(workload, Scale(args.scale)).to_string();
    let touched = Command::new(&binary)
        .args(["bench", "--touch", &bytes])
        .status();
    touched.context("a process to touch memory cannot be started")?;
    let mut child = Command::new(binary)
        .args(["bench", "--child", "--scale", &args.scale.to_string()])
        .args(args.no_plain.then_some("--no-plain"))
        .args(args.records.then_some("--records"))
        .arg(workload.name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("a process for the workload cannot be started")?;
    let mut report = None;
    for line in BufReader::new(child.stdout.take().context("its output")?).lines() {
        let line = line?;
        match line.parse() {
            Ok(done) => progress(done),
            Err(_) => report = Some(serde_json::from_str(&line)?),
        }
    }
    let status = child.wait()?;
    match report {
        Some(report) if status.success() => Ok(report),
        _ => bail!(
            "{}: the process of the workload ended with {status}",
            workload.name
        ),
    }
}

/// About as many bytes as a workload takes, or more.
fn memory(workload: &Workload, scale: Scale) -> u64 {
    const CLASSES: f64 = (768 << 20) as f64;
    let objects = scale.nodes(workload.nodes()) + scale.pods(workload.measured());
    (CLASSES * scale.0) as u64 + ((objects as u64) << 11)
}
