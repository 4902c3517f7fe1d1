//! The store as its users see it.
//!
//! What is random follows from a seed: `STOWPLAN_SEED` sets it (a failure prints it), and
//! `STOWPLAN_CASES`, `STOWPLAN_EVENTS`, `STOWPLAN_RACES`, `STOWPLAN_POWER_LOSSES`,
//! `STOWPLAN_KILLS` and `STOWPLAN_DAMAGES` say how much is tried.

mod basics;
mod disk;
mod failures;
mod files;
mod full;
mod groups;
mod kill;
mod model;
mod power;
mod races;
mod tools;
mod validators;
mod watches;
