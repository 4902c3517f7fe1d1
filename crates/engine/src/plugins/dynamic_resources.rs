//! DynamicResources.

use crate::framework::{Plugin, Point};
/// `DynamicResourcesArgs`.
#[derive(Clone, Debug)]
pub struct DynamicResourcesArgs {
    /// `filterTimeout` in milliseconds.
    pub filter_timeout_ms: i64,
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self {
            filter_timeout_ms: 10_000,
        }
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct DynamicResources {
    args: DynamicResourcesArgs,
}

impl DynamicResources {
    /// The plugin with its arguments.
    pub fn new(args: DynamicResourcesArgs) -> Self {
        Self { args }
    }
}

impl Plugin for DynamicResources {
    const NAME: &'static str = "DynamicResources";
    const POINTS: &'static [Point] = &[
        Point::PreEnqueue,
        Point::PreFilter,
        Point::Filter,
        Point::PostFilter,
        Point::Score,
        Point::Reserve,
        Point::PreBind,
    ];
    type Filter = ();
    type Score = ();
}
