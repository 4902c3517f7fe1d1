//! Repository chores, as functions that tests can call.

pub mod tidy;
