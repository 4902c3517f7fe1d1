//! NodeVolumeLimits.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    const NAME: &'static str = "NodeVolumeLimits";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = ();
    type Score = ();
}
