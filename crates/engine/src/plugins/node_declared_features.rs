//! NodeDeclaredFeatures.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    const NAME: &'static str = "NodeDeclaredFeatures";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter];
    type Filter = ();
    type Score = ();
}
