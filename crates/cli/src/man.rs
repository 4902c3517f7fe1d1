//! `stowplan man`.

use crate::args::Cli;
use crate::{Verdict, output};
use anyhow::{Context, Result};
use clap::{Args, CommandFactory, ValueHint};
use std::path::PathBuf;

/// Write the man pages: stowplan.1, and one for each command, such as stowplan-up.1.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  stowplan man ~/.local/share/man/man1
  man stowplan-explain")]
pub(crate) struct Man {
    /// The folder; made if it is missing.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Man) -> Result<Verdict> {
    let folder = &args.dir;
    let cannot = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = write(&command, folder).with_context(cannot)?;
    let pages = output::count(pages, "page");
    output::print(&format!("{pages} in {}\n", folder.display()))?;
    Ok(Verdict::AllPlaced)
}

/// A page for a command and each below it. Says how many.
fn write(command: &clap::Command, folder: &std::path::Path) -> std::io::Result<usize> {
    let mut pages = 1;
    clap_mangen::Man::new(command.clone()).generate_to(folder)?;
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        pages += write(below, folder)?;
    }
    Ok(pages)
}
