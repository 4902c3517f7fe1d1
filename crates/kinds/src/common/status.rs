//! The strategy of `/status`, for most kinds.

use crate::subresource::keep;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::{Edit, View};

/// A change of status: the spec stays, and labels and annotations may change with it.
pub(crate) struct StatusStrategy {
    /// The strategy of the object itself: defaults and names are the same.
    pub whole: &'static dyn Strategy,
    /// Fields of `metadata` that stay too.
    pub kept_metadata: &'static [&'static str],
    /// What else stays.
    pub also: fn(new: &mut Value, old: &Value),
    /// What a write through this never owns.
    pub reset_fields: &'static [&'static [&'static str]],
    /// Faults of the change.
    pub validate_update: fn(new: &Value, old: &Value) -> ErrorList,
}

impl CreateStrategy for StatusStrategy {
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList {
        self.whole.validate(object, cx)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        self.whole.validate_name(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        self.whole.counts_generations()
    }
}

impl UpdateStrategy for StatusStrategy {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _cx: &Context<'_>) {
        keep(new, old, "spec");
        for field in self.kept_metadata {
            keep(new.at_mut("metadata"), old.at("metadata"), field);
        }
        (self.also)(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _cx: &Context<'_>) -> ErrorList {
        (self.validate_update)(new, old)
    }

    fn allow_unconditional_update(&self) -> bool {
        self.whole.allow_unconditional_update()
    }
}

impl Strategy for StatusStrategy {
    fn set_defaults(&self, object: &mut Value) {
        self.whole.set_defaults(object);
    }

    fn read_back(&self, object: &mut Value) -> bool {
        self.whole.read_back(object)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        self.reset_fields
    }
}

/// For kinds that keep nothing else.
pub(crate) fn nothing_else(_new: &mut Value, _old: &Value) {}
