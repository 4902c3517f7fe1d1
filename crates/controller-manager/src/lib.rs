//! Runs controllers.
