//! BinPacking. An extension: kube-scheduler has no such plugin.

use crate::framework::{Plugin, Point};
use crate::packing::Packing;

/// `BinPackingArgs`.
#[derive(Clone, Debug, Default)]
pub struct BinPackingArgs {
    /// `policy`.
    pub policy: Packing,
}

/// The plugin: a packing policy takes the place of all scores of the profile.
#[derive(Clone, Debug, Default)]
pub struct BinPacking {
    policy: Packing,
}

impl BinPacking {
    /// The plugin's name, which also stands where scores are explained.
    pub const NAME: &'static str = "BinPacking";

    /// The plugin with its arguments.
    pub fn new(args: &BinPackingArgs) -> Self {
        Self {
            policy: args.policy,
        }
    }
}

impl Plugin for BinPacking {
    const NAME: &'static str = Self::NAME;
    const POINTS: &'static [Point] = &[Point::Score];
    type Filter = ();
    type Score = ();

    fn packing(&self) -> Option<Packing> {
        Some(self.policy)
    }
}
