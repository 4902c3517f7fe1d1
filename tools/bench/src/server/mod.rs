//! The API server as its clients meet it.
//!
//! The server is this binary, started as `stowplan up` in a process and on a disk of its own; the
//! clients are in this process, on the same cores.

mod child;
mod client;
mod figure;
mod load;
mod measures;
mod watchers;

pub use figure::Figure;
pub use measures::{Tell, all};
