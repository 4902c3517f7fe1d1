//! ImageLocality.

use crate::framework::{Plugin, Point};

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct ImageLocality;

impl Plugin for ImageLocality {
    const NAME: &'static str = "ImageLocality";
    const POINTS: &'static [Point] = &[Point::Score];
    type Filter = ();
    type Score = ();
}
