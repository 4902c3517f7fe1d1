//! SchedulingGates.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    const NAME: &'static str = "SchedulingGates";
    const POINTS: &'static [Point] = &[Point::PreEnqueue];
    type Filter = ();
    type Score = ();
}
