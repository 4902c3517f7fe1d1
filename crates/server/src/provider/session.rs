//! One command, or one process that was joined, and what is said to it and by it.

use bytes::Bytes;
use stowplan_apimachinery::Status;
use tokio::sync::{mpsc, oneshot};

/// How many pieces a stream holds that the other side has not taken yet. Who sends waits then.
pub const PIECES_MAX: usize = 8;
/// No piece should be larger: what waits is bounded by this.
pub const PIECE_BYTES_MAX: usize = 32 * 1024;

/// How a process is talked to. Upstream: `PodExecOptions` and `PodAttachOptions`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamOptions {
    /// Which container.
    pub container: String,
    /// Whether there is something to read for it.
    pub stdin: bool,
    /// Whether what it writes is wanted.
    pub stdout: bool,
    /// Whether its errors are wanted; never with a terminal.
    pub stderr: bool,
    /// Whether it has a terminal. What it writes is all on `stdout` then.
    pub tty: bool,
}

/// How large a terminal is, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TerminalSize {
    /// `Width`
    pub width: u16,
    /// `Height`
    pub height: u16,
}

/// How a process ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// With this code.
    Exited(i32),
    /// It did not run, or nobody knows. In kubelet's words: `Status::internal("error executing command
    /// in container: ...")`.
    Failed(Status),
}

/// The client's side. Dropping it is how a client leaves.
///
/// The session is over once there is an outcome and both outputs are closed, in any order.
#[derive(Debug)]
pub struct Session {
    /// To its standard input; dropped at the end of that. Nobody reads it if it was not asked for.
    pub stdin: mpsc::Sender<Bytes>,
    /// What it wrote. Closed at once if it was not asked for.
    pub stdout: mpsc::Receiver<Bytes>,
    /// The same of its errors.
    pub stderr: mpsc::Receiver<Bytes>,
    /// The sizes of the terminal, as they change.
    pub resize: mpsc::Sender<TerminalSize>,
    /// How it ended.
    pub outcome: oneshot::Receiver<Outcome>,
}

/// The process' side.
#[derive(Debug)]
pub struct Attached {
    /// What it has to read; ends when the client has said all, or is gone.
    pub stdin: Option<mpsc::Receiver<Bytes>>,
    /// Takes what it writes. Fails once the client is gone.
    pub stdout: Option<mpsc::Sender<Bytes>>,
    /// The same for its errors.
    pub stderr: Option<mpsc::Sender<Bytes>>,
    /// The sizes of its terminal, if it has one.
    pub resize: Option<mpsc::Receiver<TerminalSize>>,
    /// Takes how it ended. Dropped without a word, it is a failure. Closed once the client is gone.
    pub outcome: oneshot::Sender<Outcome>,
}

impl Session {
    /// Both sides of a new session.
    pub fn new(options: &StreamOptions) -> (Self, Attached) {
        let (stdin, read) = mpsc::channel(PIECES_MAX);
        let (write, stdout) = mpsc::channel(PIECES_MAX);
        let (complain, stderr) = mpsc::channel(PIECES_MAX);
        let (resize, sizes) = mpsc::channel(PIECES_MAX);
        let (tell, outcome) = oneshot::channel();
        let session = Self {
            stdin,
            stdout,
            stderr,
            resize,
            outcome,
        };
        let attached = Attached {
            stdin: options.stdin.then_some(read),
            stdout: options.stdout.then_some(write),
            stderr: (options.stderr && !options.tty).then_some(complain),
            resize: options.tty.then_some(sizes),
            outcome: tell,
        };
        (session, attached)
    }
}
