//! What plugins may look at.

use super::{CycleState, Framework, KeptDryRuns, Preempting, Verdicts};
use crate::Snapshot;
use crate::queue::Nominator;

/// What every plugin may look at.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// The cluster.
    pub cluster: &'a Snapshot,
    /// Pods that are promised a node.
    pub nominator: &'a Nominator,
    /// Preemptions that are being carried out.
    pub preempting: &'a Preempting,
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
