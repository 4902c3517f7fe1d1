//! VolumeZone.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct VolumeZone;

impl Plugin for VolumeZone {
    const NAME: &'static str = "VolumeZone";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = ();
    type Score = ();
}
