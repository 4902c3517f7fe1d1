//! DefaultPreemption.

use crate::framework::{Plugin, Point};
/// `DefaultPreemptionArgs`.
#[derive(Clone, Debug)]
pub struct DefaultPreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub min_candidate_nodes_percentage: i32,
    /// `minCandidateNodesAbsolute`.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self {
            min_candidate_nodes_percentage: 10,
            min_candidate_nodes_absolute: 100,
        }
    }
}

/// Preemptions that are being carried out.
#[derive(Clone, Debug, Default)]
pub struct Preempting {}

/// The plugin.
#[derive(Clone, Debug)]
pub struct DefaultPreemption {
    args: DefaultPreemptionArgs,
}

impl DefaultPreemption {
    /// The plugin with its arguments.
    pub fn new(args: DefaultPreemptionArgs) -> Self {
        Self { args }
    }
}

impl Plugin for DefaultPreemption {
    const NAME: &'static str = "DefaultPreemption";
    const POINTS: &'static [Point] = &[Point::PreEnqueue, Point::PostFilter];
    type Filter = ();
    type Score = ();
}
