//! `stowplan jobs`: serves a job queue, or works with one.

pub(crate) mod args;
mod operate;
mod serve;

use crate::Verdict;
use anyhow::{Context, Result};
use std::path::Path;

/// Does it.
pub(crate) fn run(args: &args::Jobs) -> Result<Verdict> {
    match &args.what {
        None => serve::run(&args.serve)?,
        Some(what) => operate::run(what)?,
    }
    Ok(Verdict::AllPlaced)
}

/// The first line of a file.
fn password(file: &Path) -> Result<String> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let line = text.lines().next().unwrap_or_default();
    anyhow::ensure!(
        !line.is_empty(),
        "there is no password in {}",
        file.display()
    );
    Ok(line.to_owned())
}
