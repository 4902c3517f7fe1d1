//! VolumeRestrictions.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    const NAME: &'static str = "VolumeRestrictions";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = ();
    type Score = ();
}
