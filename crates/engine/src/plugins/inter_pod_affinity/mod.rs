//! InterPodAffinity.

use crate::framework::{Plugin, Point};
/// `InterPodAffinityArgs`.
#[derive(Clone, Debug)]
pub struct InterPodAffinityArgs {
    /// `hardPodAffinityWeight`: what an existing pod's required affinity is worth to a newcomer.
    pub hard_pod_affinity_weight: i32,
    /// `ignorePreferredTermsOfExistingPods`.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self {
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
        }
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct InterPodAffinity {
    args: InterPodAffinityArgs,
}

impl InterPodAffinity {
    /// The plugin with its arguments.
    pub fn new(args: InterPodAffinityArgs) -> Self {
        Self { args }
    }
}

impl Plugin for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    type Filter = ();
    type Score = ();
}
