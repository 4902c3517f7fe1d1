//! VolumeBinding.

use crate::framework::{Plugin, Point};
/// `VolumeBindingArgs`.
#[derive(Clone, Debug)]
pub struct VolumeBindingArgs {
    /// `bindTimeoutSeconds`.
    pub bind_timeout_seconds: i64,
    /// `shape`: only read when StorageCapacityScoring is on, which it is not.
    pub shape: Option<Vec<(i32, i32)>>,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self {
            bind_timeout_seconds: 600,
            shape: None,
        }
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct VolumeBinding {
    args: VolumeBindingArgs,
}

impl VolumeBinding {
    /// The plugin with its arguments.
    pub fn new(args: VolumeBindingArgs) -> Self {
        Self { args }
    }
}

impl Plugin for VolumeBinding {
    const NAME: &'static str = "VolumeBinding";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
        Point::Reserve,
        Point::PreBind,
    ];
    type Filter = ();
    type Score = ();
}
