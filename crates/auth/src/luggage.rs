//! What lasts as long as a connection that became something else.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Things that are dropped when a connection ends that was upgraded. Whoever answers 101 keeps one as long
/// as the connection lasts, and leaves a clone with the answer: those on its way put in what they want to
/// last as long.
#[derive(Clone, Default)]
pub struct Luggage(Arc<Mutex<Vec<Box<dyn Any + Send>>>>);

impl Luggage {
    /// One more thing.
    pub fn put(&self, thing: impl Any + Send) {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        things.push(Box::new(thing));
    }
}

impl fmt::Debug for Luggage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Luggage")
    }
}
