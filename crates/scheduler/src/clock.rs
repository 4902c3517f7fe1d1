//! The engine's clock.

use std::sync::Arc;
use stowplan_base::{Env, Time};

/// Time that never goes back.
#[derive(Clone)]
pub(crate) struct Clock(pub(crate) Arc<dyn Env>);

impl Clock {
    /// The time now.
    pub(crate) fn now(&self) -> Time {
        self.0.monotonic()
    }
}
