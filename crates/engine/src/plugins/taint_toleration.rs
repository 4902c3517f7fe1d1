//! TaintToleration.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct TaintToleration;

impl Plugin for TaintToleration {
    const NAME: &'static str = "TaintToleration";
    const POINTS: &'static [Point] = &[Point::Filter, Point::PreScore, Point::Score];
    type Filter = ();
    type Score = ();
}
