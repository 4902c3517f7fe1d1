//! What the strategy of a subresource has in common with that of the object.

use serde_json::Value;
use stowplan_apimachinery::{Edit, View};

/// Puts the old value of a field back, or takes the new one away if there was none: a write to the
/// object leaves `status` alone, one to its status leaves `spec`.
pub(crate) fn keep(new: &mut Value, old: &Value, key: &str) {
    match old.at(key) {
        Value::Null => {
            new.unset(key);
        }
        value => new.set(key, value.clone()),
    }
}

/// Answers what `$main` answers in the same way for `/status`: how it is created (`create`), whether an
/// update may come without a resourceVersion (`update`), and the rest of a [`Strategy`](crate::Strategy).
macro_rules! inherit {
    (create: $main:expr) => {
        fn validate(
            &self,
            object: &serde_json::Value,
            cx: &crate::Context<'_>,
        ) -> stowplan_apimachinery::field::ErrorList {
            $main.validate(object, cx)
        }

        fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
            $main.validate_name(name, prefix)
        }

        fn counts_generations(&self) -> bool {
            $main.counts_generations()
        }
    };
    (update: $main:expr) => {
        fn allow_unconditional_update(&self) -> bool {
            $main.allow_unconditional_update()
        }
    };
    ($main:expr) => {
        fn set_defaults(&self, object: &mut serde_json::Value) {
            $main.set_defaults(object);
        }

        fn canonicalize(&self, object: &mut serde_json::Value) {
            $main.canonicalize(object);
        }

        fn read_back(&self, object: &mut serde_json::Value) -> bool {
            $main.read_back(object)
        }
    };
}

pub(crate) use inherit;
