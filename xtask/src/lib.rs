//! Repository chores, as functions that tests can call.

pub mod kubernetes;
pub mod schema;
pub mod tidy;
