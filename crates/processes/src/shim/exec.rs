//! A command that is run in a container that runs: `kubectl exec`, probes, hooks.
//!
//! ```text
//! stowplan ──▶ container-exec ──▶ container-join ═exec═▶ the command
//!              (enters the         (one of the container's
//!               container)          processes)
//! ```

use super::init::take_over;
use super::{JOIN, SELF, namespaces};
use crate::isolation::Isolation;
use rustix::process::{
    Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal, setsid,
};
use rustix::thread::{LinkNameSpaceType, ThreadNameSpaceType};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Where it is told what to run: the environment cannot be read by others.
pub(super) const SPEC: &str = "STOWPLAN_EXEC";

/// What has to be run in which container.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ExecSpec {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
    pub(crate) isolation: Isolation,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The container's first process, and its shim.
    pub(crate) pid: i32,
    pub(crate) shim: i32,
    pub(crate) cgroup: Option<PathBuf>,
    /// Whether standard input is a terminal, which becomes the command's own.
    pub(crate) tty: bool,
}

fn spec() -> io::Result<ExecSpec> {
    let text = std::env::var(SPEC).map_err(io::Error::other)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// Enters the container, starts the command there and ends as it does.
pub(super) fn enter() -> ExitCode {
    match enter_and_wait() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(126)
        }
    }
}

fn enter_and_wait() -> io::Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let spec = spec()?;
    if let Some(cgroup) = &spec.cgroup {
        let _ = fs::write(cgroup.join("cgroup.procs"), "0");
    }
    if spec.isolation == Isolation::Namespaces {
        let wrong = || io::Error::other("the container is gone");
        let pid = Pid::from_raw(spec.pid).ok_or_else(wrong)?;
        let container = pidfd_open(pid, PidfdFlags::empty())?;
        let users = File::open(format!("/proc/{}/ns/user", spec.shim))?;
        let kind = Some(LinkNameSpaceType::User);
        rustix::thread::move_into_link_name_space(users.as_fd(), kind)?;
        let spaces = ThreadNameSpaceType::MOUNT
            | ThreadNameSpaceType::PROCESS_ID
            | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME
            | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
        rustix::thread::move_into_thread_name_spaces(container.as_fd(), spaces)?;
        // What is executed next loads what the container has for libraries.
        namespaces::drop_bounding(spec.uid, spec.gid)?;
    }
    let mut command = Command::new(SELF);
    let status = command.arg0("stowplan").arg(JOIN).status()?;
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(255))
}

/// Becomes the command, within the container. Returns only if it failed.
pub(super) fn join() -> io::Result<()> {
    let spec = spec()?;
    let _ = setsid();
    if spec.tty {
        let _ = rustix::process::ioctl_tiocsctty(io::stdin());
    }
    if spec.isolation == Isolation::Namespaces {
        namespaces::become_user(spec.uid, spec.gid)?;
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Err(take_over(&spec.argv, &spec.env, &spec.cwd))
}
