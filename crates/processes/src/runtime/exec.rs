//! Commands in containers that run.

use super::Inner;
use crate::isolation::Isolation;
use crate::logs::{LogRead, LogWanted};
use crate::record::{RunFolder, RunState};
use crate::runtime::Processes;
use crate::shim::{self, ExecSpec};
use crate::terminal::{Terminal, open_slave};
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader};
use std::os::unix::fs::OpenOptionsExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use stowplan_nodes::RunId;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

/// How much of what a command says is kept. Upstream's `maxReadLength`.
const SAID_BYTES: usize = 10 << 10;

/// How a command is talked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Streams {
    /// Whether there is something to read for it.
    pub stdin: bool,
    /// Whether it has a terminal.
    pub tty: bool,
}

/// A command that runs in a container. It is killed when this is dropped.
#[derive(Debug)]
pub struct Execution {
    /// The process that waits for it, with the ends of its pipes.
    pub child: Child,
    /// Its terminal, if it has one.
    pub terminal: Option<File>,
}

impl Inner {
    /// The last run of a container of which anything is there; or the one before.
    pub(crate) fn latest(
        &self,
        uid: &str,
        container: &str,
        previous: bool,
    ) -> Option<(RunId, RunFolder)> {
        let mut runs = self.state.runs(uid);
        runs.retain(|(run, _)| *run.container == *container);
        runs.sort_by_key(|(run, _)| std::cmp::Reverse(run.attempt));
        runs.into_iter().nth(usize::from(previous))
    }

    /// The command line of a process that runs something in a container; `None` if that does not run.
    fn command_in(
        &self,
        folder: &RunFolder,
        argv: &[String],
        tty: bool,
    ) -> io::Result<Option<Command>> {
        let RunState::Running(started) = folder.state() else {
            return Ok(None);
        };
        let spec = folder.spec()?;
        let mut env = spec.env;
        if tty && !env.iter().any(|(name, _)| name == "TERM") {
            env.push(("TERM".to_owned(), "xterm".to_owned()));
        }
        let exec = ExecSpec {
            argv: argv.to_vec(),
            env,
            cwd: spec.cwd,
            isolation: spec.isolation,
            uid: spec.uid,
            gid: spec.gid,
            pid: started.pid,
            shim: started.shim,
            cgroup: spec.cgroup,
            tty,
        };
        Ok(Some(Command::from(shim::exec_command(&exec)?)))
    }

    /// Runs a command to its end, or kills it when its time is over. What it said, and how it ended; `None` if it
    /// took too long.
    pub(super) async fn run_in(
        &self,
        folder: &RunFolder,
        argv: &[String],
        longest: Duration,
    ) -> io::Result<Option<(ExitStatus, String)>> {
        let Some(mut command) = self.command_in(folder, argv, false)? else {
            return Err(io::Error::other("container is not running"));
        };
        let (reader, writer) = io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        command.kill_on_drop(true);
        let mut child = command.spawn()?;
        // It holds ends of the pipe.
        drop(command);
        let ended = wait(&*self.settings.env, &mut child, reader, longest).await?;
        if ended.is_none() {
            let _ = child.kill().await;
        }
        Ok(ended)
    }
}

/// Waits for a command to end. How it ended and what it said until shortly after; `None` if it took too long.
async fn wait(
    env: &dyn Env,
    child: &mut Child,
    reader: PipeReader,
    longest: Duration,
) -> io::Result<Option<(ExitStatus, String)>> {
    let mut reader = Receiver::from_owned_fd(reader.into())?;
    let mut said = Vec::new();
    let status = {
        let mut hearing = pin!(hear(&mut reader, &mut said));
        let mut is_all = false;
        let ended = async {
            let mut waiting = pin!(child.wait());
            loop {
                tokio::select! {
                    status = &mut waiting => break status,
                    () = &mut hearing, if !is_all => is_all = true,
                }
            }
        };
        let Ok(status) = timeout(env, longest, ended).await else {
            return Ok(None);
        };
        if !is_all {
            // Others that it has started may have the pipe for as long as they like.
            let _ = timeout(env, Duration::from_secs(1), hearing).await;
        }
        status?
    };
    Ok(Some((status, String::from_utf8_lossy(&said).into_owned())))
}

/// Reads to the end. What is too much is of no interest, but must not block who says it.
async fn hear(reader: &mut Receiver, said: &mut Vec<u8>) {
    let mut buffer = vec![0; 4 << 10];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        let room = SAID_BYTES.saturating_sub(said.len());
        said.extend_from_slice(buffer.get(..count.min(room)).unwrap_or_default());
    }
}

