//! NodeName.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeName;

impl Plugin for NodeName {
    const NAME: &'static str = "NodeName";
    const POINTS: &'static [Point] = &[Point::Filter];
    type Filter = ();
    type Score = ();
}
