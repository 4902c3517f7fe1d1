//! Containers as real local processes, without images.
//!
//! [`Processes`] is a [`Runtime`](stowplan_nodes::Runtime) for nodes: it starts a shim for each container, which
//! outlives this process ([`run_if_asked`]).
//!
//! | here | what it is |
//! |---|---|
//! | `runtime` | orders in, reports out: [`Processes`] |
//! | `shim` | the processes beside and before a container's own |
//! | `record` | what is kept of a run on disk |
//! | `images`, `variables`, `fields`, `sources`, `volumes` | what a container is given |
//! | `cgroup`, `usage` | what it may use, and does |
//! | `logs` | what it said |
//! | `terminal`, `within` | terminals; paths that do not lead out of a folder |
//!
//! **Invariant:** whether a container lives is known by the lock that its shim holds, and how it ended by the
//! file that the shim wrote; this process remembers nothing that is not there.

mod cgroup;
mod expand;
mod fields;
mod images;
mod isolation;
mod logs;
mod record;
mod runtime;
mod shim;
mod sources;
mod state;
mod terminal;
#[cfg(test)]
mod testing;
mod usage;
mod variables;
mod volumes;
mod within;

pub use images::{Image, ImageMap};
pub use isolation::Isolation;
pub use logs::{LogRead, LogWanted, Piece};
pub use runtime::{Execution, Processes, Settings, Streams};
pub use shim::run_if_asked;
pub use terminal::set_size;
pub use usage::ContainerUsage;
