//! BinPacking. An extension: kube-scheduler has no such plugin.

use crate::framework::{AnyPlugin, PluginBuilder};
use crate::packing::Packing;

/// `BinPackingArgs`.
#[derive(Clone, Debug, Default)]
pub struct BinPackingArgs {
    /// `policy`.
    pub policy: Packing,
}

/// The plugin: a packing policy takes the place of all scores of the profile.
#[derive(Clone, Debug, Default)]
pub struct BinPacking;

impl BinPacking {
    /// The plugin at its extension points.
    pub fn build(self, args: &BinPackingArgs) -> AnyPlugin {
        PluginBuilder::new(self).packing(args.policy).build()
    }
}
