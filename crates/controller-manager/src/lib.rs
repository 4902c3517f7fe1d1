//! Runs controllers.

pub mod garbage_collector;
pub mod namespace;
mod pool;
pub mod resource_quota;
