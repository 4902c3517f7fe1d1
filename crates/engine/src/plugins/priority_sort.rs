//! PrioritySort.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct PrioritySort;

impl Plugin for PrioritySort {
    const NAME: &'static str = "PrioritySort";
    const POINTS: &'static [Point] = &[Point::QueueSort];
    type Filter = ();
    type Score = ();
}
