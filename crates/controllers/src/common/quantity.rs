//! Amounts of resources.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// An amount in thousandths of its unit.
pub type Amount = i128;

/// An amount in thousandths of its unit, rounded up; `None` if it makes no sense.
pub fn amount(quantity: &Quantity) -> Option<Amount> {
    let parsed: stowplan_base::Quantity = quantity.0.parse().ok()?;
    Some(Amount::from(parsed.milli_value()))
}
