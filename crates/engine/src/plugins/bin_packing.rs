//! BinPacking. An extension: kube-scheduler has no such plugin.

use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{AnyPlugin, PluginBuilder};
use crate::packing::Packing;

/// `BinPackingArgs`.
#[derive(Clone, Debug, Default)]
pub struct BinPackingArgs {
    /// `policy`.
    pub policy: Packing,
}

impl Args for BinPackingArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let policy = fields.get("policy", Packing::default().name().to_owned())?;
        let found = Packing::from_name(&policy);
        if found.is_none() {
            let policies = Packing::ALL.map(Packing::name);
            fields.reject(fields.path("policy").not_supported(&policy, &policies));
        }
        Ok(Self {
            policy: found.unwrap_or_default(),
        })
    }
}

/// The plugin: a packing policy takes the place of all scores of the profile.
#[derive(Clone, Debug, Default)]
pub struct BinPacking;

impl BinPacking {
    /// The plugin at its extension points.
    pub fn build(self, args: BinPackingArgs) -> AnyPlugin {
        PluginBuilder::new(self).packing(args.policy).build()
    }
}
