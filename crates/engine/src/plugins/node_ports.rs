//! NodePorts.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodePorts;

impl Plugin for NodePorts {
    const NAME: &'static str = "NodePorts";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = ();
    type Score = ();
}
