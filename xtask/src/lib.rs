//! Repository chores, as functions that tests can call.

pub mod schema;
pub mod tidy;
