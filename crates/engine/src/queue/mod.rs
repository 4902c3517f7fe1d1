//! The scheduling queue.

mod nominator;

pub use nominator::Nominator;
