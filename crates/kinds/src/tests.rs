//! Short ways to ask a strategy, for tests.

use crate::{Context, Strategy};
use serde_json::Value;
use stowplan_apimachinery::lookup::Nothing;

/// Nothing around, at a time of no importance.
pub(crate) const ALONE: Context<'static> = Context {
    now: "2026-01-02T03:04:05Z",
    cluster: &Nothing,
};

/// Prepares a new object.
pub(crate) fn create(strategy: &dyn Strategy, object: &mut Value) {
    strategy.prepare_for_create(object, &ALONE);
}

/// The faults of a new object.
pub(crate) fn faults(strategy: &dyn Strategy, object: &Value) -> Vec<String> {
    let faults = strategy.validate(object, &ALONE);
    faults.iter().map(ToString::to_string).collect()
}

/// The faults of a change.
pub(crate) fn update_faults(strategy: &dyn Strategy, new: &Value, old: &Value) -> Vec<String> {
    let faults = strategy.validate_update(new, old, &ALONE);
    faults.iter().map(ToString::to_string).collect()
}
