//! PodTopologySpread.

use crate::framework::{Plugin, Point};
/// `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default)]
pub struct PodTopologySpreadArgs {
    /// `defaultConstraints` and `defaultingType`.
    pub defaults: DefaultConstraints,
}

/// What applies to pods that name no constraints of their own.
#[derive(Clone, Debug, Default)]
pub enum DefaultConstraints {
    /// `defaultingType: System`: zone with skew 5 and hostname with skew 3, both soft.
    #[default]
    System,
    /// `defaultingType: List`: these; their selector comes from the pod's owner.
    List(Vec<crate::model::SpreadConstraint>),
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct PodTopologySpread {
    args: PodTopologySpreadArgs,
}

impl PodTopologySpread {
    /// The plugin with its arguments.
    pub fn new(args: PodTopologySpreadArgs) -> Self {
        Self { args }
    }
}

impl Plugin for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    type Filter = ();
    type Score = ();
}
