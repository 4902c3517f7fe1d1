//! How to serve, and why it may end.

use crate::fwp::Password;
use crate::log::{LogSettings, OpenError};
use std::io;
use std::sync::Arc;
use stowplan_jobs::Settings;

/// How to serve.
#[derive(Clone)]
pub struct ServeSettings {
    /// How the queue behaves.
    pub queue: Settings,
    /// How the log is kept.
    pub log: LogSettings,
    /// What clients must know.
    pub password: Option<Password>,
    /// With this, connections speak TLS.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// How many connections there may be.
    pub connections_max: usize,
    /// How long a line may be.
    pub line_max: usize,
    /// A FETCH is answered when its lease is durable: see docs/jobs.md.
    pub durable_leases: bool,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            queue: Settings::default(),
            log: LogSettings::default(),
            password: None,
            tls: None,
            connections_max: 20_000,
            line_max: 64 << 20,
            durable_leases: false,
        }
    }
}

/// The server cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The disk or the network does not do what it is asked.
    #[error("the job server cannot go on")]
    Io(#[from] io::Error),
}
