//! What is kept of a run of a container on disk, for whoever comes after this process.
//!
//! ```text
//! STATE/lock                      held by the process that owns the folder
//! STATE/node.sock                 where shims tell that something happened
//! STATE/claims/NAMESPACE/NAME/    volumes that last
//! STATE/pods/UID/volumes/NAME/    volumes that go with the pod
//! STATE/pods/UID/containers/NAME/ATTEMPT/
//!     lock          held by the shim for as long as it lives
//!     spec.json     what has to be run
//!     begun         written before anything runs
//!     started.json  it runs
//!     exit.json     it is over; written before anybody is told
//!     log, log.1 …  what it said
//! ```

use crate::isolation::Isolation;
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use stowplan_base::Time;

/// A folder or file of the host that is to be seen in a container.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    /// What of the source is meant, if not all of it. Others may write there.
    #[serde(default)]
    pub(crate) sub_path: Option<PathBuf>,
    pub(crate) target: PathBuf,
    pub(crate) read_only: bool,
}

/// What has to be run, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    /// `UID/CONTAINER/ATTEMPT`.
    pub(crate) id: String,
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) isolation: Isolation,
    /// Who the container believes to be.
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) hostname: String,
    /// Folders of the host that are not to be seen.
    pub(crate) hidden: Vec<PathBuf>,
    /// Where the shim tells that something happened.
    pub(crate) socket: PathBuf,
    pub(crate) stdin: bool,
    pub(crate) stdin_once: bool,
    pub(crate) tty: bool,
    /// The cgroup to be in.
    pub(crate) cgroup: Option<PathBuf>,
    pub(crate) limits: Limits,
    /// How large a log file becomes, and how many there are.
    pub(crate) log_bytes: u64,
    pub(crate) log_files: u32,
    /// Whether the end of its log is what it said last, if it failed and left no message.
    pub(crate) logs_are_last_words: bool,
}

impl RunSpec {
    /// Nothing to be run, in namespaces.
    pub(crate) fn empty() -> Self {
        Self {
            id: String::new(),
            argv: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            mounts: Vec::new(),
            isolation: Isolation::Namespaces,
            uid: 0,
            gid: 0,
            hostname: String::new(),
            hidden: Vec::new(),
            socket: PathBuf::new(),
            stdin: false,
            stdin_once: false,
            tty: false,
            cgroup: None,
            limits: Limits::default(),
            log_bytes: LOG_BYTES,
            log_files: LOG_FILES,
            logs_are_last_words: false,
        }
    }
}

/// `containerLogMaxSize` and `containerLogMaxFiles` of a kubelet.
const LOG_BYTES: u64 = 10 << 20;
const LOG_FILES: u32 = 5;

/// Limits of each process, where there is no cgroup to keep them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// `RLIMIT_DATA`, in bytes.
    pub(crate) data: Option<u64>,
}

/// A container runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) at_ns: i64,
    /// Of the container's first process.
    pub(crate) pid: i32,
    /// When that process began, in ticks since the machine did: two processes of one number differ in it.
    pub(crate) ticks: u64,
    pub(crate) shim: i32,
    /// Where its terminal is, if it has one.
    #[serde(default)]
    pub(crate) terminal: Option<PathBuf>,
}

/// A container is over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Exited {
    pub(crate) since_ns: i64,
    pub(crate) at_ns: i64,
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    #[serde(default)]
    pub(crate) is_oom: bool,
    /// Why nothing of it ever ran.
    #[serde(default)]
    pub(crate) start_error: Option<String>,
}

/// The folder of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

/// What is known of a run by its folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RunState {
    /// Nothing ran yet, and nothing will.
    NotBegun,
    /// Its shim lives, and will tell.
    Starting,
    Running(Started),
    Exited(Exited),
    /// Its shim is gone and said nothing.
    Lost,
}

impl RunFolder {
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn spec(&self) -> io::Result<RunSpec> {
        read(&self.file("spec.json"))
    }

    pub(crate) fn started(&self) -> Option<Started> {
        read(&self.file("started.json")).ok()
    }

    pub(crate) fn exited(&self) -> Option<Exited> {
        read(&self.file("exit.json")).ok()
    }

    /// What became of the run.
    pub(crate) fn state(&self) -> RunState {
        // In this order: what is held now may be let go while we look.
        let is_alive = is_held(&self.file("lock"));
        if let Some(exited) = self.exited() {
            return RunState::Exited(exited);
        }
        let has_begun = self.file("begun").exists();
        match (is_alive, self.started(), has_begun) {
            (true, Some(started), _) => RunState::Running(started),
            (true, None, _) => RunState::Starting,
            (false, _, true) => RunState::Lost,
            (false, _, false) => RunState::NotBegun,
        }
    }
}

/// Takes the lock of a file; `None` if somebody else has it.
pub(crate) fn hold(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether somebody has the lock of a file.
fn is_held(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(_) => false,
    }
}

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let text = fs::read(path)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

/// Writes a file that is there whole or not at all.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T, is_durable: bool) -> io::Result<()> {
    let text = serde_json::to_vec(value).map_err(io::Error::other)?;
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(&text)?;
    if is_durable {
        file.sync_data()?;
    }
    fs::rename(&new, path)
}

/// When a process began, in ticks since the machine did; `None` if it is gone.
pub(crate) fn ticks_of(pid: i32) -> Option<u64> {
    let (is_dead, ticks) = stat(pid)?;
    (!is_dead).then_some(ticks)
}

/// Whether the number of a process that began then is somebody else's by now.
pub(crate) fn is_taken(pid: i32, ticks: u64) -> bool {
    stat(pid).is_some_and(|(_, began)| began != ticks)
}

/// Whether a process is dead and only waits to be asked how it died, and when it began.
fn stat(pid: i32) -> Option<(bool, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may have any of them inside.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    Some((is_dead, fields.nth(18)?.parse().ok()?))
}

pub(crate) fn time(nanos: i64) -> Time {
    Time::from_nanos(nanos)
}
