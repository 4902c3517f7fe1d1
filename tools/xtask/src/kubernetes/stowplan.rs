//! `stowplan up`, as the other side of a comparison.

use super::process::Process;
use super::wait_for;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running `stowplan up`. It is gone when this is dropped; its folder stays.
pub struct Stowplan {
    process: Process,
    kubeconfig: PathBuf,
}

impl Stowplan {
    /// Builds the binary as it is in the workspace, and says where it is. `STOWPLAN` names another
    /// one, which is not built.
    pub fn build() -> Result<PathBuf> {
        Self::built(&[], "")
    }

    /// The same as users get it: optimised.
    pub fn build_released() -> Result<PathBuf> {
        Self::built(&["--release"], "../release")
    }

    fn built(options: &[&str], from_here: &str) -> Result<PathBuf> {
        if let Some(binary) = std::env::var_os("STOWPLAN") {
            return Ok(binary.into());
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--locked", "--package=stowplan-cli"]);
        let status = command
            .args(options)
            .current_dir(crate::tidy::workspace())
            .status()
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("cargo build failed");
        }
        // This program lies beside it, in the folder of development builds.
        let us = std::env::current_exe()?;
        let folder = us.parent().context("no folder")?;
        Ok(folder.join(from_here).join("stowplan"))
    }

    /// Starts it with its data in a folder, on a free port, and waits until it is ready.
    pub fn start(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start_at(binary, folder, "127.0.0.1:0", arguments)
    }

    /// Starts it with the scheduler in it, at an address.
    pub fn start_with_scheduler(binary: &Path, folder: &Path, listen: &str) -> Result<Self> {
        Self::alone(binary, folder, &["--listen", listen])
    }

    /// Starts all of it, as users have it: with the scheduler, the controllers and nodes.
    pub fn start_living(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["up", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        Self::run(command, folder)
    }

    /// Starts it at an address.
    pub fn start_at(
        binary: &Path,
        folder: &Path,
        listen: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let start = ["--no-scheduler", "--listen", listen];
        Self::alone(binary, folder, &[&start, arguments].concat())
    }

    fn alone(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary);
        // Nobody else plays controllers and kubelets then: what is compared has none either.
        command.args(["up", "--no-controllers", "--no-nodes"]);
        command.args(arguments);
        Self::run(command, folder)
    }

    fn run(mut command: Command, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        command.arg("--data-dir").arg(folder);
        let log = folder.join("stowplan.log");
        // What one before it said is not its word.
        if log.exists() {
            std::fs::remove_file(&log)?;
        }
        let process = Process::start(&command, &log)?;
        let path = || {
            let said = process.said();
            let line = said.lines().find_map(|l| l.strip_prefix("kubeconfig: "));
            line.map(PathBuf::from).filter(|path| path.exists())
        };
        wait_for("stowplan up", || path().is_some()).with_context(|| process.last_words())?;
        let kubeconfig = path().context("the kubeconfig is gone")?;
        Ok(Self {
            process,
            kubeconfig,
        })
    }

    /// The number of the process.
    pub fn pid(&self) -> Result<u32> {
        self.process.pid()
    }

    /// The file that lets clients in, as an admin.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
