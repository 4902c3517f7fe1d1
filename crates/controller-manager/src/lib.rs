//! Runs controllers.

pub mod garbage_collector;
