//! NodeUnschedulable.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeUnschedulable;

impl Plugin for NodeUnschedulable {
    const NAME: &'static str = "NodeUnschedulable";
    const POINTS: &'static [Point] = &[Point::Filter];
    type Filter = ();
    type Score = ();
}
