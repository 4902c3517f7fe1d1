//! What can be done to objects.

mod admit;
pub(crate) mod collection;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
mod judged;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod review;
#[cfg(test)]
mod size_tests;
pub(crate) mod update;
pub(crate) mod watch;
mod write;

pub(crate) use write::{Creation, Write};
