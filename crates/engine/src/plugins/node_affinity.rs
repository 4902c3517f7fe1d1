//! NodeAffinity.

use crate::framework::{Plugin, Point};
/// `NodeAffinityArgs`.
#[derive(Clone, Debug, Default)]
pub struct NodeAffinityArgs {
    /// `addedAffinity`: holds for every pod of the profile.
    pub added_affinity: crate::model::NodeAffinity,
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct NodeAffinity {
    args: NodeAffinityArgs,
}

impl NodeAffinity {
    /// The plugin with its arguments.
    pub fn new(args: NodeAffinityArgs) -> Self {
        Self { args }
    }
}

impl Plugin for NodeAffinity {
    const NAME: &'static str = "NodeAffinity";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    type Filter = ();
    type Score = ();
}
