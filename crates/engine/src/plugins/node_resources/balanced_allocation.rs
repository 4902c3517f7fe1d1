//! NodeResourcesBalancedAllocation.

use super::fit::ResourceSpec;
use crate::framework::{Plugin, Point};

/// `NodeResourcesBalancedAllocationArgs`.
#[derive(Clone, Debug)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// `resources`; their weights are always 1.
    pub resources: Vec<ResourceSpec>,
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        Self {
            resources: ResourceSpec::cpu_and_memory(),
        }
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct NodeResourcesBalancedAllocation {
    args: NodeResourcesBalancedAllocationArgs,
}

impl NodeResourcesBalancedAllocation {
    /// The plugin with its arguments.
    pub fn new(args: NodeResourcesBalancedAllocationArgs) -> Self {
        Self { args }
    }
}

impl Plugin for NodeResourcesBalancedAllocation {
    const NAME: &'static str = "NodeResourcesBalancedAllocation";
    const POINTS: &'static [Point] = &[Point::PreScore, Point::Score];
    type Filter = ();
    type Score = ();
}
