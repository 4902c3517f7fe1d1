//! Repository chores, as functions that tests can call.

pub mod clients;
pub mod cluster_file;
pub mod kubectl;
pub mod kubernetes;
pub mod schema;
pub mod tidy;
