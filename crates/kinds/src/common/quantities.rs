//! Bounds of quantities.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`.

use super::NEGATIVE;
use super::faults::Faults;
use super::resource_names::is_integer;
use serde_json::Value;
use stowplan_apimachinery::Edit;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;

/// For a number of zero or less.
pub const NOT_POSITIVE: &str = "must be greater than zero";

/// For an amount that comes in whole numbers only.
pub const NOT_INTEGER: &str = "must be an integer";

/// Zero or more.
pub fn non_negative(quantity: &Quantity, path: &Path<'_>, errors: &mut ErrorList) {
    if quantity.is_negative() {
        errors.invalid(path, quantity.to_string(), NEGATIVE);
    }
}

/// More than zero.
pub fn positive(quantity: &Quantity, path: &Path<'_>, errors: &mut ErrorList) {
    if quantity.is_negative() || quantity.is_zero() {
        errors.invalid(path, quantity.to_string(), NOT_POSITIVE);
    }
}

/// An amount of that resource (`ValidateResourceQuantityValue`).
pub fn of_resource(name: &str, quantity: &Quantity, path: &Path<'_>, errors: &mut ErrorList) {
    non_negative(quantity, path, errors);
    if is_integer(name) && quantity.milli_value() % 1000 != 0 {
        errors.invalid(path, quantity.to_string(), NOT_INTEGER);
    }
}

/// Rounds the quantities of a list up to thousandths (`SetDefaults_ResourceList`).
pub fn round_up_list(object: &mut Value, field: &str) {
    let list = object.child_mut(field).and_then(Value::as_object_mut);
    for (_, value) in list.into_iter().flatten() {
        let mut quantity = Quantity::of(value);
        if !quantity.round_up(MILLI) {
            *value = quantity.to_string().into();
        }
    }
}

const MILLI: i32 = -3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_rounded_up() {
        let mut object = serde_json::json!({"hard": {"cpu": "100u", "memory": "1Gi"}});
        round_up_list(&mut object, "hard");
        round_up_list(&mut object, "used");
        assert_eq!(
            object,
            serde_json::json!({"hard": {"cpu": "1m", "memory": "1Gi"}})
        );
    }

    #[test]
    fn amounts_have_bounds() {
        let faults = |name: &str, text: &str| {
            let mut errors = ErrorList::new();
            let quantity = Quantity::parse(text).unwrap();
            of_resource(name, &quantity, &Path::new("q"), &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(faults("cpu", "100m"), [""; 0]);
        assert_eq!(
            faults("cpu", "-1"),
            ["q: Invalid value: \"-1\": must be greater than or equal to 0"]
        );
        assert_eq!(
            faults("pods", "1500m"),
            ["q: Invalid value: \"1500m\": must be an integer"]
        );
        let mut errors = ErrorList::new();
        positive(&Quantity::default(), &Path::new("q"), &mut errors);
        assert_eq!(errors.len(), 1);
    }
}
