//! A kind without rules of its own.

use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::ErrorList;

/// Stores what it is given: nothing to default, nothing to check beyond metadata.
pub(crate) struct Plain;

impl CreateStrategy for Plain {
    fn validate(&self, _object: &Value, _cx: &Context<'_>) -> ErrorList {
        ErrorList::new()
    }

    fn validate_name(&self, _name: &str, _prefix: bool) -> Vec<String> {
        Vec::new()
    }
}

impl UpdateStrategy for Plain {
    fn validate_update(&self, _new: &Value, _old: &Value, _cx: &Context<'_>) -> ErrorList {
        ErrorList::new()
    }
}

impl Strategy for Plain {}
