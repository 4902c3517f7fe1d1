//! DefaultBinder.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct DefaultBinder;

impl Plugin for DefaultBinder {
    const NAME: &'static str = "DefaultBinder";
    const POINTS: &'static [Point] = &[Point::Bind];
    type Filter = ();
    type Score = ();
}
