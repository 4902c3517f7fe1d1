//! What plugins may look at.

use super::{CycleState, Framework, Handle, KeptDryRuns, Preempting, Verdicts};
use crate::Snapshot;
use crate::queue::Nominator;

/// What every plugin may look at. It is handed on with every question: two references are passed in
/// registers, more would be copied each time.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// The cluster.
    pub cluster: &'a Snapshot,
    /// What the scheduler has begun and not ended yet.
    pub underway: &'a Underway,
}

/// What the scheduler has begun and not ended yet.
#[derive(Default)]
pub struct Underway {
    /// Pods that are promised a node.
    pub nominator: Nominator,
    /// Preemptions that are being carried out.
    pub preempting: Preempting,
    /// Pods that wait at Permit, to be let go.
    pub handle: Handle,
}

/// What PostFilter may look at.
pub struct PostFilterCx<'a> {
    /// The cluster.
    pub cx: Cx<'a>,
    /// The profile that is being run.
    pub framework: &'a Framework,
    /// What PreFilter left for every plugin.
    pub cycle: &'a CycleState,
    /// Why each node was rejected.
    pub statuses: &'a dyn Verdicts,
    /// What preemption found out before for pods like this one, if that is kept.
    pub kept: Option<&'a mut dyn KeptDryRuns>,
}
