//! A container at work: what it says goes into its log, what others say goes to it.

use super::log::LogFile;
use super::{INIT, SELF, kill_descendants, namespaces, wait};
use crate::isolation::Isolation;
use crate::record::{RunFolder, RunSpec};
use crate::terminal::Terminal;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// As much as a pipe that can be written to takes without a wait.
const PIPE_BYTES: usize = 4 << 10;

/// A container at work.
pub(super) struct Running {
    child: Child,
    outputs: Vec<(File, &'static str)>,
    input: Option<Input>,
    /// Where its terminal is, if it has one.
    pub(super) terminal: Option<PathBuf>,
}

/// What others say to a container.
struct Input {
    path: PathBuf,
    from: File,
    to: File,
    /// Whether the first who leaves ends it.
    is_once: bool,
}

impl Input {
    fn open(folder: &RunFolder, to: File, is_once: bool) -> io::Result<Self> {
        let path = folder.file("stdin");
        let from = open_fifo(&path)?;
        Ok(Self {
            path,
            from,
            to,
            is_once,
        })
    }

    /// Hands on what there is. Says whether there may be more.
    fn copy(&mut self) -> io::Result<bool> {
        let mut buffer = [0; PIPE_BYTES];
        match self.from.read(&mut buffer) {
            Ok(0) if self.is_once => return Ok(false),
            Ok(0) => self.from = open_fifo(&self.path)?,
            Ok(count) => {
                let said = buffer.get(..count).unwrap_or_default();
                return Ok(self.to.write_all(said).is_ok());
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}

/// Opens a pipe that has a name, whether or not anybody writes to it.
fn open_fifo(path: &std::path::Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Starts the container's command; an error if it could not be.
pub(super) fn start(folder: &RunFolder, spec: &RunSpec) -> io::Result<Running> {
    if spec.isolation == Isolation::Namespaces {
        namespaces::leave_users_and_processes()?;
    }
    let (mut answer, handshake) = io::pipe()?;
    let mut command = Command::new(SELF);
    command
        .arg0("stowplan")
        .arg(INIT)
        .arg(&folder.0)
        .stdin(handshake);
    let mut input = None;
    let mut terminal = None;
    let outputs = match spec.tty {
        true => {
            let Terminal {
                master,
                slave,
                path,
            } = Terminal::open()?;
            terminal = Some(path);
            command.stdout(slave.try_clone()?).stderr(slave);
            if spec.stdin {
                input = Some(Input::open(folder, master.try_clone()?, spec.stdin_once)?);
            }
            vec![(master, "stdout")]
        }
        false => {
            let (stdout, stdout_end) = io::pipe()?;
            let (stderr, stderr_end) = io::pipe()?;
            command.stdout(stdout_end).stderr(stderr_end);
            if spec.stdin {
                // The container opens the other end.
                let path = folder.file("input");
                let mut options = OpenOptions::new();
                let flags = OFlags::NONBLOCK.bits().cast_signed();
                let both = options
                    .read(true)
                    .write(true)
                    .custom_flags(flags)
                    .open(path)?;
                input = Some(Input::open(folder, both, spec.stdin_once)?);
            }
            let file = |pipe: io::PipeReader| File::from(OwnedFd::from(pipe));
            vec![(file(stdout), "stdout"), (file(stderr), "stderr")]
        }
    };
    let mut child = command.spawn()?;
    // It holds ends of pipes.
    drop(command);
    let mut error = String::new();
    // It ends when the command has taken over.
    answer.read_to_string(&mut error)?;
    if !error.is_empty() {
        let _ = child.wait();
        return Err(io::Error::other(error));
    }
    if let Some(input) = input.as_mut().filter(|_| !spec.tty) {
        // Only the container reads from it now: when we let go it is at its end.
        input.to = OpenOptions::new().write(true).open(folder.file("input"))?;
    }
    Ok(Running {
        child,
        outputs,
        input,
        terminal,
    })
}

impl Running {
    pub(super) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// Keeps the log until the container is over.
    pub(super) fn follow(mut self, log: &mut LogFile) -> io::Result<ExitStatus> {
        let pid = Pid::from_raw(self.pid()).ok_or_else(|| io::Error::other("it has no number"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        loop {
            let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&pidfd, PollFlags::IN)];
            let outputs = self.outputs.iter();
            fds.extend(outputs.map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN)));
            if let Some(input) = &self.input {
                fds.push(PollFd::new(&input.from, PollFlags::IN));
            }
            wait(&mut fds, None)?;
            let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
            drop(fds);
            let count = self.outputs.len();
            let has_input = events
                .get(count + 1)
                .is_some_and(|events| !events.is_empty());
            self.copy(events.get(1..=count).unwrap_or_default(), log)?;
            if has_input {
                self.hand_on()?;
            }
            if events.first().is_some_and(|events| !events.is_empty()) {
                break;
            }
        }
        let status = self.child.wait()?;
        kill_descendants();
        self.drain(log)?;
        log.finish();
        Ok(status)
    }

    /// Hands input on, as far as there is room for it.
    fn hand_on(&mut self) -> io::Result<()> {
        let Some(input) = &mut self.input else {
            return Ok(());
        };
        let mut fds = [PollFd::new(&input.to, PollFlags::OUT)];
        let has_room = wait(&mut fds, Some(0))? > 0;
        if !has_room {
            // It reads when it likes; what it says matters more.
            let mut none: [PollFd<'_>; 0] = [];
            wait_ms(&mut none, 10)?;
        } else if !input.copy()? {
            self.input = None;
        }
        Ok(())
    }

    /// Takes in what there is to read; forgets pipes that are closed.
    fn copy(&mut self, events: &[PollFlags], log: &mut LogFile) -> io::Result<()> {
        let mut open = Vec::new();
        let mut buffer = vec![0; 16 << 10];
        let outputs = std::mem::take(&mut self.outputs);
        for ((mut pipe, stream), events) in outputs.into_iter().zip(events) {
            if events.is_empty() {
                open.push((pipe, stream));
                continue;
            }
            let count = match pipe.read(&mut buffer) {
                Ok(count) => count,
                // A terminal that nobody has open any more.
                Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => 0,
                Err(error) => return Err(error),
            };
            if count > 0 {
                log.write(stream, buffer.get(..count).unwrap_or_default());
                open.push((pipe, stream));
            }
        }
        self.outputs = open;
        Ok(())
    }

    /// Takes in what is left once all are dead.
    fn drain(&mut self, log: &mut LogFile) -> io::Result<()> {
        while !self.outputs.is_empty() {
            let outputs = self.outputs.iter();
            let mut fds: Vec<PollFd<'_>> = outputs
                .map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN))
                .collect();
            // Somebody else may have been given the pipe.
            if wait(&mut fds, Some(1))? == 0 {
                return Ok(());
            }
            let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
            drop(fds);
            self.copy(&events, log)?;
        }
        Ok(())
    }
}

fn wait_ms(fds: &mut [PollFd<'_>], millis: i64) -> io::Result<()> {
    let limit = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: millis * 1_000_000,
    };
    match rustix::event::poll(fds, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