impl Processes {
    /// Begins a command in a container; `None` if that does not run.
    pub fn exec(
        &self,
        uid: &str,
        container: &str,
        argv: &[String],
        streams: Streams,
    ) -> io::Result<Option<Execution>> {
        let Some((_, folder)) = self.0.latest(uid, container, false) else {
            return Ok(None);
        };
        let Some(mut command) = self.0.command_in(&folder, argv, streams.tty)? else {
            return Ok(None);
        };
        command.kill_on_drop(true);
        if streams.tty {
            let Terminal { master, slave, .. } = Terminal::open()?;
            command
                .stdin(slave.try_clone()?)
                .stdout(slave.try_clone()?)
                .stderr(slave);
            let child = command.spawn()?;
            let terminal = Some(master);
            return Ok(Some(Execution { child, terminal }));
        }
        command.stdin(if streams.stdin {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn()?;
        let terminal = None;
        Ok(Some(Execution { child, terminal }))
    }

    /// Whether a container runs now.
    pub fn is_running(&self, uid: &str, container: &str) -> bool {
        let latest = self.0.latest(uid, container, false);
        latest.is_some_and(|(_, folder)| {
            matches!(folder.state(), RunState::Starting | RunState::Running(_))
        })
    }

    /// The terminal of a container, to say how large it is; `None` if it has none, or does not run.
    pub fn terminal(&self, uid: &str, container: &str) -> Option<File> {
        let (_, folder) = self.0.latest(uid, container, false)?;
        match folder.state() {
            RunState::Running(started) => open_slave(&started.terminal?).ok(),
            _ => None,
        }
    }

    /// What to write to so that a container reads it; `None` if it reads nothing, or does not run.
    pub fn stdin(&self, uid: &str, container: &str) -> Option<File> {
        let (_, folder) = self.0.latest(uid, container, false)?;
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        // Nobody reads it once the container is over: then there is nothing to open.
        options
            .write(true)
            .custom_flags(flags)
            .open(folder.file("stdin"))
            .ok()
    }

    /// The log of a container; `None` if there is no such run of it.
    pub fn log(
        &self,
        uid: &str,
        container: &str,
        previous: bool,
        wanted: LogWanted,
    ) -> Option<LogRead> {
        let (_, folder) = self.0.latest(uid, container, previous)?;
        LogRead::open(folder, wanted).ok()
    }

    /// Whether a run is over whose log is read, so that nothing will be added.
    pub fn is_over(&self, read: &LogRead) -> bool {
        !matches!(
            read.folder().state(),
            RunState::Starting | RunState::Running(_)
        )
    }

    /// Whether containers are kept apart.
    pub fn isolation(&self) -> Isolation {
        self.0.isolation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use stowplan_env::System;

    /// Runs a script as a probe is run.
    fn run(script: &str, longest: Duration) -> Option<(ExitStatus, String)> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        // Nothing may wait in a thread.
        let runtime = builder.enable_all().max_blocking_threads(1).build();
        let ended = runtime.unwrap().block_on(async {
            let (reader, writer) = io::pipe().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null());
            command.stdout(writer.try_clone().unwrap()).stderr(writer);
            let mut child = command.kill_on_drop(true).spawn().unwrap();
            drop(command);
            wait(&System::new(), &mut child, reader, longest).await
        });
        ended.unwrap()
    }

    #[test]
    fn what_a_command_says_is_kept_up_to_a_limit() {
        let minute = Duration::from_secs(60);
        let (status, said) = run("echo one; echo two >&2; exit 3", minute).unwrap();
        assert_eq!((status.code(), &*said), (Some(3), "one\ntwo\n"));
        let (status, said) = run("head -c 300000 /dev/zero", minute).unwrap();
        assert_eq!((status.code(), said.len()), (Some(0), SAID_BYTES));
        assert_eq!(run("sleep 60", Duration::from_millis(50)), None);
    }

    #[test]
    fn nobody_reads_what_is_said_after_the_end() {
        let folder = Folder::new("said");
        let closed = folder.path().join("closed");
        let talk = "trap '' PIPE; while echo more 2> /dev/null; do sleep 0.05; done";
        let script = format!("echo one; ({talk}; : > {}) &", closed.display());
        let (_, said) = run(&script, Duration::from_secs(60)).unwrap();
        assert!(said.starts_with("one\n"), "{said}");
        for _ in 0..200 {
            if closed.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the pipe is still read");
    }
}
