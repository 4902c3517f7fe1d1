//! Writes of kinds that are judged in the form in which they are kept.

use super::Write;
use crate::request::Target;
use serde_json::Value;
use std::sync::Arc;

impl Write<'_> {
    /// The same write in the form in which objects are kept: it is judged by the rules of that form.
    pub(super) fn judged_by<'a>(&'a self, target: &'a Target) -> Write<'a> {
        Write {
            target,
            strategy: target.strategy(),
            ..*self
        }
    }

    /// What is asked for, as it would be kept.
    pub(super) fn stored(&self, object: &Value) -> Value {
        self.target.resource.stored(object).into_owned()
    }

    /// What is kept, as the client sees it.
    pub(super) fn shown(&self, stored: Value) -> Value {
        Value::clone(&self.target.resource.view(Arc::new(stored)))
    }
}
