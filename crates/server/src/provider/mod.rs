//! Who runs pods: what the server asks of kubelets.

mod session;

pub use session::{
    Attached, Outcome, PIECE_BYTES_MAX, PIECES_MAX, Session, StreamOptions, TerminalSize,
};

use axum::body::Body;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use stowplan_apimachinery::Status;
use stowplan_base::Time;
use tokio::io::{AsyncRead, AsyncWrite};

/// What is asked of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogOptions {
    /// Which container.
    pub container: String,
    /// Whether to go on as more is written.
    pub follow: bool,
    /// The log of the container that ran before this one.
    pub previous: bool,
    /// Whether every line begins with its time.
    pub timestamps: bool,
    /// Only what was written in the last seconds.
    pub since_seconds: Option<i64>,
    /// Only what was written since a time (RFC 3339).
    pub since_time: Option<String>,
    /// Only so many lines of the end.
    pub tail_lines: Option<i64>,
    /// Only so many bytes.
    pub limit_bytes: Option<i64>,
}

/// A command in a container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecOptions {
    /// The command and its arguments; never empty.
    pub command: Vec<String>,
    /// Where it runs, and how it is talked to.
    pub streams: StreamOptions,
}

/// Bytes to and from a port of a pod.
pub trait PortStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> PortStream for T {}

/// An answer that is not there yet. An error is what the client is told.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send + 'a>>;

/// Runs the pods of some nodes, or knows who does.
///
/// Pods are as they are stored. A container that is named is one of the pod's (of any kind); whether it
/// runs is for the provider to say. A provider says it in kubelet's words, as
/// [`Status::bad_request`] for logs and as [`Status::internal`] for anything else.
pub trait Provider: Send + Sync {
    /// Whether the pods of this node are run by this provider. Others are not asked then.
    fn has_node(&self, node: &str) -> bool;

    /// The log of a container. One that is followed is a stream that ends when the container does; it
    /// must not run ahead of who reads it.
    fn log<'a>(&'a self, pod: &'a Value, options: &'a LogOptions, now: Time)
    -> Answering<'a, Body>;

    /// Begins a command in a container.
    fn exec<'a>(&'a self, pod: &'a Value, options: &'a ExecOptions) -> Answering<'a, Session>;

    /// Joins the process that a container runs. The session ends with the container; when the client
    /// is gone, the container goes on.
    fn attach<'a>(&'a self, pod: &'a Value, options: &'a StreamOptions) -> Answering<'a, Session>;

    /// Connects to a port of a pod.
    fn port_forward<'a>(&'a self, pod: &'a Value, port: u16) -> Answering<'a, Box<dyn PortStream>>;
}
