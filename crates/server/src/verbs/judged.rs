//! Writes of kinds that are judged in the form in which they are kept.

use super::Write;
use super::write::copy;
use crate::request::Target;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::{Edit, View};

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

    /// What takes the place of an object that is kept. An apply that asks for what is there leaves it
    /// alone; other writes leave what a conversion there and back makes of it.
    pub(super) fn replacement(&self, object: &Value, existing: &Value, kept: &Value) -> Value {
        let without_owners = |object: &Value| {
            let mut object = object.clone();
            object.at_mut("metadata").unset("managedFields");
            object
        };
        if !self.options.applies || without_owners(object) != without_owners(existing) {
            return self.stored(object);
        }
        let mut kept = kept.clone();
        let owned = object.at("metadata");
        copy(kept.at_mut("metadata"), owned, "managedFields");
        kept
    }

    /// What is kept, as the client sees it.
    pub(super) fn shown(&self, stored: Value) -> Value {
        Value::clone(&self.target.resource.view(Arc::new(stored)))
    }
}
