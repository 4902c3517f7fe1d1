//! The semantics that are easy to get wrong, one test each. The numbers are those of
//! `cases/README.md`.

mod affinity;
mod messages;
mod preemption;
mod resources;
mod spread;
mod volumes;
mod world;
