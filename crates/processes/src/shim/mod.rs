//! The process beside each container: it starts it, keeps its log, waits for it and writes down how it ended.
//! It outlives whoever ordered it.
//!
//! ```text
//! stowplan ──▶ container-shim ──▶ container-init ═exec═▶ the container's command
//!              (new user and      (first in its process
//!               process spaces)    space; mounts)
//! ```

mod exec;
mod init;
mod log;
mod mounts;
mod namespaces;
mod running;

use crate::record::{self, Exited, RunFolder, RunSpec, Started, ticks_of};
pub(crate) use exec::ExecSpec;
pub(crate) use init::find;
use log::LogFile;
pub(crate) use mounts::{NOT_THERE, make_fifo};
use rustix::event::{PollFd, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, set_child_subreaper};
use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use stowplan_env::wall_clock;

/// The hidden commands of the binary, by which it is started again.
const SHIM: &str = "container-shim";
const INIT: &str = "container-init";
const EXEC: &str = "container-exec";
const JOIN: &str = "container-join";
const CHECK: &str = "container-check";

/// The exit code of what could not be started.
pub(crate) const NOT_STARTED: i32 = 128;

/// The path of this very program, whatever became of its file.
pub(crate) const SELF: &str = "/proc/self/exe";

/// Is one of the processes beside a container, if the command line asks for it: to be called first in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let command = args.next()?;
    let folder = args.next();
    let done = match command.to_str()? {
        SHIM => shim(Path::new(&folder?)),
        INIT => init::run(Path::new(&folder?)),
        EXEC => return Some(exec::enter()),
        JOIN => exec::join(),
        CHECK => namespaces::check(Path::new(&folder?)),
        _ => return None,
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(NOT_STARTED as u8)
        }
    })
}

/// The command line of a shim. Its standard input is the file whose lock it holds.
pub(crate) fn command(folder: &Path, lock: File) -> Command {
    let mut command = Command::new(SELF);
    command.arg0("stowplan").arg(SHIM).arg(folder).stdin(lock);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(file) = File::create(folder.join("shim.err")) {
        command.stderr(file);
    }
    command
}

/// The command line of a process that runs something in a container.
pub(crate) fn exec_command(spec: &exec::ExecSpec) -> io::Result<Command> {
    let mut command = Command::new(SELF);
    command.arg0("stowplan").arg(EXEC).env_clear();
    command.env(
        exec::SPEC,
        serde_json::to_string(spec).map_err(io::Error::other)?,
    );
    Ok(command)
}

/// The command line that says whether namespaces may be made.
pub(crate) fn check_command(folder: &Path) -> Command {
    let mut command = Command::new(SELF);
    command.arg0("stowplan").arg(CHECK).arg(folder);
    command
}

/// Runs a container to its end.
fn shim(folder: &Path) -> io::Result<()> {
    let folder = RunFolder(folder.to_owned());
    let spec = folder.spec()?;
    // Whatever terminal it was started from: signals for others do not concern it.
    let _ = rustix::process::setsid();
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    let mut log = LogFile::open(&folder, spec.log_bytes, spec.log_files)?;
    File::create_new(folder.file("begun"))?;
    let since = wall_clock().as_nanos();
    let over = match running::start(&folder, &spec) {
        Ok(running) => {
            let started = Started {
                at_ns: since,
                pid: running.pid(),
                ticks: ticks_of(running.pid()).unwrap_or(0),
                shim: rustix::process::getpid().as_raw_nonzero().get(),
                terminal: running.terminal.clone(),
            };
            record::write(&folder.file("started.json"), &started, false)?;
            tell(&spec);
            let status = running.follow(&mut log);
            exited(&spec, since, status?)
        }
        Err(error) => Exited {
            since_ns: since,
            at_ns: wall_clock().as_nanos(),
            code: 128,
            signal: None,
            is_oom: false,
            start_error: Some(error.to_string()),
        },
    };
    record::write(&folder.file("exit.json"), &over, true)?;
    tell(&spec);
    let _ = fs::remove_dir_all(folder.file("tmp"));
    Ok(())
}

fn exited(spec: &RunSpec, since_ns: i64, status: ExitStatus) -> Exited {
    let signal = status.signal();
    Exited {
        since_ns,
        at_ns: wall_clock().as_nanos(),
        code: status.code().unwrap_or(128 + signal.unwrap_or(0)),
        signal,
        is_oom: spec
            .cgroup
            .as_deref()
            .is_some_and(crate::cgroup::was_out_of_memory),
        start_error: None,
    }
}

/// Tells whoever listens that something is to be read; if nobody does, that is read later.
fn tell(spec: &RunSpec) {
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ = socket.send_to(spec.id.as_bytes(), &spec.socket);
    }
}

fn wait(fds: &mut [PollFd<'_>], seconds: Option<i64>) -> io::Result<usize> {
    let limit = seconds.map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 });
    loop {
        match poll(fds, limit.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Kills what the container left behind: all that came to be below this process.
fn kill_descendants() {
    let own = rustix::process::getpid().as_raw_nonzero();
    // Each turn may bring to light what was below.
    for _ in 0..1_000 {
        let path = format!("/proc/{own}/task/{own}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        let pids: Vec<Pid> = children
            .split_whitespace()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect();
        if pids.is_empty() {
            return;
        }
        for pid in &pids {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in pids {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
    }
}
