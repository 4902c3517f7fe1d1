//! How far containers are kept apart.

use serde::{Deserialize, Serialize};

/// How far containers are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Namespaces of their own: users, mounts, processes, host name, IPC.
    Namespaces,
    /// None: plain processes.
    Plain,
}
