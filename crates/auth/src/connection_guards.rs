//! What lasts as long as an upgraded connection.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Guards that are dropped when an upgraded connection ends. Whoever answers 101 keeps one of these as long as the
/// connection lasts, and puts a clone into the answer's extensions. The layers that the answer passes on its way
/// out add what has to last as long.
#[derive(Clone, Default)]
pub struct ConnectionGuards(Arc<Mutex<Vec<Box<dyn Any + Send>>>>);

impl ConnectionGuards {
    /// Keeps one more guard.
    pub fn hold(&self, guard: impl Any + Send) {
        let mut guards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guards.push(Box::new(guard));
    }
}

impl fmt::Debug for ConnectionGuards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionGuards")
    }
}
