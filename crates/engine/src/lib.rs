//! The pure scheduler: which pod goes where, and why.
//!
//! The engine decides exactly as kube-scheduler v1.36.4 does, over plain data. It has no clock, no
//! randomness of its own, no I/O: time and seeds come in as arguments, effects go out as values.
//!
//! - [`model`]: the objects, as `stowplan-bridge` hands them in.
//! - [`Snapshot`]: the cluster's present state.
//! - [`framework`]: the extension points, and how a profile of plugins is run.
//! - [`packing`]: bin packing in the place of scores, and how well it does.
//! - [`plugins`]: one file or folder per in-tree plugin.
//! - [`queue`]: the scheduling queue, a state machine over time.
//! - [`explain`]: the same attempt with everything kept.
//! - [`extended`]: the same attempt with others who have a say.
//! - [`fast`]: the same attempt from what is kept about pods that are alike.
//! - [`remedy`]: what would make a pod fit.
//! - [`schedule`]: one scheduling attempt from PreFilter to the best set of nodes.
//! - [`meter`]: how long things take, for those who lend a clock.
//! - [`scheduler`]: cluster, queue and profiles as one state machine.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
// Numbers change their type by `From` or by a function of `cast`, which says what happens at the edges.
#![cfg_attr(
    not(test),
    deny(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )
)]

mod cast;
pub mod explain;
pub mod extended;
pub mod fast;
pub mod framework;
pub mod meter;
pub mod model;
pub mod packing;
pub mod plugins;
pub mod queue;
pub mod remedy;
pub mod schedule;
pub mod scheduler;
mod snapshot;
#[cfg(test)]
mod testing;

pub use snapshot::{
    Attached, Capacities, ChangeLog, Delta, Fact, FreeVolumes, ImageState, NodeInfo, NodeUpdate,
    Objects, PairRequest, ReadKeys, ResourceSummary, Services, Snapshot,
};
