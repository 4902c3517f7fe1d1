//! `stowplan scheduler` as a process.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use xtask::kubernetes::Process;

/// A running scheduler, killed when this is dropped; nothing to be killed, if it is part of the server.
pub(crate) struct Scheduler {
    process: Option<Process>,
}

impl Scheduler {
    /// One that is part of the server.
    pub(crate) fn inside() -> Self {
        Self { process: None }
    }

    pub(crate) fn start(
        binary: &Path,
        kubeconfig: &Path,
        folder: &Path,
        name: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("scheduler").arg("--kubeconfig").arg(kubeconfig);
        // Scenarios that want leader election or a port say so.
        if !arguments.iter().any(|a| a.starts_with("--leader-elect")) {
            command.arg("--leader-elect=false");
        }
        if !arguments.iter().any(|a| a.starts_with("--secure-port")) {
            command.arg("--secure-port=0");
        }
        command.args(arguments);
        let log = folder.join(format!("scheduler-{name}.log"));
        let process = Process::start(&command, &log)?;
        Ok(Self {
            process: Some(process),
        })
    }

    /// Sends a signal: `STOP`, `CONT`, `TERM`, `KILL`.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let process = self.process.as_ref().context("no process of its own")?;
        let pid = process.pid()?.to_string();
        let status = Command::new("kill").args(["-s", signal, &pid]).status()?;
        match status.success() {
            true => Ok(()),
            false => bail!("cannot send {signal}: {}", process.last_words()),
        }
    }
}
